"""A stage over a real port: server, engine and the sqlite store, with the clock in our hands."""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import uvloop

from penstock.core.commands import Command
from penstock.dialects.http import Dialect
from penstock.engine.asker import Asker
from penstock.engine.engine import Engine
from penstock.keys.file import KeyFile
from penstock.server.limits import Limits
from penstock.server.listeners import Address, Listener
from penstock.server.routing import Router
from penstock.server.serve import Server
from penstock.stores.sqlite import SqliteStore
from penstock.wiring import JournalAnswers
from tests.transcripts.player import Answer, Question
from tests.transcripts.socketless import MovableClock, settle

PATIENCE_S = 10.0

T = TypeVar("T")


class _CountingEngine(Engine):
    """Tells when a request has come through the server, so that time can be moved after that."""

    submitted = 0

    def submit(self, command: Command, asker: Asker) -> None:
        self.submitted += 1
        super().submit(command, asker)


class OverPortStage:
    """The server has a thread of its own; connections are kept, one for each label."""

    _loop: asyncio.AbstractEventLoop
    _engine: _CountingEngine
    _server: Server

    def __init__(self, dialects: Sequence[Dialect], directory: Path, keys: KeyFile | None = None) -> None:
        self._router = Router(dialects, dialects[0])
        self._directory = directory
        self._keys = keys
        self._clock = MovableClock()
        self._connections: dict[str, HTTPConnection] = {}
        self._thread = ThreadPoolExecutor(1)
        self._started: Future[Address] = Future()

    def __enter__(self) -> Self:
        self._running = self._thread.submit(self._run)
        self._running.add_done_callback(self._tell_of_failed_start)
        self.address = self._started.result(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections.values():
            connection.close()
        self._loop.call_soon_threadsafe(self._server.stop)
        self._running.result(PATIENCE_S)
        self._thread.shutdown()

    def ask(self, label: str, question: Question) -> None:
        submitted = self._on_loop(lambda: self._engine.submitted)
        connection = self._connections.setdefault(label, HTTPConnection(*self.address, timeout=PATIENCE_S))
        connection.putrequest(question.method, question.target, skip_accept_encoding=True)
        for name, value in question.headers:
            connection.putheader(name, value)
        if question.body or question.method in {"PUT", "POST"}:
            connection.putheader("Content-Length", str(len(question.body)))
        connection.endheaders(question.body)
        if label:
            self._await(lambda: self._on_loop(lambda: self._engine.submitted) > submitted)
            self._on_loop(lambda: settle(self._engine))

    def answer(self, label: str) -> Answer:
        response = self._connections[label].getresponse()
        headers = {name.lower(): value.encode("latin-1") for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())

    def has_answer(self, label: str) -> bool:
        return bool(select.select([self._connections[label].sock], [], [], 0)[0])

    def move_clock(self, milliseconds: int) -> None:
        self._clock.now_ms += milliseconds
        self._on_loop(lambda: settle(self._engine))

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        store = SqliteStore.open(self._directory / "penstock.sqlite")
        self._loop = asyncio.get_running_loop()
        self._engine = _CountingEngine(store, self._clock)
        self._server = Server(self._engine, JournalAnswers(store.journal_reader()), Limits(), self._keys)
        addresses = await self._server.start([Listener("127.0.0.1", 0, self._router)])
        self._started.set_result(addresses[0])
        await self._server.wait_until_stopped()
        store.check()
        store.close()

    def _tell_of_failed_start(self, running: Future[None]) -> None:
        if not self._started.done():
            self._started.set_exception(running.exception() or RuntimeError("the server did not start"))

    def _on_loop(self, work: Callable[[], T]) -> T:
        async def do() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(PATIENCE_S)

    def _await(self, has_happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not has_happened():
            assert time.monotonic() < deadline, "the request did not reach the engine"
