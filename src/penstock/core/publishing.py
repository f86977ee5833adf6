"""Decisions about new messages."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

import msgspec

from penstock.core.administration import queue_on_the_go
from penstock.core.commands import Draft, IfMissing, Malformed, Publish, PublishAll, Republish
from penstock.core.events import Event, KeyRemembered, MessageAcknowledged, MessagePublished
from penstock.core.ids import Ids
from penstock.core.landing import Landing, Landings
from penstock.core.model import Phase, Queue, Settings
from penstock.core.outcomes import NoSuchQueue, Outcome, Published, PublishedAll, Receipt, Refused
from penstock.core.view import View


def publish(view: View, command: Publish, now_ms: int, ids: Ids) -> tuple[Outcome, list[Event]]:
    """Add messages to a queue, all or none."""
    events: list[Event] = []
    outcome = _publish_into(view, None, command, now_ms, ids, events)
    return outcome, events if isinstance(outcome, Published) else []


def publish_all(view: View, command: PublishAll, now_ms: int, ids: Ids) -> tuple[Outcome, list[Event]]:
    """Publish to several queues, all or none."""
    events: list[Event] = []
    published: list[Published] = []
    landings = Landings(view)
    for part in command.parts:
        outcome = _publish_into(view, landings, part, now_ms, ids, events)
        if not isinstance(outcome, Published):
            return outcome, []
        published.append(outcome)
    return PublishedAll(tuple(published)), events


def republish(view: View, command: Republish, now_ms: int, ids: Ids) -> tuple[Outcome, list[Event]]:
    """Let a new message take the place of an old one, which is no twin of it."""
    events: list[Event] = []
    queue = view.queue(command.name) or queue_on_the_go(view, command.name, now_ms, events)
    old = view.message(command.old_id)
    if old is not None and old.queue is queue:
        events.append(MessageAcknowledged(queue.number, old.id, old.attempt, "republished"))
    landing = Landing(view, queue, leaving=command.old_id)
    return Published(_draft(view, queue, landing, (command.draft,), now_ms, ids, events)), events


def _publish_into(
    view: View,
    landings: Landings | None,  # None: this is all there is to the decision
    command: Publish,
    now_ms: int,
    ids: Ids,
    events: list[Event],
) -> Outcome:
    queue = view.queue(command.name)
    if queue is None:
        if command.if_missing is IfMissing.REFUSE:
            return NoSuchQueue(command.name)
        queue = queue_on_the_go(view, command.name, now_ms, events)
    if isinstance(command.drafts, Malformed):
        return Refused(command.drafts.reason)
    key = command.idempotency_key
    if key is not None:
        known = view.remembered(queue, key)
        if known is not None:
            return Published(tuple([Receipt(message_id, is_new=False) for message_id in known]))
    compares = queue.settings.deduplicate or queue.settings.collapse
    landing = (landings or Landings(view)).of(queue) if compares else None
    receipts = _draft(view, queue, landing, command.drafts, now_ms, ids, events)
    if key is not None:
        events.append(KeyRemembered(queue.number, key, tuple([receipt.id for receipt in receipts])))
    return Published(receipts)


def _draft(
    view: View,
    queue: Queue,
    landing: Landing | None,  # None: the queue does not compare
    drafts: tuple[Draft, ...],
    now_ms: int,
    ids: Ids,
    events: list[Event],
) -> tuple[Receipt, ...]:
    settings = queue.settings
    next_sequence = view.last_sequence + 1
    receipts: list[Receipt] = []
    for draft in drafts:
        key = None if landing is None else _match_key(settings, draft.content.body)
        if key is not None and landing is not None and not settings.collapse:
            twin = landing.twin(key)
            if twin is not None:
                receipts.append(Receipt(twin, is_new=False))
                continue
        message_id = ids(now_ms, next_sequence + len(events))
        delay_ms = settings.delay_ms if draft.delay_ms is None else draft.delay_ms
        if landing is None:
            phase = Phase.DELAYED if delay_ms else Phase.READY
        else:
            phase = landing.phase_of_new(key, message_id, is_delayed=delay_ms > 0)
        expires_at_ms = None if draft.ttl_ms is None else now_ms + draft.ttl_ms
        events.append(
            MessagePublished(
                queue.number,
                message_id,
                draft.content,
                phase,
                now_ms + delay_ms,
                expires_at_ms,
                draft.tries,
                key,
            )
        )
        receipts.append(Receipt(message_id, is_new=True))
    return tuple(receipts)


def _match_key(settings: Settings, body: bytes) -> bytes | None:
    """What equal bodies share: where unread copies collapse, JSON is compared without its white space."""
    if settings.collapse:
        with suppress(msgspec.DecodeError, RecursionError):  # not JSON: compared byte by byte
            body = msgspec.json.format(body, indent=-1)
    elif not settings.deduplicate:
        return None
    return sha256(body).digest()
