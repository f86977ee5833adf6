"""What a request to one of EmoDB's paths asks for, once its method and the type of its body are right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    DescribeMove,
    DescribeQueue,
    Draft,
    IfMissing,
    Malformed,
    Peek,
    Publish,
    PublishAll,
    Purge,
    ReleaseAll,
    Renew,
    StartMove,
)
from penstock.core.ids import MessageId, from_uuid
from penstock.core.model import Content, Phase, QueueName
from penstock.dialects.emodb import answers, payloads
from penstock.dialects.http import Request, Response
from penstock.dialects.wire import query_parameters, without_parameter

MESSAGES_MAX = 50_000  # in one batch: nobody else is served while it is taken in
NAME_CHARACTERS_MAX = 255
KEY_PARAMETER = "APIKey"

_NAME = re.compile(r"(?!\.{1,2}\Z|_(?!_))[a-z0-9.:@_-]+")
_UNACKNOWLEDGED = (Phase.READY, Phase.COPY, Phase.DELAYED, Phase.CLAIMED)
_TOO_MANY = answers.illegal_argument(f"A batch has at most {MESSAGES_MAX} messages")


class CountClaims(DescribeQueue, frozen=True):
    """A queue is described, and only its claims are wanted."""


class DescribeOwnMove(DescribeMove, frozen=True, kw_only=True):
    """A move is described if it is one of this service: the two share nothing."""

    namespace: str


def queue_name(namespace: str, text: str) -> QueueName | None:
    """The queue of that name; None if no queue can have it."""
    return _checked_name(namespace, text) if len(text) <= NAME_CHARACTERS_MAX else None


@lru_cache(maxsize=4096)
def _checked_name(namespace: str, text: str) -> QueueName | None:
    return QueueName(namespace, text) if _NAME.fullmatch(text) else None


class Sending:
    """The three ways to send, with the limit on a message."""

    def __init__(self, message_bytes_max: int) -> None:
        self._bytes_max = message_bytes_max
        self._too_large = answers.illegal_argument(f"A message has at most {message_bytes_max} bytes of JSON")

    def send(self, name: QueueName, request: Request) -> Command | Response:
        """One message."""
        message = payloads.read_message(request.body)
        if isinstance(message, Malformed):
            return answers.problem(400, message.reason)
        return self._publish(name, (message,))

    def send_batch(self, name: QueueName, request: Request) -> Command | Response:
        """Many messages to one queue."""
        messages = payloads.read_messages(request.body)
        if isinstance(messages, Malformed):
            return answers.problem(400, messages.reason)
        if len(messages) > MESSAGES_MAX:
            return _TOO_MANY
        return self._publish(name, messages) if messages else answers.SUCCESS

    def send_batches(self, namespace: str, request: Request) -> Command | Response:
        """Many messages to many queues."""
        by_queue = payloads.read_messages_by_queue(request.body)
        if isinstance(by_queue, Malformed):
            return answers.problem(400, by_queue.reason)
        if sum(map(len, by_queue.values())) > MESSAGES_MAX:
            return _TOO_MANY
        parts: list[Publish] = []
        for text, messages in by_queue.items():
            name = queue_name(namespace, text)
            part = answers.BAD_NAME if name is None else self._publish(name, messages)
            if isinstance(part, Response):
                return part
            if messages:
                parts.append(part)
        return PublishAll(tuple(parts), dialect="emodb") if parts else answers.SUCCESS

    def _publish(self, name: QueueName, messages: Sequence[msgspec.Raw]) -> Publish | Response:
        drafts: list[Draft] = []
        for message in messages:
            body = bytes(message)  # a copy: the message must not keep the whole request in memory
            if len(body) > self._bytes_max and payloads.size_without_blanks(body) > self._bytes_max:
                return self._too_large
            drafts.append(Draft(Content(body, "application/json")))
        return Publish(name, tuple(drafts), IfMissing.CREATE, dialect="emodb")


def read_poll(name: QueueName, request: Request) -> Command | Response:
    """Claim messages, or with a claim of no time only look at them."""
    return _poll(name, without_parameter(request.query, KEY_PARAMETER))


@lru_cache(maxsize=1024)
def _poll(name: QueueName, query: str) -> Command | Response:
    """Consumers poll in the same words again and again, so they are read once."""
    parameters = query_parameters(query)
    ttl_s = answers.TTL_S.of(parameters)
    if isinstance(ttl_s, Response):
        return ttl_s
    limit = answers.LIMIT.of(parameters)
    if isinstance(limit, Response):
        return limit
    looks = ttl_s == 0
    return Claim((name,), limit, ttl_s * 1000, 0, IfMissing.EMPTY, only_looks=looks, dialect="emodb")


def read_peek(name: QueueName, request: Request) -> Command | Response:
    """Look at messages, claimed or not."""
    limit = answers.LIMIT.of(query_parameters(request.query))
    return limit if isinstance(limit, Response) else Peek(name, limit, _UNACKNOWLEDGED, dialect="emodb")


def read_ack(name: QueueName, request: Request) -> Command | Response:
    """End messages, claimed or not."""
    ids = _message_ids(request.body)
    return ids if isinstance(ids, Response) else Acknowledge(name.namespace, name.name, ids, dialect="emodb")


def read_renew(name: QueueName, request: Request) -> Command | Response:
    """Claim messages for longer, or with no time give them back."""
    ttl_s = answers.TTL_S.of(query_parameters(request.query))
    if isinstance(ttl_s, Response):
        return ttl_s
    ids = _message_ids(request.body)
    return ids if isinstance(ids, Response) else Renew(name, ids, ttl_s * 1000, dialect="emodb")


def _message_ids(body: bytes) -> tuple[MessageId, ...] | Response:
    """The ids of a list. What cannot be an id of ours is unknown like one that is gone, and no error."""
    texts = payloads.read_ids(body)
    if isinstance(texts, Malformed):
        return answers.problem(400, texts.reason)
    if not texts:
        return answers.NO_MESSAGE_IDS
    return tuple([message_id for message_id in map(from_uuid, texts) if message_id is not None])


def read_size(name: QueueName, request: Request) -> Command | Response:
    """Count all messages. It is exact whatever the limit, which has to be one all the same."""
    limit = answers.SIZE_LIMIT.of(query_parameters(request.query))
    return limit if isinstance(limit, Response) else DescribeQueue(name, dialect="emodb")


def read_claim_count(name: QueueName, request: Request) -> Command:  # noqa: ARG001 - the path says it all
    """Count claimed messages."""
    return CountClaims(name, dialect="emodb")


def read_unclaim_all(name: QueueName, request: Request) -> Command:  # noqa: ARG001 - the path says it all
    """Give back every claim."""
    return ReleaseAll(name, dialect="emodb")


def read_purge(name: QueueName, request: Request) -> Command:  # noqa: ARG001 - the path says it all
    """End every message."""
    return Purge(name, _UNACKNOWLEDGED, dialect="emodb")


def read_move(namespace: str, request: Request) -> Command | Response:
    """Move every message to another queue."""
    parameters = query_parameters(request.query)
    if not parameters.get("from"):
        return answers.NO_SOURCE
    if not parameters.get("to"):
        return answers.NO_TARGET
    source = queue_name(namespace, parameters["from"])
    target = queue_name(namespace, parameters["to"])
    if source is None or target is None:
        return answers.BAD_NAME
    return StartMove(source, target, dialect="emodb")
