"""The service as a process: from bound addresses to the last answer.

A first signal ends it gently: nothing more is accepted, waits are cut short, what was accepted is answered. A
second signal, the end of `stop_seconds` or a fault of the engine ends it at once.
"""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Callable, Sequence

import uvloop

from penstock.keys.file import KeyFile
from penstock.server.limits import Limits
from penstock.server.listeners import Address, Listener, bound_addresses, listen
from penstock.server.pump import Engine
from penstock.server.service import Service
from penstock.server.streams import JournalSource

Ready = Callable[[list[Address]], None]

# Files and sockets other than clients' connections.
_OTHER_FILES = 512


class Server:
    """One engine behind its listeners. Made and used on the loop's thread."""

    def __init__(
        self, engine: Engine, journal: JournalSource, limits: Limits, keys: KeyFile | None = None
    ) -> None:
        """Without `keys`, everything is allowed to everybody."""
        self.service = Service(engine, journal, limits, self._on_empty, self._on_fault, keys)
        self._servers: list[asyncio.Server] = []
        self._stopped = asyncio.Event()
        self._is_ending = False
        self._fault: Exception | None = None

    async def start(self, listeners: Sequence[Listener]) -> list[Address]:
        try:
            for listener in listeners:
                self._servers.append(await listen(self.service, listener))
        except BaseException:
            self._close()
            raise
        self.service.start()
        return [address for server in self._servers for address in bound_addresses(server)]

    def watch(self, descriptor: int) -> None:
        """Run the engine whenever this is readable, which running it ends."""

        def run() -> None:
            if self.service.engine.is_healthy:
                self.service.pump.start()
            else:
                self.service.loop.remove_reader(descriptor)

        self.service.loop.add_reader(descriptor, run)

    def stop(self) -> None:
        """Finish what was accepted, then stop. Asked again: stop at once."""
        if self._is_ending:
            self._cut_off()
            return
        self._is_ending = True
        for server in self._servers:
            server.close()
        self.service.end()
        self.service.loop.call_later(self.service.limits.stop_seconds, self._cut_off)
        self._on_empty()

    async def wait_until_stopped(self) -> None:
        await self._stopped.wait()
        self._close()
        if self._fault is not None:
            raise self._fault

    def _cut_off(self) -> None:
        self.service.abort()
        self._stopped.set()

    def _on_empty(self) -> None:
        if self._is_ending and not self.service.connections:
            # What was submitted is still to be done, though its client may have gone.
            self.service.pump.when_settled(self._stopped.set)

    def _on_fault(self, error: Exception) -> None:
        self._fault = error
        self._stopped.set()

    def _close(self) -> None:
        for server in self._servers:
            server.close()
        self.service.abort()
        self.service.close()


async def serve(
    engine: Engine,
    journal: JournalSource,
    listeners: Sequence[Listener],
    *,
    limits: Limits | None = None,
    keys: KeyFile | None = None,
    ready: Ready = lambda _: None,
    descriptor: int | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Raises what made the engine fail, if that is what ended it.

    `descriptor` is readable when others may have changed what the engine works on.
    """
    loop = asyncio.get_running_loop()
    server = Server(engine, journal, limits or Limits(), keys)
    addresses = await server.start(listeners)
    if descriptor is not None:
        server.watch(descriptor)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    ready(addresses)
    await server.wait_until_stopped()


def run(
    engine: Engine,
    journal: JournalSource,
    listeners: Sequence[Listener],
    *,
    limits: Limits | None = None,
    keys: KeyFile | None = None,
    ready: Ready = lambda _: None,
    descriptor: int | None = None,
) -> None:
    """Serve on a loop of its own, from the main thread."""
    limits = limits or Limits()
    _allow_files(limits.connections_max + _OTHER_FILES)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(
            serve(engine, journal, listeners, limits=limits, keys=keys, ready=ready, descriptor=descriptor)
        )


def _allow_files(count: int) -> None:
    """Raise the number of open files to what our own limit on connections needs, as far as we may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
