"""When the engine is run."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.core.commands import Command, DescribeMove
from penstock.engine.asker import Asker, Nobody
from penstock.server.pump import Pump
from tests.server.conftest import RunningServer


class PlannedCall:
    """One call of a `Clockwork`."""

    def __init__(self, loop: Clockwork, at_ms: int, callback: Callable[[], None]) -> None:
        self._loop = loop
        self.at_ms = at_ms
        self.callback = callback

    def when(self) -> float:
        return self.at_ms / 1000

    def cancel(self) -> None:
        self._loop.timers.remove(self)


class Clockwork:
    """As much of a loop as the pump needs, with its clock in our hands."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.soon: list[Callable[[], None]] = []
        self.timers: list[PlannedCall] = []

    def time(self) -> float:
        return self.now_ms / 1000

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> PlannedCall:
        # To the nearest millisecond, as uvloop's timers.
        timer = PlannedCall(self, self.now_ms + round(delay * 1000), callback)
        self.timers.append(timer)
        return timer

    def turn(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()

    def move_to(self, now_ms: int) -> None:
        """Let time pass, millisecond by millisecond."""
        self.turn()
        while self.now_ms < now_ms:
            self.now_ms += 1
            for timer in [timer for timer in self.timers if timer.at_ms <= self.now_ms]:
                self.timers.remove(timer)
                timer.callback()
            self.turn()


class ClockedEngine:
    """Notes when it is run, and has something due at the moments it is given."""

    is_healthy = True
    is_idle = True

    def __init__(self, loop: Clockwork, *due_ms: float) -> None:
        self._loop = loop
        self.due_ms = list(due_ms)
        self.submitted: list[Command] = []
        self.runs: list[tuple[int, int]] = []  # when, and how many commands
        self.fails = False

    def submit(self, command: Command, asker: Asker) -> None:
        del asker
        self.submitted.append(command)

    def withdraw(self, asker: Asker) -> bool:
        raise NotImplementedError

    def run(self) -> None:
        if self.fails:
            raise RuntimeError
        self.runs.append((self._loop.now_ms, len(self.submitted)))
        self.submitted.clear()
        self.due_ms = [due_ms for due_ms in self.due_ms if due_ms > self._loop.now_ms]

    def milliseconds_to_next(self) -> float | None:
        return min(self.due_ms) - self._loop.now_ms if self.due_ms else None

    @property
    def decided_at_ms(self) -> int:
        return self._loop.now_ms

    def end_waits(self) -> None:
        self.due_ms.clear()


def no_fault(error: Exception) -> None:
    raise AssertionError from error


def ask(pump: Pump) -> None:
    pump.submit(DescribeMove("m"), Nobody())


def test_what_is_submitted_within_a_turn_is_one_batch() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop)
    pump = Pump(engine, loop, no_fault)
    for _ in range(3):
        ask(pump)
    assert engine.runs == []
    loop.turn()
    ask(pump)
    loop.turn()
    loop.turn()
    assert engine.runs == [(0, 3), (0, 1)]


def test_the_engine_is_run_at_the_millisecond_something_is_due_and_not_before() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop, 7, 20.4, 1000)
    Pump(engine, loop, no_fault).start()
    loop.turn()
    loop.move_to(2000)
    assert [at_ms for at_ms, _ in engine.runs] == [0, 7, 21, 1000]
    assert loop.timers == []


def test_something_sooner_moves_the_timer() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop, 1000)
    pump = Pump(engine, loop, no_fault)
    pump.start()
    loop.move_to(10)
    engine.due_ms.append(30)
    ask(pump)
    loop.move_to(40)
    assert [at_ms for at_ms, _ in engine.runs][-1] == 30
    assert len(loop.timers) == 1


def test_an_engine_that_is_not_done_is_run_again_in_the_next_turn() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop)
    engine.milliseconds_to_next = lambda: 0 if len(engine.runs) < 3 else None  # type: ignore[method-assign]
    Pump(engine, loop, no_fault).start()
    for _ in range(5):
        loop.turn()
    assert engine.runs == [(0, 0)] * 3


def test_settled_is_once_all_that_was_submitted_is_done() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop)
    engine.milliseconds_to_next = lambda: 0  # type: ignore[method-assign]
    pump = Pump(engine, loop, no_fault)
    settled_after: list[int] = []
    engine.is_idle = False
    pump.when_settled(lambda: settled_after.append(len(engine.runs)))
    loop.turn()
    assert settled_after == []
    engine.is_idle = True
    loop.turn()
    loop.turn()
    assert settled_after == [2]


def test_a_failing_engine_is_reported_and_not_run_again() -> None:
    loop = Clockwork()
    engine = ClockedEngine(loop, 7)
    faults: list[Exception] = []
    pump = Pump(engine, loop, faults.append)
    engine.fails = True
    pump.start()
    loop.move_to(100)
    ask(pump)
    loop.move_to(200)
    assert [type(fault) for fault in faults] == [RuntimeError]


def test_requests_that_arrive_together_share_a_batch(server: RunningServer) -> None:
    clients = [server.connect() for _ in range(50)]
    for client in clients:
        client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n")
        client.answer()
    held, sent = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        sent.wait()

    server.loop.call_soon_threadsafe(hold)
    held.wait()
    for client in clients:
        client.send(b"GET /say HTTP/1.1\r\nHost: h\r\n\r\n")
    sent.set()
    for client in clients:
        client.answer()
    assert [len(batch) for batch in server.engine.batches] == [50]
