"""lmstfy: jobs in queues of a namespace, all under `/api/:namespace/:queue`.

    PUT    …               publish         GET    …/size              count the ready ones
    PUT    …/bulk          publish many    DELETE …                   destroy: end the ready ones
    GET    …[,:queue]*     consume         GET    …/deadletter        count the dead, name the first
    DELETE …/job/:job_id   acknowledge     GET    …/deadletter/size   count the dead
    PUT    …/job/:job_id   republish       PUT    …/deadletter        respawn the dead
    GET    …/job/:job_id   look at one     DELETE …/deadletter        end the dead
    GET    …/peek          look at the first

There is nothing to create a queue with: one that does not exist is an empty one, and the first publish
makes it. A request is checked by its path, then its names, its parameters and at last its body; only a body
that is too large is refused before all else, unread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from penstock.core.commands import Command, DescribeQueue, Peek, Purge, Respawn
from penstock.core.model import Phase, QueueName
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
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
from penstock.dialects.http import BodyRule, Denial, Problem, Request, Response, segments
from penstock.dialects.lmstfy.answers import (
    NO_CONTENT,
    TOO_LARGE,
    CountDeadLetter,
    as_if_empty,
    as_json,
    error,
    write_jobs,
    write_published,
    write_queue,
)
from penstock.dialects.lmstfy.needs import needs_of_path
from penstock.dialects.lmstfy.requests import (
    JOBS_MAX,
    KEY_PARAMETER,
    read_acknowledge,
    read_bulk,
    read_consume,
    read_drop_dead,
    read_name,
    read_peek_job,
    read_publish,
    read_republish,
    read_respawn,
)
from penstock.dialects.wire import raw_parameter
from penstock.keys.grants import OPEN, Needs

BULK_BLANKS_MAX = 64 * 1024  # brackets, commas and white space around the jobs of a bulk

_API_NOT_FOUND = error(404, "api not found")
_UNREADABLE = error(400, "failed to read body")
_INTERNAL = error(500, "internal error")
_TOKEN_NOT_FOUND = error(401, "token not found")
_INVALID_TOKEN = error(401, "invalid token")
_TOO_OFTEN = as_json(429, {"msg": "the token has reached its rate limit, please retry later"})
_UNAVAILABLE = error(503, "service unavailable", (b"Retry-After", b"1"))

Reader = Callable[[QueueName, Request], Command | Response]


class Lmstfy:
    """The dialect."""

    name = "lmstfy"
    roots: frozenset[str] | None = frozenset({"api"})

    def __init__(self, max_body: int = 64 * 1024, body_bytes_max: int = 16 * 1024 * 1024) -> None:
        """A job is smaller than `max_body`; `body_bytes_max` bounds a whole request, bulks included."""
        self._one_job = BodyRule(min(max_body - 1, body_bytes_max))
        self._many_jobs = BodyRule(min(JOBS_MAX * max_body + BULK_BLANKS_MAX, body_bytes_max))
        self._readers: dict[tuple[str, ...], Reader] = {
            ("PUT",): read_publish,
            ("PUT", "bulk"): partial(read_bulk, job_bytes_max=max_body - 1),
            ("PUT", "job", ":job_id"): read_republish,
            ("PUT", "deadletter"): read_respawn,
            ("GET", "peek"): lambda name, _: Peek(name, dialect="lmstfy"),
            ("GET", "job", ":job_id"): read_peek_job,
            ("GET", "size"): lambda name, _: DescribeQueue(name, dialect="lmstfy"),
            ("GET", "deadletter"): lambda name, _: DescribeQueue(name, with_dead_head=True, dialect="lmstfy"),
            ("GET", "deadletter", "size"): lambda name, _: CountDeadLetter(name, dialect="lmstfy"),
            ("DELETE",): lambda name, _: Purge(name, (Phase.READY, Phase.COPY), dialect="lmstfy"),
            ("DELETE", "job", ":job_id"): read_acknowledge,
            ("DELETE", "deadletter"): read_drop_dead,
        }

    def credential(self, head: Request) -> bytes | None:
        """The token, in its header or in the query."""
        token = head.headers.get(b"x-token")
        if token:
            return token
        parameter = raw_parameter(head.query, KEY_PARAMETER)
        return None if parameter is None else parameter.encode()

    def needs(self, head: Request) -> Needs:
        """By method and path. As in the original, what is wrong with those is said to everybody."""
        parts = segments(head.path)
        if parts[0] != "api" or len(parts) < 3:
            return OPEN
        return needs_of_path(head.method, parts[1], parts[2], tuple(parts[3:]))

    def body_rule(self, head: Request) -> BodyRule:
        """Only a bulk may be larger than one job."""
        is_bulk = head.path.endswith("/bulk") and head.path.count("/") == 4
        return self._many_jobs if is_bulk else self._one_job

    def read(self, request: Request) -> Command | Response:
        """Find what a request asks for, then check its names, then the rest of it."""
        parts = segments(request.path)
        if parts[0] != "api" or len(parts) < 3:
            return _API_NOT_FOUND
        _, namespace, queue, *rest = parts
        if not rest and request.method == "GET":
            return read_consume(namespace, queue, request.query)
        if len(rest) == 2 and rest[0] == "job":
            rest[1] = ":job_id"
        reader = self._readers.get((request.method, *rest))
        if reader is None:
            return _API_NOT_FOUND
        name = read_name(namespace, queue)
        return reader(name, request) if isinstance(name, QueueName) else name

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:
        """Answer in the document's words."""
        match outcome:
            case Published():
                return write_published(command, outcome)
            case Delivered():
                return write_jobs(command, outcome.messages, now_ms)
            case Ended():
                return NO_CONTENT
            case Counted():
                is_told = isinstance(command, Respawn)
                return as_json(200, {"count": outcome.count, "msg": "respawned"}) if is_told else NO_CONTENT
            case QueueShown():
                return write_queue(command, outcome)
            case NoSuchQueue():
                return self.write(command, as_if_empty(command, outcome.name), now_ms)
            case Refused():
                return error(400, outcome.reason)
            case Unavailable():
                return _UNAVAILABLE
            case Crashed():
                return _INTERNAL
            case (
                PublishedAll()
                | Renewed()
                | QueuesListed()
                | QueueExists()
                | MoveShown()
                | NoSuchMove()
                | Unfinished()
            ):
                raise AssertionError(f"lmstfy asks for nothing that ends in {type(outcome).__name__}")
            case _:
                assert_never(outcome)

    def refuse(self, problem: Problem, detail: str) -> Response:  # noqa: ARG002 - the document has the words
        """A refusal by the server."""
        match problem:
            case Problem.BODY_TOO_LARGE:
                return TOO_LARGE
            case Problem.UNREADABLE:
                return _UNREADABLE
            case Problem.INTERNAL:
                return _INTERNAL
            case Problem.UNAVAILABLE:
                return _UNAVAILABLE
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """In the original's words: a token that is for other queues is no better than an unknown one."""
        match denial:
            case Denial.MISSING:
                return _TOKEN_NOT_FOUND
            case Denial.UNKNOWN | Denial.FORBIDDEN:
                return _INVALID_TOKEN
            case Denial.TOO_MANY:
                return _TOO_OFTEN
            case _:
                assert_never(denial)
