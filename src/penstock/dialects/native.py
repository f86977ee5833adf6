"""Our own pages: health and the journal. On a shared port also what answers for paths that are nobody's."""

from __future__ import annotations

from typing import NoReturn, assert_never

from penstock.core.commands import Command
from penstock.core.outcomes import Outcome
from penstock.dialects import authorization
from penstock.dialects.http import (
    BodyRule,
    Denial,
    HealthCheck,
    JournalLatest,
    JournalQuery,
    Problem,
    Request,
    Response,
    ServerQuery,
    segments,
)
from penstock.dialects.wire import error_response, plain_decimal, query_parameters
from penstock.keys.grants import OPEN, Action, Need, Needs

RECORDS_MAX = 100_000
RECORDS_DEFAULT = 10_000
SEQUENCE_MAX = 2**63 - 1

ARROW = "application/vnd.apache.arrow.stream"
JSON_LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/json"})
_WILDCARDS = {"*/*": 0, "application/*": 1}  # how closely each names the Arrow type
_EXACTLY = 2

_NO_PAGE = error_response(404, "There is nothing at this path")
_WRONG_METHOD = error_response(405, "This page can only be read", (b"Allow", b"GET, HEAD"))
_BAD_AFTER = error_response(400, "after: expected a sequence number, 0 or more")
_BAD_LIMIT = error_response(400, f"limit: expected a number from 1 to {RECORDS_MAX}")
_NO_BODY_NEEDED = BodyRule(64 * 1024)

# By the first segment of the path. What these pages tell is about all queues alike.
_NEEDS: dict[str, Needs] = {
    "console": (Need(Action.INSPECT),),
    "journal": (Need(Action.JOURNAL),),
    "metrics": (Need(Action.INSPECT),),
}


class Native:
    """Pages that no other dialect has."""

    name = "native"
    # Names of pages to come are taken already, so that nobody makes a queue that a later version would hide.
    roots: frozenset[str] | None = frozenset({"console", "docs", "health", "journal", "metrics"})

    def credential(self, head: Request) -> bytes | None:
        """In the way of HTTP."""
        return authorization.bearer_key(head.headers)

    def needs(self, head: Request) -> Needs:
        """By page; health is for everybody."""
        return _NEEDS.get(segments(head.path)[0], OPEN)

    def body_rule(self, head: Request) -> BodyRule:  # noqa: ARG002 - no page takes a body
        """Nothing here reads a body."""
        return _NO_BODY_NEEDED

    def read(self, request: Request) -> Response | ServerQuery:
        """Find the page."""
        match request.path:
            case "/health":
                page: Response | ServerQuery = HealthCheck()
            case "/journal":
                page = _read_journal(request)
            case "/journal/latest":
                page = JournalLatest()
            case _:
                return _NO_PAGE
        return page if request.method in {"GET", "HEAD"} else _WRONG_METHOD

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> NoReturn:
        """Never called: no page here is a command."""
        raise AssertionError(
            f"{command} was not asked for here and cannot have ended in {outcome} at {now_ms}"
        )

    def refuse(self, problem: Problem, detail: str) -> Response:
        """A refusal by the server, as JSON."""
        match problem:
            case Problem.BODY_TOO_LARGE | Problem.UNREADABLE | Problem.INTERNAL:
                return error_response(problem.value, detail)
            case Problem.UNAVAILABLE:
                return error_response(503, detail, (b"Retry-After", b"1"))
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """A key is missing or does not do, as JSON."""
        return authorization.json_denial(denial)


def _read_journal(request: Request) -> JournalQuery | Response:
    parameters = query_parameters(request.query)
    after = plain_decimal(parameters.get("after", "0"), 0, SEQUENCE_MAX)
    if after is None:
        return _BAD_AFTER
    limit = plain_decimal(parameters.get("limit", str(RECORDS_DEFAULT)), 1, RECORDS_MAX)
    if limit is None:
        return _BAD_LIMIT
    accept = str(request.headers.get(b"accept", b""), "latin-1")
    return JournalQuery(after, limit, as_arrow=not _prefers_json_lines(accept))


def _prefers_json_lines(accept: str) -> bool:
    """Whether JSON lines are named with more weight than Arrow, or named where Arrow is only allowed."""
    arrow = json = (0.0, -1)
    for item in accept.lower().split(","):
        media_type, *parameters = [piece.strip() for piece in item.split(";")]
        weight = _weight(parameters)
        if media_type in JSON_LINES:
            json = max(json, (weight, _EXACTLY))
        elif media_type == ARROW:
            arrow = max(arrow, (weight, _EXACTLY))
        elif media_type in _WILDCARDS:
            arrow = max(arrow, (weight, _WILDCARDS[media_type]))
    return json > arrow


def _weight(parameters: list[str]) -> float:
    """The `q` of a media type, 1 if it has none or one that cannot be read."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 1.0
    return 1.0
