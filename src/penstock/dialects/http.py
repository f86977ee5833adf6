"""What a dialect sees of HTTP, and what the server sees of a dialect.

A dialect never touches a socket. The server hands it a `Request`; it answers with a `Command` for the
engine, or at once with a `Response` where the request alone settles the matter. When the engine has
an outcome, the same dialect writes it down.

    head ──▶ dialect.body_rule ──▶ (body is read) ──▶ dialect.read ──▶ engine ──▶ dialect.write ──▶ bytes
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol
from urllib.parse import unquote

import msgspec

from penstock.core.commands import Command
from penstock.core.outcomes import Outcome

Header = tuple[bytes, bytes]


class Request(msgspec.Struct, gc=False):
    """One request. While only its head has been read, `body` is empty."""

    method: str
    path: str  # as sent, still percent-encoded, without the query
    query: str  # as sent, without the "?"
    headers: dict[bytes, bytes]  # names in lower case; the last of repeated ones wins
    body: bytes = b""
    request_id: str = ""


class Response(msgspec.Struct, gc=False):
    """One answer. The server adds Content-Length, Date, X-Request-ID and Connection."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()


class JournalQuery(msgspec.Struct, frozen=True):
    """A request for journal records, answered from the store's reader rather than by the engine."""

    after: int
    limit: int
    as_arrow: bool


class JournalLatest(msgspec.Struct, frozen=True):
    """A request for the range of sequence numbers that the journal now holds."""


class HealthCheck(msgspec.Struct, frozen=True):
    """A request for whether the service can still keep its promises."""


ServerQuery = JournalQuery | JournalLatest | HealthCheck


class BodyRule(msgspec.Struct, frozen=True):
    """How much of a request's body is kept, and what becomes of the rest."""

    bytes_max: int
    cuts: bool = False  # True: bytes past the limit are read and dropped; False: the request is refused


class Problem(Enum):
    """What the server itself refuses, put into each dialect's words by `Dialect.refuse`."""

    BODY_TOO_LARGE = 413
    UNREADABLE = 400  # not HTTP, or a body that ended early
    INTERNAL = 500
    UNAVAILABLE = 503  # stopping, or the store can no longer promise anything


class Dialect(Protocol):
    """One wire language over the core."""

    name: str
    roots: frozenset[str] | None  # first path segments it owns on a shared port; None: all that are left

    def body_rule(self, head: Request) -> BodyRule:
        """Say how much body to read, before any of it is."""
        ...

    def read(self, request: Request) -> Command | Response | ServerQuery:
        """Turn a request into the command it asks for, or into its refusal."""
        ...

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:
        """Put what happened into this dialect's words."""
        ...

    def refuse(self, problem: Problem, detail: str) -> Response:
        """Put a refusal by the server into this dialect's words."""
        ...


def segments(path: str) -> list[str]:
    """The path's segments, percent-decoded after splitting, so that an encoded slash stays in its name."""
    parts = path[1:].split("/")
    return [unquote(part) for part in parts] if "%" in path else parts
