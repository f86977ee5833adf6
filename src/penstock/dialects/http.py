"""What a dialect sees of HTTP, and what the server sees of a dialect.

A dialect never touches a socket. The server hands it a `Request`; it answers with a `Command` for the
engine, or at once with a `Response` where the request alone settles the matter. When the engine has
an outcome, the same dialect writes it down.

    head ──▶ dialect.body_rule ──▶ (body is read) ──▶ dialect.read ──▶ engine ──▶ dialect.write ──▶ bytes

Where keys are in use, the head is first asked for its `credential` and its `needs`, and whoever may not
have what it asks for hears of it by `deny`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol
from urllib.parse import unquote

import msgspec

from penstock.core.commands import Command
from penstock.core.outcomes import Outcome
from penstock.keys.grants import Needs
from penstock.keys.ring import Fresh, KeyRing

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


class KeyRequest(msgspec.Struct, frozen=True):
    """A request about keys, answered from the ring, which it may replace."""

    edit: Callable[[KeyRing, Fresh], tuple[KeyRing, Response]]


ServerQuery = JournalQuery | JournalLatest | HealthCheck | KeyRequest


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


class Denial(Enum):
    """Why a request is denied, put into each dialect's words by `Dialect.deny`."""

    MISSING = 1  # it shows no key
    UNKNOWN = 2  # there is no such key, or no longer
    FORBIDDEN = 3  # the key does not allow it
    TOO_MANY = 4  # the key was used too often; the server adds Retry-After


class Dialect(Protocol):
    """One wire language over the core."""

    name: str
    roots: frozenset[str] | None  # first path segments it owns on a shared port; None: all that are left

    def credential(self, head: Request) -> bytes | None:
        """The key that a request shows; None if it shows none."""
        ...

    def needs(self, head: Request) -> Needs:
        """What a request needs, as far as its head tells. Where that is nothing, it is open to everybody,
        and what is read from it may be a refusal or a look at the health, but never a command.
        """
        ...

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

    def deny(self, denial: Denial) -> Response:
        """Say in this dialect's words that a key is missing or does not do."""
        ...


def segments(path: str) -> list[str]:
    """The path's segments, percent-decoded after splitting, so that an encoded slash stays in its name."""
    parts = path[1:].split("/")
    return [unquote(part) for part in parts] if "%" in path else parts
