"""Responses as bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus

from penstock.dialects.http import Header, Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

KEEP_ALIVE = b"Connection: keep-alive\r\n"
CLOSE = b"Connection: close\r\n"

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
# As RFC 9110 has them; Python before 3.13 has the names of its predecessor.
_PHRASES |= {413: "Content Too Large", 414: "URI Too Long"}
_CR, _LF = b"\r\n"
_WITHOUT_BODY = frozenset({204, 304})


class UnsafeHeaderError(ValueError):
    """A header that would have ended early and begun another, or a second response."""


class Encoder:
    """Writes response heads, with the status line and date of the current second kept ready."""

    __slots__ = ("_clock", "_date", "_starts")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._starts: dict[int, bytes] = {}
        self._date = ""
        self.set_date_now()

    def set_date_now(self) -> None:
        date = formatdate(self._clock(), usegmt=True)
        if date != self._date:
            self._date = date
            self._starts.clear()

    def encode(self, response: Response, request_id: str, connection: bytes, *, is_head: bool) -> bytes:
        """One whole response. `connection` is its Connection header, or nothing.

        To HEAD the head is the one that GET would have had, its Content-Length included.
        """
        start = self._starts.get(response.status) or self._start(response.status)
        lines = _lines(response.headers) if response.headers else b""
        if response.status in _WITHOUT_BODY:
            own, body = f"\r\nX-Request-ID: {request_id}\r\n", b""
        else:
            body = response.body
            own = f"\r\nX-Request-ID: {request_id}\r\nContent-Length: {len(body)}\r\n"
        return b"".join((start, lines, own.encode(), connection, b"\r\n", b"" if is_head else body))

    def encode_stream_head(
        self, headers: tuple[Header, ...], request_id: str, connection: bytes, *, is_chunked: bool
    ) -> bytes:
        """The head of a 200 of unknown length. Without chunks its body ends where the connection does."""
        start = self._starts.get(200) or self._start(200)
        own = f"\r\nX-Request-ID: {request_id}\r\n".encode()
        framing = b"Transfer-Encoding: chunked\r\n" if is_chunked else b""
        return b"".join((start, _lines(headers), own, framing, connection, b"\r\n"))

    def _start(self, status: int) -> bytes:
        start = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\nDate: {self._date}".encode()
        self._starts[status] = start
        return start


def chunk(piece: bytes) -> bytes:
    """One piece of a chunked body; an empty piece would end it."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _lines(headers: tuple[Header, ...]) -> bytes:
    lines = b"\r\n" + b"\r\n".join([name + b": " + value for name, value in headers])
    # A value can come out of a message that another client sent: it must not begin a line of its own.
    if lines.count(_CR) != len(headers) or lines.count(_LF) != len(headers):
        raise UnsafeHeaderError
    return lines
