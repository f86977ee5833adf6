"""The answers of one connection, given in the order of its requests (RFC 9112, section 9.3.2).

The engine answers in whatever order things happen. An answer that is ready before those ahead of it are given
waits in its exchange.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from penstock.server.encode import CONTINUE
from penstock.server.exchange import Exchange
from penstock.server.service import Service


class AnswerLine:
    """Exchanges whose answers are owed, oldest first, and the way out to the client."""

    __slots__ = (
        "_transport",
        "exchanges",
        "is_blocked",
        "is_ending",
        "lingers_since",
        "on_room",
        "quiet_since",
        "service",
    )

    def __init__(self, service: Service, transport: asyncio.Transport) -> None:
        self.service = service
        self._transport = transport
        self.exchanges: deque[Exchange] = deque()
        self.is_blocked = False  # the client does not take what was written
        self.is_ending = False  # no request will follow: the last answer closes the connection
        self.on_room: Callable[[], None] | None = None  # called after answers were given
        self.quiet_since: float | None = None  # when nothing was owed any more; None: nothing ever was
        self.lingers_since: float | None = None  # when the last answer was given, to be closed soon

    def is_closing(self) -> bool:
        # A write to a closed transport raises, and would take the answers of all other clients with it.
        return self._transport.is_closing()

    def ends_with(self, exchange: Exchange) -> bool:
        return self.is_ending and self.exchanges[-1] is exchange

    def deliver(self, exchange: Exchange, data: bytes) -> bool:
        """Give an answer as soon as it is its turn. False: nobody is there to take it."""
        if self._transport.is_closing():
            return False
        exchanges = self.exchanges
        if exchanges[0] is not exchange:
            exchange.ready = data
        elif len(exchanges) > 1 or exchange.closes or self.is_ending or self.on_room is not None:
            exchange.ready = data
            self._flush()
        else:  # as nearly always: the only request under way
            exchanges.popleft()
            self._transport.write(data)
            self.quiet_since = self.service.coarse_now
        return True

    def write_piece(self, data: bytes) -> None:
        """Write a part of the first answer."""
        self._transport.write(data)

    def invite_body(self, exchange: Exchange) -> None:
        """Send `100 Continue`, once no other answer can be mistaken for the one that follows it."""
        exchange.awaits_continue = True
        if self.exchanges[0] is exchange:
            self._attend(exchange)

    def start_stream(self, exchange: Exchange) -> None:
        if self.exchanges[0] is exchange:
            self._attend(exchange)

    def resume_stream(self) -> None:
        if self.exchanges and self.exchanges[0].stream is not None:
            self.exchanges[0].stream.go_on()

    def abort(self) -> None:
        """Cut the connection, so that an answer which is not whole does not look as if it were."""
        self._transport.abort()

    def _flush(self) -> None:
        exchanges = self.exchanges
        while exchanges and (data := exchanges[0].ready) is not None:
            exchange = exchanges.popleft()
            self._transport.write(data)
            if exchange.closes:
                self._close(exchange)
                return
        if exchanges:
            self._attend(exchanges[0])
        elif self.is_ending:
            self._transport.close()
        else:
            self.quiet_since = self.service.coarse_now
        if self.on_room is not None:
            self.on_room()

    def _attend(self, first: Exchange) -> None:
        if first.awaits_continue:
            first.awaits_continue = False
            self._transport.write(CONTINUE)
        elif first.stream is not None:
            first.stream.start()

    def _close(self, last: Exchange) -> None:
        if not last.lingers:
            self._transport.close()
            return
        # Closing with bytes unread makes the kernel send a reset, which can overtake the answer and hide it
        # from the client. So only our side is shut; what still comes is dropped until the client closes.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self.lingers_since = self.service.coarse_now
