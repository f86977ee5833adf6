"""One client's connection: bytes in, answers out, and no longer than the limits allow.

There is no task, no future and no timer per request. What is read goes straight to the reader, which submits
commands to the engine; the engine's answers go straight to the transport; one sweep looks at all clocks.
"""

from __future__ import annotations

import asyncio
from typing import cast

from penstock.dialects.http import Problem
from penstock.server.answers import AnswerLine
from penstock.server.reading import PIECE_BYTES_MAX, RequestReader
from penstock.server.refusals import Refusal
from penstock.server.routing import Router
from penstock.server.service import Service


class Connection(asyncio.Protocol):
    """Reads while the client may send more, pauses while it owes us the reading of its answers."""

    __slots__ = (
        "_backlog",
        "_heard_at",
        "_is_paused",
        "_is_resuming",
        "_is_tls",
        "_limits",
        "_opened_at",
        "_router",
        "_service",
        "_stalled_since",
        "_transport",
        "_unsent_bytes",
        "line",
        "reader",
    )

    _transport: asyncio.Transport
    line: AnswerLine
    reader: RequestReader

    def __init__(self, service: Service, router: Router) -> None:
        self._service = service
        self._limits = service.limits
        self._router = router
        self._backlog = b""  # received, but not to be read before answers are given
        self._is_paused = False
        self._is_resuming = False
        self._is_tls = False
        self._opened_at = service.coarse_now
        self._heard_at = service.coarse_now  # last bytes of a request that is not whole
        self._stalled_since: float | None = None
        self._unsent_bytes = 0

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of this kind without being of this class.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._limits.unsent_bytes_max)
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self.line = AnswerLine(self._service, self._transport)
        self.reader = RequestReader(self.line, self._router)
        if self._service.is_stopping:
            self._transport.abort()  # it was accepted just before the listener closed
        elif len(self._service.connections) < self._limits.connections_max:
            self._service.connections.add(self)
        else:
            self._turn_away()

    def data_received(self, data: bytes) -> None:
        if self.reader.is_done:
            return
        if len(data) <= PIECE_BYTES_MAX and not self._backlog:
            self._feed(data)
        else:
            self._backlog += data
            self._feed_backlog()

    def eof_received(self) -> bool:
        """The client will send no more. It may still read; but see `_give_up_waits`."""
        reader, line = self.reader, self.line
        if reader.is_in_message:
            self._refuse(Refusal(Problem.UNREADABLE, "the request ended before its end"))
        reader.stop()
        line.is_ending = True
        if self._is_tls or not line.exchanges or self._waited():
            return False
        self._service.pump.when_settled(self._give_up_waits)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # a client may leave in whatever way it likes
        self.reader.stop()
        self._backlog = b""
        for exchange in self.line.exchanges:
            if exchange.command is not None:
                self._service.pump.withdraw(exchange)
            elif exchange.stream is not None:
                exchange.stream.cancel()
        self.line.exchanges.clear()
        self._service.forget(self)

    def pause_writing(self) -> None:
        self.line.is_blocked = True
        self._pause()

    def resume_writing(self) -> None:
        self.line.is_blocked = False
        self._stalled_since = None
        self.line.resume_stream()
        self._make_room()

    # What the service calls.

    def check_time(self, now: float) -> None:
        line, reader, limits = self.line, self.reader, self._limits
        if self._transport.is_closing() or line.is_blocked:
            self._check_stall(now)
        elif line.lingers_since is not None:
            if now - line.lingers_since > limits.linger_seconds:
                self._transport.close()
        elif self._is_paused:
            pass  # it is our turn, not the client's
        elif reader.exchange is not None:
            self._check_body(now)
        elif reader.is_in_message:
            if now - reader.begun_at > limits.header_seconds:
                self._refuse(Refusal(408, "the headers took too long to arrive"))
        elif not line.exchanges:
            self._check_idle(now)

    def restart_clocks(self) -> None:
        self._heard_at = self.reader.begun_at = self._service.coarse_now
        if self.line.quiet_since is not None:
            self.line.quiet_since = self._service.coarse_now

    def recheck(self) -> None:
        for exchange in list(self.line.exchanges):
            exchange.recheck()

    def end(self) -> None:
        self.reader.end_after_this()
        if not self.reader.is_done:
            return
        self.line.is_ending = True
        if not self.line.exchanges and self.line.lingers_since is None:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    # Reading.

    def _feed(self, data: bytes) -> None:
        try:
            self.reader.feed(data)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if self.reader.is_in_message:
            self._heard_at = self._service.coarse_now
        # The rest of a request that is being read is still read: nothing else would bring its answer about.
        if len(self.line.exchanges) >= self._limits.pipelined_max and self.reader.exchange is None:
            self._pause()

    def _feed_backlog(self) -> None:
        data, at = self._backlog, 0
        while at < len(data) and not self._is_paused and not self.reader.is_done:
            self._feed(data[at : at + PIECE_BYTES_MAX])
            at += PIECE_BYTES_MAX
        self._backlog = b"" if self.reader.is_done else data[at:]

    def _pause(self) -> None:
        if self._is_paused:
            return
        self._is_paused = True
        self.line.on_room = self._make_room
        self._transport.pause_reading()

    def _make_room(self) -> None:
        has_room = len(self.line.exchanges) < self._limits.pipelined_max and not self.line.is_blocked
        if has_room and self._is_paused and not self._is_resuming:
            # Not at once: this may be in the middle of the engine's answers to a batch.
            self._is_resuming = True
            self._service.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        self._is_resuming = False
        self._is_paused = False
        self.line.on_room = None
        self.restart_clocks()
        self._feed_backlog()
        if not self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()

    # Refusing and giving up.

    def _refuse(self, refusal: Refusal) -> None:
        exchange = self.reader.refused_exchange()
        self.reader.stop()
        exchange.turn_down(refusal)

    def _turn_away(self) -> None:
        if len(self._service.turned_away) >= self._limits.turned_away_max:
            self._transport.abort()
            return
        self._service.turned_away.add(self)
        self._refuse(Refusal(503, "too many connections; try again shortly"))

    def _waited(self) -> bool:
        """Withdraw what already waits: a message that came in this very turn must not go to one who left."""
        commands = [exchange for exchange in self.line.exchanges if exchange.command is not None]
        withdrawn = [self._service.pump.withdraw(exchange) for exchange in commands]
        return any(withdrawn)

    def _give_up_waits(self) -> None:
        """Take a client that shut its side and whose command still waits for one that has gone.

        The two look the same from here. Were it handed a message and had gone, nobody would get that message
        until its claim ran out; taken for gone, it loses nothing and asks again.
        """
        if any(exchange.command is not None for exchange in self.line.exchanges):
            self._transport.close()

    def _check_idle(self, now: float) -> None:
        quiet_since = self.line.quiet_since
        if quiet_since is None:  # it never asked for anything
            is_over = now - self._opened_at > self._limits.header_seconds
        else:
            is_over = now - quiet_since > self._limits.idle_seconds
        if is_over:
            self._transport.close()

    def _check_body(self, now: float) -> None:
        took_seconds = now - self.reader.begun_at
        silent_seconds = now - self._heard_at
        if took_seconds > self._limits.body_seconds or silent_seconds > self._limits.body_stall_seconds:
            self._refuse(Refusal(408, "the body took too long to arrive"))

    def _check_stall(self, now: float) -> None:
        unsent_bytes = self._transport.get_write_buffer_size()
        if self._stalled_since is None or unsent_bytes < self._unsent_bytes:
            self._stalled_since = now
        elif now - self._stalled_since > self._limits.write_stall_seconds:
            self._transport.abort()
        self._unsent_bytes = unsent_bytes
