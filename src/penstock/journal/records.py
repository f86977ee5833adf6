"""How an event is written down, and read back.

An event becomes one flat row. The columns are what people ask the journal about; whatever else an event
says is in `detail`, as JSON with only what differs from the defaults.

To change the format: see `core.events`. Rows of an older VERSION stay readable for ever, because every
field of `Detail` has a default that means what its absence meant.
"""

from __future__ import annotations

from typing import Final, NamedTuple, assert_never

import msgspec

from penstock.core import events as ev
from penstock.core.model import Content, Phase, QueueName, Settings

VERSION = 1

# The number in a row, and the name that readers see. Numbers are never used again.
KINDS: dict[int, str] = {
    1: "published",
    2: "claimed",
    3: "acknowledged",
    4: "readied",
    5: "renewed",
    6: "expired",
    7: "buried",
    8: "respawned",
    9: "moved",
    10: "purged",
    20: "queue created",
    21: "queue changed",
    22: "queue deleted",
    23: "key remembered",
    24: "move started",
    25: "move ended",
}
PUBLISHED = 1


class Row(NamedTuple):
    """The part of a journal row that comes from the event itself."""

    kind: int
    queue: int
    message: bytes | None = None
    attempt: int | None = None
    reason: str | None = None
    size: int | None = None
    content_type: str | None = None
    until_ms: int | None = None  # published: available at · claimed, renewed: hidden until · readied: since
    detail: bytes | None = None
    body: bytes | None = None


# The same without names: making a named tuple takes longer than everything else about writing an event down.
Columns = tuple[
    int,
    int,
    bytes | None,
    int | None,
    str | None,
    int | None,
    str | None,
    int | None,
    bytes | None,
    bytes | None,
]
SIZE: Final = 5


class Detail(msgspec.Struct, omit_defaults=True):
    """What an event says beyond the columns."""

    phase: int = Phase.READY
    expires_at_ms: int | None = None
    tries: int | None = None
    match_key: bytes | None = None
    content_encoding: str | None = None
    trace_id: str | None = None
    is_last_receive: bool = False
    gives_try_back: bool = False
    target: int = 0
    tries_used: int = 0
    name: tuple[str, str] | None = None
    settings: Settings | None = None
    key: str = ""
    ids: list[bytes] = []
    reference: str = ""
    last_sequence: int = 0
    status: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Detail).decode
_NO_DETAIL = Detail()
_LAST_RECEIVE = _encode(Detail(is_last_receive=True))


def to_row(event: ev.Event) -> Row:
    """Write an event down."""
    return Row(*to_columns(event))


def to_columns(event: ev.Event) -> Columns:  # noqa: C901 - one case each
    """Write an event down, without the names."""
    match event:
        case ev.MessagePublished():
            content = event.content
            return (
                PUBLISHED,
                event.queue,
                event.id,
                0,
                None,
                len(content.body),
                content.content_type,
                event.available_at_ms,
                _publish_detail(event),
                content.body,
            )
        case ev.MessageClaimed():
            detail = _LAST_RECEIVE if event.is_last_receive else None
            return (
                2,
                event.queue,
                event.id,
                event.attempt,
                None,
                None,
                None,
                event.hidden_until_ms,
                detail,
                None,
            )
        case ev.MessageAcknowledged():
            return _ended(3, event, event.reason or None)
        case ev.MessageReadied():
            extra = Detail(phase=event.phase, gives_try_back=event.gives_try_back)
            return _lasting(4, event, event.reason, extra, event.available_at_ms)
        case ev.MessageRenewed():
            extra = Detail(is_last_receive=event.is_last_receive)
            return _lasting(5, event, None, extra, event.hidden_until_ms)
        case ev.MessageExpired():
            return _ended(6, event, event.reason)
        case ev.MessageBuried():
            return _ended(7, event, event.reason)
        case ev.MessageRespawned():
            return _lasting(8, event, None, Detail(phase=event.phase, expires_at_ms=event.expires_at_ms))
        case ev.MessageMoved():
            extra = Detail(
                phase=event.phase,
                target=event.target,
                tries_used=event.tries_used,
                match_key=event.match_key,
            )
            return _lasting(9, event, event.reason, extra)
        case ev.MessagePurged():
            return _ended(10, event, event.reason)
        case ev.QueueCreated():
            return _of_queue(20, event, Detail(name=event.name, settings=event.settings))
        case ev.QueueChanged():
            return _of_queue(21, event, Detail(settings=event.settings))
        case ev.QueueDeleted():
            return Row(22, event.queue)
        case ev.KeyRemembered():
            return _of_queue(23, event, Detail(key=event.key, ids=list(event.ids)))
        case ev.MoveStarted():
            extra = Detail(target=event.target, reference=event.reference, last_sequence=event.last_sequence)
            return _of_queue(24, event, extra)
        case ev.MoveEnded():
            return _of_queue(25, event, Detail(reference=event.reference, status=event.status))
        case _:
            assert_never(event)


def _publish_detail(event: ev.MessagePublished) -> bytes | None:
    content = event.content
    if (
        event.phase is Phase.READY
        and event.expires_at_ms is None
        and event.tries is None
        and event.match_key is None
        and content.content_encoding is None
        and content.trace_id is None
    ):
        return None
    return _encode(
        Detail(
            phase=event.phase,
            expires_at_ms=event.expires_at_ms,
            tries=event.tries,
            match_key=event.match_key,
            content_encoding=content.content_encoding,
            trace_id=content.trace_id,
        )
    )


_Ended = ev.MessageAcknowledged | ev.MessageExpired | ev.MessageBuried | ev.MessagePurged
_Lasting = ev.MessageReadied | ev.MessageRenewed | ev.MessageRespawned | ev.MessageMoved


def _ended(kind: int, event: _Ended, reason: str | None) -> Columns:
    return kind, event.queue, event.id, event.attempt, reason, None, None, None, None, None


def _lasting(
    kind: int, event: _Lasting, reason: str | None, extra: Detail, until_ms: int | None = None
) -> Columns:
    return (
        kind,
        event.queue,
        event.id,
        event.attempt,
        reason,
        None,
        None,
        until_ms,
        None if extra == _NO_DETAIL else _encode(extra),
        None,
    )


def _of_queue(kind: int, event: ev.QueueEvent, extra: Detail) -> Columns:
    return Row(kind, event.queue, detail=_encode(extra))


def content_from(body: bytes | None, content_type: str | None, detail: bytes | None) -> Content:
    """The content that a publish's row carries."""
    assert body is not None, "a publish has a body, if an empty one"
    assert content_type is not None, "a publish has a content type"
    if detail is None or not (b'"content_encoding"' in detail or b'"trace_id"' in detail):
        return Content(body, content_type)  # reading the detail takes longer than looking for two words
    extra = _decode(detail)
    return Content(body, content_type, extra.content_encoding, extra.trace_id)


def from_row(row: Row) -> ev.Event:
    """Read an event back."""
    extra = _decode(row.detail) if row.detail is not None else Detail()
    if row.message is None:
        return _queue_event(row, extra)
    queue, message, attempt = row.queue, row.message, row.attempt or 0
    until_ms = row.until_ms or 0
    reason = row.reason or ""
    phase = Phase(extra.phase)
    match KINDS[row.kind]:
        case "published":
            content = content_from(row.body, row.content_type, row.detail)
            return ev.MessagePublished(
                queue, message, content, phase, until_ms, extra.expires_at_ms, extra.tries, extra.match_key
            )
        case "claimed":
            return ev.MessageClaimed(queue, message, attempt, until_ms, extra.is_last_receive)
        case "acknowledged":
            return ev.MessageAcknowledged(queue, message, attempt, reason)
        case "readied":
            return ev.MessageReadied(queue, message, attempt, until_ms, reason, phase, extra.gives_try_back)
        case "renewed":
            return ev.MessageRenewed(queue, message, attempt, until_ms, extra.is_last_receive)
        case "expired":
            return ev.MessageExpired(queue, message, attempt, reason)
        case "buried":
            return ev.MessageBuried(queue, message, attempt, reason)
        case "respawned":
            return ev.MessageRespawned(queue, message, attempt, extra.expires_at_ms, phase)
        case "moved":
            return ev.MessageMoved(
                queue, message, attempt, extra.target, extra.tries_used, reason, phase, extra.match_key
            )
        case "purged":
            return ev.MessagePurged(queue, message, attempt, reason)
        case unknown:
            raise ValueError(f"a journal row of a message says {unknown!r}")


def _queue_event(row: Row, extra: Detail) -> ev.Event:
    match KINDS[row.kind]:
        case "queue created":
            assert extra.name is not None, "a new queue has a name"
            assert extra.settings is not None, "a new queue has settings"
            return ev.QueueCreated(row.queue, QueueName(*extra.name), extra.settings)
        case "queue changed":
            assert extra.settings is not None, "a change says what it changes to"
            return ev.QueueChanged(row.queue, extra.settings)
        case "queue deleted":
            return ev.QueueDeleted(row.queue)
        case "key remembered":
            return ev.KeyRemembered(row.queue, extra.key, tuple(extra.ids))
        case "move started":
            return ev.MoveStarted(row.queue, extra.target, extra.reference, extra.last_sequence)
        case "move ended":
            return ev.MoveEnded(row.queue, extra.reference, extra.status)
        case unknown:
            raise ValueError(f"a journal row of a queue says {unknown!r}")
