"""What all connections of a process share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from penstock.keys.file import KeyFile
from penstock.server.encode import Encoder
from penstock.server.fault_log import FaultLog
from penstock.server.guard import Guard
from penstock.server.key_desk import KeyDesk
from penstock.server.limits import Limits
from penstock.server.pump import Engine, Pump
from penstock.server.request_ids import RequestIds
from penstock.server.streams import JournalSource, Streams


class Client(Protocol):
    """A connection, as far as the service is concerned with it."""

    def check_time(self, now: float) -> None:
        """Close if one of the limits on time has passed."""
        ...

    def restart_clocks(self) -> None:
        """Begin to count anew: the loop was held up, by a slow disk say, and did not hear the client."""
        ...

    def recheck(self) -> None:
        """End every wait that the keys now in force do not allow."""
        ...

    def end(self) -> None:
        """Answer what was accepted, then close."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class Service:
    """The engine, the limits, and who is connected."""

    def __init__(
        self,
        engine: Engine,
        journal: JournalSource,
        limits: Limits,
        on_empty: Callable[[], None],
        on_fault: Callable[[Exception], None],
        keys: KeyFile | None = None,
    ) -> None:
        """`on_empty` is called when the last connection has gone, `on_fault` when the engine has failed."""
        self.engine = engine
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.log = FaultLog()
        self.encoder = Encoder()
        self.request_ids = RequestIds()
        self.pump = Pump(engine, self.loop, self._fail)
        self.streams = Streams(self, journal)
        self.guard = Guard(keys, self.log, self.loop.time)
        self.key_desk = KeyDesk(self, keys)
        self.connections: set[Client] = set()
        self.turned_away: set[Client] = set()  # over a limit, waiting only for the client to read so
        self.unfinished_bytes = 0  # bodies still being received
        self.is_stopping = False
        self._on_empty = on_empty
        self._on_fault = on_fault
        self.coarse_now = 0.0
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._key_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._sweep()
        self._watch_keys()
        self.pump.start()

    def end(self) -> None:
        """Take no more requests; answer those that were accepted."""
        self.is_stopping = True
        for connection in list(self.connections):
            connection.end()
        self.pump.end_waits()

    def abort(self) -> None:
        """Close every connection at once."""
        for connection in [*self.connections, *self.turned_away]:
            connection.abort()

    def close(self) -> None:
        """Leave nothing on the loop or in a thread."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        if self._key_timer is not None:
            self._key_timer.cancel()
        self.pump.close()
        self.streams.close()

    def forget(self, connection: Client) -> None:
        self.connections.discard(connection)
        self.turned_away.discard(connection)
        if not self.connections:
            self._on_empty()

    def _sweep(self) -> None:
        interval = self.limits.sweep_seconds
        now = self.loop.time()
        was_held_up = now > self.coarse_now + interval
        # What begins before the next sweep is dated at that sweep, so that no limit is ever cut short.
        self.coarse_now = now + interval
        self.encoder.set_date_now()
        for connection in [*self.connections, *self.turned_away]:
            if was_held_up:
                connection.restart_clocks()
            else:
                connection.check_time(now)
        self._sweep_timer = self.loop.call_later(interval, self._sweep)

    def look_at_keys(self) -> None:
        if self.guard.look():
            # Once nothing is under way, what is not answered waits, and can be told to stop.
            self.pump.when_settled(self._recheck_all)

    def _recheck_all(self) -> None:
        for connection in list(self.connections):
            connection.recheck()

    def _watch_keys(self) -> None:
        self.look_at_keys()
        self._key_timer = self.loop.call_later(self.limits.key_look_seconds, self._watch_keys)

    def _fail(self, error: Exception) -> None:
        # The engine does not raise for anything a client asks. What it holds in memory may no longer be
        # what is on the disk, so nothing more may be answered; a restart reads the disk again.
        self.log.crashed("", "running the engine", error)
        self.is_stopping = True
        self.abort()
        self._on_fault(error)
