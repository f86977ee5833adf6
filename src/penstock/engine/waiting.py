"""Consumers that wait for a message: in line by queue, in order of arrival, each with a deadline.

Waiting costs nothing: a waiter is an entry in a line and one in a heap, touched only when a message
comes or its time is up. One that was served or has gone is marked over and skipped where it is met.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from itertools import count

import msgspec

from penstock.core.commands import Claim
from penstock.core.model import QueueName
from penstock.engine.asker import Asker

_OVER_KEPT_MAX = 1000  # entries of waiters that are over, before the heap is swept


class Waiter(msgspec.Struct, eq=False):
    """One claim that found nothing and has time."""

    command: Claim
    asker: Asker
    deadline_ms: int
    is_over: bool = False


class WaitingRoom:
    """All waiters."""

    def __init__(self) -> None:
        self._lines: dict[QueueName, deque[Waiter]] = {}
        self._deadlines: list[tuple[int, int, Waiter]] = []
        self.by_asker: dict[int, Waiter] = {}  # everybody who waits, by the identity of who asked
        self._tickets = count()

    def __len__(self) -> int:
        return len(self.by_asker)

    def admit(self, command: Claim, asker: Asker, deadline_ms: int) -> None:
        """Let a claim wait in the line of each of its queues."""
        waiter = Waiter(command, asker, deadline_ms)
        self.by_asker[id(asker)] = waiter
        heappush(self._deadlines, (deadline_ms, next(self._tickets), waiter))
        for name in command.names:
            self._lines.setdefault(name, deque()).append(waiter)

    def first_for(self, name: QueueName) -> Waiter | None:
        """Whose turn it is when a message comes to this queue."""
        line = self._lines.get(name)
        if line is None:
            return None
        while line:
            if not line[0].is_over:
                return line[0]
            line.popleft()
        del self._lines[name]
        return None

    def dismiss(self, waiter: Waiter) -> None:
        """A waiter was served, is out of time or has gone."""
        waiter.is_over = True
        self.by_asker.pop(id(waiter.asker), None)
        for name in waiter.command.names:
            self.first_for(name)  # lets go of a line that has become empty
        if len(self._deadlines) > 2 * len(self.by_asker) + _OVER_KEPT_MAX:
            self._sweep()

    def _sweep(self) -> None:
        """Let go of all that is over, wherever it stands in a line."""
        self._deadlines = [entry for entry in self._deadlines if not entry[2].is_over]
        heapify(self._deadlines)
        for name, line in list(self._lines.items()):
            self._lines[name] = deque(waiter for waiter in line if not waiter.is_over)
            self.first_for(name)

    def withdraw(self, asker: Asker) -> bool:
        """An asker has gone; False if it did not wait."""
        waiter = self.by_asker.get(id(asker))
        if waiter is not None:
            self.dismiss(waiter)
        return waiter is not None

    def out_of_time(self, now_ms: int) -> list[Waiter]:
        """The waiters whose deadline has come."""
        late: list[Waiter] = []
        while self._deadlines and (self._deadlines[0][0] <= now_ms or self._deadlines[0][2].is_over):
            waiter = heappop(self._deadlines)[2]
            if not waiter.is_over:
                late.append(waiter)
        return late

    def everybody(self) -> list[Waiter]:
        """All who wait."""
        return list(self.by_asker.values())

    def next_deadline_ms(self) -> int | None:
        """When the first of them runs out of time."""
        return self._deadlines[0][0] if self._deadlines else None
