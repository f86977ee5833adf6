"""A server on a thread of its own, and clients made of plain sockets."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Protocol, Self, TypeVar

import pytest
import uvloop

from penstock.keys.file import KeyFile
from penstock.server.limits import Limits
from penstock.server.listeners import Listener
from penstock.server.routing import Router
from penstock.server.serve import Server
from tests.server.echo import EchoDialect, EchoEngine, PieceJournal

T = TypeVar("T")

# Longer than anything here takes; reached only by a test that fails.
PATIENCE_SECONDS = 5.0

# Answers without what differs from one run to the next.
_VARIABLE = re.compile(rb"(?:Date|X-Request-ID): [^\r]*\r\n")


def steady(answer: bytes) -> bytes:
    """An answer without its date and its id."""
    return _VARIABLE.sub(b"", answer)


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something has happened on another thread."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.002)


class Client:
    """One connection to a server, blocking."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._received = bytearray()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def shut(self) -> None:
        """Say that nothing more will be sent."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.socket.close()

    def receive(self, count: int) -> bytes:
        """So many bytes, or as many as come before the end."""
        while len(self._received) < count and (data := self.socket.recv(65536)):
            self._received += data
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def receive_all(self) -> bytes:
        """Everything up to the end of the connection."""
        return self.receive(1 << 40)

    def head(self) -> bytes:
        """The head of an answer, but for date and id."""
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            data = self.socket.recv(65536)
            assert data, f"the connection ended within {bytes(self._received)!r}"
            self._received += data
        return steady(self.receive(end + 4))

    def answer(self) -> bytes:
        """One answer with a Content-Length or without a body, but for date and id."""
        head = self.head()
        length = re.search(rb"Content-Length: (\d+)\r\n", head)
        return head + self.receive(int(length[1]) if length else 0)

    def is_closed(self) -> bool:
        """Wait for the server to close; False if it sent something instead."""
        try:
            return self.receive(1) == b""
        except ConnectionResetError:
            return True


class RunningServer:
    """A server, its engine and its journal."""

    def __init__(self, listeners: list[Listener], limits: Limits, keys: KeyFile | None) -> None:
        self.engine = EchoEngine()
        self.journal = PieceJournal()
        self.error: Exception | None = None
        self._listeners = listeners
        self._limits = limits
        self._keys = keys
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._clients = ExitStack()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(PATIENCE_SECONDS)
        if self.error is not None:
            self._thread.join()
            raise self.error
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.go.set()
        self._clients.close()
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.stop_at_once)
        self.join()
        assert not self.engine.waiting, "a wait outlived its client"

    def connect(self, port: int = 0) -> Client:
        return self.adopt(
            socket.create_connection(("127.0.0.1", port or self.port), timeout=PATIENCE_SECONDS)
        )

    def adopt(self, sock: socket.socket) -> Client:
        return Client(self._clients.enter_context(sock))

    def talk(self, sent: bytes) -> bytes:
        """Send everything, and return all that comes until the server closes."""
        client = self.connect()
        client.send(sent)
        client.shut()
        return steady(client.receive_all())

    def call(self, function: Callable[[], T]) -> T:
        """Do something on the server's own thread."""

        async def do() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(do(), self.loop).result(PATIENCE_SECONDS)

    def stop(self) -> None:
        self.call(self.server.stop)

    def stop_at_once(self) -> None:
        self.server.stop()
        self.server.stop()

    def join(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the server did not stop"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            self.loop = runner.get_loop()
            try:
                runner.run(self._serve())
            except Exception as error:  # noqa: BLE001 - handed to the thread of the test
                self.error = error
            finally:
                self._started.set()

    async def _serve(self) -> None:
        self.server = Server(self.engine, self.journal, self._limits, self._keys)
        self.addresses = await self.server.start(self._listeners)
        self.port = self.addresses[0][1]
        self._started.set()
        await self.server.wait_until_stopped()


class Serve(Protocol):
    """Starts a server that is stopped at the end of the test."""

    def __call__(
        self,
        *,
        limits: Limits | None = None,
        listeners: list[Listener] | None = None,
        keys: KeyFile | None = None,
    ) -> RunningServer: ...


def echo_listener() -> Listener:
    echo = EchoDialect()
    return Listener("127.0.0.1", 0, Router([echo], fallback=echo))


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as running:

        def start(
            *,
            limits: Limits | None = None,
            listeners: list[Listener] | None = None,
            keys: KeyFile | None = None,
        ) -> RunningServer:
            server = RunningServer(listeners or [echo_listener()], limits or Limits(), keys)
            return running.enter_context(server)

        yield start


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    """A server with the limits it has by default."""
    return serve()
