"""MQ-Core: a queue is a word at the root, its messages are below it.

    PUT    /Q    create        POST   /Q/messages       add
    GET    /Q    is it there   GET    /Q/messages       fetch
    DELETE /Q    delete        DELETE /Q/messages/ID    delete

Everything a program needs is in the status and in X-Message-Id; a body is a message, or a sentence for a
person. Whatever is none of these six requests is 404 without one. HEAD looks at a queue, but not at its
messages: it would hide the one it saw.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, assert_never

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeQueue,
    Draft,
    IfMissing,
    Publish,
)
from penstock.core.ids import MessageId, from_uuid, to_uuid
from penstock.core.model import DEFAULT_CONTENT_TYPE, Content, QueueName
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    Delivery,
    Ended,
    MoveShown,
    NoSuchMove,
    NoSuchQueue,
    Outcome,
    Published,
    PublishedAll,
    QueueExists,
    QueueShown,
    QueuesListed,
    Refused,
    Renewed,
    Unavailable,
    Unfinished,
)
from penstock.dialects import authorization
from penstock.dialects.http import BodyRule, Denial, Header, Problem, Request, Response, segments
from penstock.dialects.wire import header_value
from penstock.keys.grants import OPEN, Action, Need, Needs

NAMESPACE = "default"
NAME_LETTERS_MAX = 255

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_TEXT_TYPE: Header = (b"Content-Type", b"text/plain; charset=utf-8")
_RETRY_AFTER: Header = (b"Retry-After", b"1")

_DISCARDED = BodyRule(0, cuts=True)


def _text(status: int, sentence: str, *headers: Header) -> Response:
    return Response(status, f"{sentence}\n".encode(), (_TEXT_TYPE, *headers))


_OK = Response(200)
_CREATED = Response(201)
_ACCEPTED = Response(202)
_NO_CONTENT = Response(204)
_NOT_FOUND = Response(404)
_CRASHED = _text(500, "Internal server error")
_UNAVAILABLE = _text(503, "The service cannot promise to keep anything now", _RETRY_AFTER)


class MqCore:
    """The dialect. On a shared port it has all that is left when the other dialects have their roots."""

    name = "mqcore"
    roots: frozenset[str] | None = None

    def __init__(
        self,
        delay_s: float = 10,
        peers: int = 0,
        unknown_queue: Literal["refuse", "create"] = "refuse",
        body_bytes_max: int = 16 * 1024 * 1024,
        reserved: frozenset[str] = frozenset(),
    ) -> None:
        """`delay_s` hides a fetched message; `reserved` are words that name no queue on this port."""
        self._hidden_ms = max(1, round(delay_s * 1000))
        self._among = peers + 1
        self._if_missing = IfMissing.CREATE if unknown_queue == "create" else IfMissing.REFUSE
        self._message = BodyRule(body_bytes_max)
        self._reserved = {word: _reserved(word) for word in reserved}

    def credential(self, head: Request) -> bytes | None:
        """As the document is silent about keys: in the way of HTTP."""
        return authorization.bearer_key(head.headers)

    def needs(self, head: Request) -> Needs:
        """By which of the six requests it is."""
        segment, *below = segments(head.path)
        name = _queue_name(segment)
        if name is None or name.name in self._reserved:
            return OPEN
        match head.method, *below:
            case "POST", "messages":
                return (Need(Action.PUBLISH, name),)
            case "GET", "messages":
                return (Need(Action.CONSUME, name),)
            case "DELETE", "messages", _:
                return (Need(Action.CONSUME, name, is_answer=True),)
            case ("PUT" | "DELETE",):
                return (Need(Action.ADMINISTER, name),)
            case ("GET" | "HEAD",):
                return (Need(Action.INSPECT, name),)
            case _:
                return OPEN

    def body_rule(self, head: Request) -> BodyRule:
        """Only a message has a body that counts: the document discards any other."""
        return self._message if head.method == "POST" else _DISCARDED

    def read(self, request: Request) -> Command | Response:
        """Find which of the six requests it is."""
        segment, *below = segments(request.path)
        name = _queue_name(segment)
        if name is None:
            return _NOT_FOUND
        if name.name in self._reserved:
            return self._reserved[name.name]
        match request.method, *below:
            case "POST", "messages":
                return Publish(name, (_draft(request),), self._if_missing, dialect="mqcore")
            case "GET", "messages":
                return self._fetch(name)
            case "DELETE", "messages", message_id if message_id:
                return _delete_message(name, from_uuid(message_id))
            case ("PUT",):
                return CreateQueue(name, None, keeps_existing=True, dialect="mqcore")
            case ("GET" | "HEAD",):
                return DescribeQueue(name, dialect="mqcore")
            case ("DELETE",):
                return DeleteQueue(name, dialect="mqcore")
            case _:
                return _NOT_FOUND

    def _fetch(self, name: QueueName) -> Claim:
        return Claim(
            (name,),
            hidden_ms=self._hidden_ms,
            if_missing=IfMissing.EMPTY,
            among=self._among,
            dialect="mqcore",
        )

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:  # noqa: ARG002 - tells no time
        """Answer by a status and, where there is a message, its id."""
        match outcome:
            case Published():
                # In a queue that de-duplicates it may be the id of an equal message that was there before.
                return Response(201, b"", (_id_header(outcome.receipts[0].id),))
            case Delivered():
                return _write_message(outcome.messages[0]) if outcome.messages else _NO_CONTENT
            case Ended():
                return _ACCEPTED
            case QueueShown():
                return _CREATED if isinstance(command, CreateQueue) else _OK
            case NoSuchQueue():
                return _OK if isinstance(command, DeleteQueue) else _NOT_FOUND
            case Refused():
                return _text(400, outcome.reason)
            case Unavailable():
                return _UNAVAILABLE
            case Crashed():
                return _CRASHED
            case (
                PublishedAll()
                | Renewed()
                | Counted()
                | QueuesListed()
                | QueueExists()
                | MoveShown()
                | NoSuchMove()
                | Unfinished()
            ):
                raise AssertionError(f"MQ-Core asks for nothing that ends in {type(outcome).__name__}")
            case _:
                assert_never(outcome)

    def refuse(self, problem: Problem, detail: str) -> Response:
        """A refusal by the server, as a sentence."""
        match problem:
            case Problem.BODY_TOO_LARGE | Problem.UNREADABLE | Problem.INTERNAL:
                return _text(problem.value, detail)
            case Problem.UNAVAILABLE:
                return _text(503, detail, _RETRY_AFTER)
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """A key is missing or does not do, as a sentence."""
        match denial:
            case Denial.MISSING:
                return _text(401, authorization.NO_KEY, authorization.ASK_FOR_KEY)
            case Denial.UNKNOWN:
                return _text(401, authorization.UNKNOWN_KEY, authorization.ASK_FOR_ANOTHER_KEY)
            case Denial.FORBIDDEN:
                return _text(403, authorization.NOT_ALLOWED)
            case Denial.TOO_MANY:
                return _text(429, authorization.TOO_OFTEN)
            case _:
                assert_never(denial)


def _reserved(word: str) -> Response:
    return _text(
        400,
        f"{word} is a reserved word on this port and cannot name a queue of MQ-Core. "
        "With --listen mqcore=HOST:PORT it has a port of its own, where nothing is reserved.",
    )


# Reading


def _queue_name(segment: str) -> QueueName | None:
    """The queue that a path segment names; None if no queue can have that name."""
    return _checked_name(segment) if len(segment) <= NAME_LETTERS_MAX else None


@lru_cache(maxsize=4096)
def _checked_name(segment: str) -> QueueName | None:
    return QueueName(NAMESPACE, segment) if _NAME.fullmatch(segment) else None


def _draft(request: Request) -> Draft:
    content_type = request.headers.get(b"content-type")
    encoding = request.headers.get(b"content-encoding")
    return Draft(
        Content(
            request.body,
            str(content_type, "latin-1") if content_type else DEFAULT_CONTENT_TYPE,
            str(encoding, "latin-1") if encoding else None,
        )
    )


def _delete_message(name: QueueName, message_id: MessageId | None) -> Command | Response:
    """None, an id that no message can have, is deleted like one that is gone."""
    if message_id is None:
        return _ACCEPTED
    return Acknowledge(name.namespace, name.name, (message_id,), dialect="mqcore")


# Writing


def _write_message(message: Delivery) -> Response:
    content = message.content
    content_type = header_value(content.content_type) or DEFAULT_CONTENT_TYPE.encode()
    headers: tuple[Header, ...] = ((b"Content-Type", content_type), _id_header(message.id))
    if content.content_encoding and (encoding := header_value(content.content_encoding)):
        headers += ((b"Content-Encoding", encoding),)
    return Response(200, content.body, headers)


def _id_header(message_id: MessageId) -> Header:
    return b"X-Message-Id", to_uuid(message_id).encode()
