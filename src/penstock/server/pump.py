"""Ties the engine to the event loop.

The engine does nothing until it is run. One run is asked for per turn of the loop, however many requests
that turn has read, so that all of them share one commit. In between it is run when it says that
something will be due.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from penstock.core.commands import Command
from penstock.engine.asker import Asker


class Engine(Protocol):
    """What the server needs of the engine. All of it is called on the loop's thread."""

    @property
    def is_healthy(self) -> bool: ...
    @property
    def decided_at_ms(self) -> int: ...
    @property
    def is_idle(self) -> bool: ...
    def submit(self, command: Command, asker: Asker) -> None: ...
    def withdraw(self, asker: Asker) -> bool: ...
    def run(self) -> None: ...
    def milliseconds_to_next(self) -> float | None: ...
    def end_waits(self) -> None: ...


class Timer(Protocol):
    """A call that is planned."""

    def when(self) -> float: ...
    def cancel(self) -> None: ...


class Loop(Protocol):
    """What the pump needs of an event loop. Times are in seconds."""

    def time(self) -> float: ...
    def call_soon(self, callback: Callable[[], None], /) -> object: ...
    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer: ...


class Pump:
    """Runs the engine when there is something to do, and not otherwise."""

    def __init__(self, engine: Engine, loop: Loop, on_fault: Callable[[Exception], None]) -> None:
        self._engine = engine
        self._loop = loop
        self._on_fault = on_fault
        self._is_run_planned = False
        self._is_ending_waits = False
        self._timer: Timer | None = None
        self._when_settled: list[Callable[[], None]] = []

    def submit(self, command: Command, asker: Asker) -> None:
        self._engine.submit(command, asker)
        if not self._is_run_planned:
            self._plan_run()

    def withdraw(self, asker: Asker) -> bool:
        """Forget a command whose client has gone; False if it did not wait."""
        return self._engine.withdraw(asker)

    def start(self) -> None:
        """Let the engine do what became due while nobody ran it."""
        if not self._is_run_planned:
            self._plan_run()

    def when_settled(self, callback: Callable[[], None]) -> None:
        """Call back once all that was submitted by now is answered, or waits for something to happen."""
        self._when_settled.append(callback)
        self.start()

    def end_waits(self) -> None:
        """Answer all who wait, and from now on whoever would begin to."""
        self._is_ending_waits = True
        self.start()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _plan_run(self) -> None:
        self._is_run_planned = True
        self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_run_planned = False
        try:
            self._engine.run()
            if self._is_ending_waits:
                self._engine.end_waits()
        except Exception as error:  # noqa: BLE001 - whatever it is, what the engine holds is now in doubt
            self._is_run_planned = True  # for ever: there must be no other run
            self._on_fault(error)
            return
        self._plan_next()

    def _plan_next(self) -> None:
        if self._when_settled and self._engine.is_idle:
            self._settle()
        milliseconds = self._engine.milliseconds_to_next()
        if milliseconds is None:
            return
        if milliseconds <= 0:
            self.start()
        else:
            self._plan_timer(milliseconds)

    def _settle(self) -> None:
        callbacks, self._when_settled = self._when_settled, []
        for callback in callbacks:
            callback()

    def _plan_timer(self, milliseconds: float) -> None:
        # Rounded up: a timer that fires a part of a millisecond early would find nothing due.
        seconds = math.ceil(milliseconds) / 1000
        if self._timer is not None:
            # One that fires sooner may stay: that run finds nothing due and plans anew, which costs less
            # than moving the timer after every batch.
            if self._timer.when() <= self._loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.start()
