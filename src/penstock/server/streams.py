"""Answers that do not come from the engine: health, and the journal.

The journal is read from disk and can be long. A thread fetches it piece by piece, so that the loop never
waits for the disk; the next piece is asked for once the client has taken the last, so that a slow reader
holds neither a thread nor memory.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar, assert_never

from penstock.core.errors import StoreError
from penstock.dialects.http import (
    HealthCheck,
    JournalLatest,
    JournalQuery,
    KeyRequest,
    Problem,
    Response,
    ServerQuery,
)
from penstock.server.encode import LAST_CHUNK, chunk

if TYPE_CHECKING:
    from penstock.server.exchange import Exchange
    from penstock.server.service import Service

_T = TypeVar("_T")

_TEXT = ((b"Content-Type", b"text/plain"),)
_JSON = ((b"Content-Type", b"application/json"),)


class JournalSource(Protocol):
    """Where the journal is read. Called from several threads; one iterator never by two at once."""

    def latest(self) -> bytes:
        """The range of sequence numbers that the journal holds, as JSON."""
        ...

    def stream(self, query: JournalQuery) -> tuple[str, Iterator[bytes]]:
        """The records asked for: their content type and their bytes, piece by piece."""
        ...


class Streams:
    """The threads that read the journal, and how many answers they may have under way."""

    def __init__(self, service: Service, journal: JournalSource) -> None:
        self.service = service
        self.journal = journal
        self.open_count = 0
        self._threads = ThreadPoolExecutor(service.limits.journal_threads, thread_name_prefix="journal")
        self._is_closed = False

    def answer(self, exchange: Exchange, query: ServerQuery) -> None:
        match query:
            case HealthCheck():
                exchange.respond(self._health())
            case JournalLatest():
                if self._admits(exchange):
                    self.in_thread(self.journal.latest, partial(self._answer_latest, exchange))
            case JournalQuery():
                if self._admits(exchange):
                    exchange.stream = Stream(self, exchange, query)
                    exchange.line.start_stream(exchange)
            case KeyRequest():
                self.service.key_desk.answer(exchange, query)
            case _:
                assert_never(query)

    def in_thread(self, work: Callable[[], _T], then: Callable[[Future[_T]], None]) -> None:
        """Have work done by a thread, and go on with it on the loop."""
        self.service.loop.run_in_executor(self._threads, work).add_done_callback(then)

    def release(self, pieces: Iterator[bytes] | None) -> None:
        """Make room for another reader. What is left of `pieces` is closed where it was read: in a thread."""
        self.open_count -= 1
        if isinstance(pieces, Generator) and not self._is_closed:
            self._threads.submit(pieces.close)

    def close(self) -> None:
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _health(self) -> Response:
        if self.service.engine.is_healthy and not self.service.is_stopping:
            return Response(200, b"green", _TEXT)
        return Response(503, b"red", _TEXT)

    def _admits(self, exchange: Exchange) -> bool:
        if self.open_count >= self.service.limits.journal_streams_max:
            exchange.refuse(Problem.UNAVAILABLE, "too many readers of the journal at once; try again shortly")
            return False
        self.open_count += 1
        return True

    def _answer_latest(self, exchange: Exchange, fetched: Future[bytes]) -> None:
        self.release(None)
        if fetched.cancelled():
            return
        if (error := fetched.exception()) is not None:
            exchange.crash("reading the journal's end", error)
        else:
            exchange.respond(Response(200, fetched.result(), _JSON))


class Stream:
    """One answer out of the journal, from its place in line until its last piece."""

    __slots__ = (
        "_content_type",
        "_exchange",
        "_is_cancelled",
        "_is_fetching",
        "_is_head_sent",
        "_is_started",
        "_pieces",
        "_query",
        "_streams",
    )

    def __init__(self, streams: Streams, exchange: Exchange, query: JournalQuery) -> None:
        self._streams = streams
        self._exchange = exchange
        self._query = query
        self._content_type = ""
        self._pieces: Iterator[bytes] = iter(())
        self._is_started = False
        self._is_fetching = False
        self._is_head_sent = False
        self._is_cancelled = False

    def start(self) -> None:
        """Begin, now that the answers before this one are given."""
        if not self._is_started:
            self._is_started = True
            self._fetch(self._open)

    def go_on(self) -> None:
        """Fetch the next piece, unless one is on its way or the client has not taken the last."""
        if self._is_started and not self._is_fetching and not self._exchange.line.is_blocked:
            self._fetch(self._next)

    def cancel(self) -> None:
        """The client has gone. A piece on its way is waited for: a running iterator cannot be closed."""
        self._is_cancelled = True
        if not self._is_fetching:
            self._streams.release(self._pieces)

    def _open(self) -> bytes | None:
        self._content_type, self._pieces = self._streams.journal.stream(self._query)
        return None if self._exchange.is_head else self._next()

    def _next(self) -> bytes | None:
        return next(self._pieces, None)

    def _fetch(self, work: Callable[[], bytes | None]) -> None:
        self._is_fetching = True
        self._streams.in_thread(work, self._fetched)

    def _fetched(self, fetched: Future[bytes | None]) -> None:
        self._is_fetching = False
        if self._is_cancelled or fetched.cancelled():
            self._streams.release(self._pieces)
        elif self._exchange.line.is_closing():
            # Its `connection_lost` is still to come and will cancel this.
            return
        elif (error := fetched.exception()) is not None:
            self._fail(error)
        else:
            self._send(fetched.result())

    def _send(self, piece: bytes | None) -> None:
        if not self._is_head_sent:
            self._send_head()
        if piece is None:
            self._finish()
            return
        if piece:
            self._exchange.line.write_piece(piece if self._exchange.is_http_1_0 else chunk(piece))
        self.go_on()

    def _send_head(self) -> None:
        exchange = self._exchange
        if exchange.is_http_1_0:
            exchange.keeps_open = False  # it knows no chunks: its body ends where the connection does
        self._is_head_sent = True
        exchange.line.write_piece(
            exchange.line.service.encoder.encode_stream_head(
                ((b"Content-Type", self._content_type.encode()),),
                exchange.request.request_id,
                exchange.connection_header(),
                is_chunked=not exchange.is_http_1_0,
            )
        )

    def _finish(self) -> None:
        exchange = self._exchange
        self._streams.release(self._pieces)
        exchange.stream = None
        exchange.line.deliver(exchange, b"" if exchange.is_head or exchange.is_http_1_0 else LAST_CHUNK)

    def _fail(self, error: BaseException) -> None:
        exchange = self._exchange
        self._streams.release(self._pieces)
        exchange.stream = None
        if not self._is_head_sent:
            if isinstance(error, StoreError):
                exchange.refuse(Problem.UNAVAILABLE, "the journal cannot be read")
            else:
                exchange.crash("reading the journal", error)
            return
        exchange.line.service.log.crashed(exchange.request.request_id, "reading the journal", error)
        exchange.line.abort()
