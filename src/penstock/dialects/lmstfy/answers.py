"""What lmstfy answers with. Keys of JSON are in alphabetical order, as the original writes them."""

from __future__ import annotations

import msgspec

from penstock.core.commands import Claim, Command, DescribeQueue, Peek, Publish
from penstock.core.ids import to_ulid
from penstock.core.model import Counts, QueueName, Settings
from penstock.core.outcomes import Counted, Delivered, Delivery, Outcome, Published, QueueShown
from penstock.dialects.http import Header, Response

TRIES_MAX = 2**16 - 1  # uint16 on the wire

_JSON: Header = (b"Content-Type", b"application/json; charset=utf-8")
_encode = msgspec.json.Encoder().encode


def as_json(status: int, value: object) -> Response:
    """An answer whose body is the value as JSON."""
    return Response(status, _encode(value), (_JSON,))


def error(status: int, reason: str, *headers: Header) -> Response:
    """An answer that says what was wrong."""
    return Response(status, _encode({"error": reason}), (_JSON, *headers))


NO_CONTENT = Response(204)
NO_JOB = as_json(404, {"msg": "no job available"})
JOB_NOT_FOUND = error(404, "job not found")
TOO_LARGE = error(413, "body too large")


# Questions that are one to the core and have different answers here.


class BulkPublish(Publish, frozen=True):
    """A publish that is answered with a list of ids, even if there is one only."""


class CountDeadLetter(DescribeQueue, frozen=True):
    """A description that is answered with the number of dead letters."""


class SeenJob(msgspec.Struct, frozen=True, gc=False):
    """A job as an onlooker gets it."""

    data: bytes  # base64 in JSON
    elapsed_ms: int  # since its publish
    job_id: str
    namespace: str
    queue: str
    ttl: int  # seconds left; 0: for ever


class NewJob(msgspec.Struct, frozen=True, gc=False):
    """A job as its consumer gets it."""

    attributes: None
    data: bytes  # base64 in JSON
    elapsed_ms: int  # since its publish
    job_id: str
    msg: str
    namespace: str
    queue: str
    remain_tries: int  # after this one
    ttl: int  # seconds left; 0: for ever


def as_if_empty(command: Command, name: QueueName) -> Outcome:
    """How a command without a queue would have gone in an empty one."""
    match command:
        case Peek():
            return Delivered(())
        case DescribeQueue():
            return QueueShown(name, Settings(), Counts(), None)
        case _:
            return Counted(0)


def write_published(command: Command, published: Published) -> Response:
    """The ids of new jobs."""
    if isinstance(command, BulkPublish):
        job_ids = [to_ulid(receipt.id) for receipt in published.receipts]
        return as_json(201, {"job_ids": job_ids, "msg": "published"})
    job_id = to_ulid(published.receipts[0].id)
    return Response(201, f'{{"job_id":"{job_id}","msg":"published"}}'.encode(), (_JSON,))


def write_jobs(command: Command, messages: tuple[Delivery, ...], now_ms: int) -> Response:
    """The jobs consumed, or the one looked at."""
    if not isinstance(command, Claim):
        return as_json(200, _seen_job(messages[0], now_ms)) if messages else JOB_NOT_FOUND
    if not messages:
        return NO_JOB
    if command.limit == 1:
        return as_json(200, _new_job(messages[0], now_ms))
    return as_json(200, [_new_job(message, now_ms) for message in messages])


def _seen_job(message: Delivery, now_ms: int) -> SeenJob:
    return SeenJob(
        message.content.body,
        now_ms - message.published_at_ms,
        to_ulid(message.id),
        message.queue.namespace,
        message.queue.name,
        _ttl_s(message, now_ms),
    )


def _new_job(message: Delivery, now_ms: int) -> NewJob:
    tries_left = message.tries_left
    return NewJob(
        None,
        message.content.body,
        now_ms - message.published_at_ms,
        to_ulid(message.id),
        "new job",
        message.queue.namespace,
        message.queue.name,
        TRIES_MAX if tries_left is None else tries_left,  # published in a dialect without tries: no limit
        _ttl_s(message, now_ms),
    )


def _ttl_s(message: Delivery, now_ms: int) -> int:
    """Seconds left, to the nearest; at least one, because 0 would say for ever."""
    if message.expires_at_ms is None:
        return 0
    return max(1, (message.expires_at_ms - now_ms + 500) // 1000)


def write_queue(command: Command, shown: QueueShown) -> Response:
    """How many jobs are ready or dead."""
    namespace, queue = shown.name
    match command:
        case CountDeadLetter():
            size = shown.counts.dead
        case DescribeQueue(with_dead_head=True):
            return as_json(
                200,
                {
                    "deadletter_head": "" if shown.dead_head is None else to_ulid(shown.dead_head),
                    "deadletter_size": shown.counts.dead,
                    "namespace": namespace,
                    "queue": queue,
                },
            )
        case _:
            size = shown.counts.ready
    return as_json(200, {"namespace": namespace, "queue": queue, "size": size})
