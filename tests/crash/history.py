"""What clients saw of a queue through crashes, and what a queue that keeps its promises cannot have shown.

Every message is published once, with a label in its body that no other has. Clients note a request before
they send it and its answer when they have it. A request without an answer (the server was killed under it)
may have had its effect or not; every other answer is a promise. `faults` holds the promises against each
other, and against what is kept. A crash excuses nothing: also a claim that was answered outlives it.

All times are seconds of one monotonic clock, the clients'.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

CLOCK_TOLERANCE_S = 0.01  # the server's clock counts milliseconds, and is not ours


@dataclass(frozen=True)
class Receive:
    """One delivery. The claim happened at some moment between `asked_at` and `answered_at`."""

    message_id: str
    asked_at: float
    answered_at: float
    visibility_s: float


@dataclass
class Life:
    """Everything that clients saw of one message."""

    queue: str
    publish_was_promised: bool = False
    receives: list[Receive] = field(default_factory=list)
    deletes_tried: int = 0
    deleted_at: float | None = None  # when a deletion was promised first
    deletes_missed: int = 0  # deletions answered with "there is no such message"


class History:
    """Notes of many clients, taken from their threads."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.lives: dict[str, Life] = {}
        self.strangers: list[str] = []  # bodies received that nobody ever sent
        self.crashes = 0
        self._lock = threading.Lock()

    def publish_tried(self, label: str, queue: str) -> None:
        with self._lock:
            assert label not in self.lives, "a label is published once"
            self.lives[label] = Life(queue)

    def publish_promised(self, label: str) -> None:
        with self._lock:
            self.lives[label].publish_was_promised = True

    def received(self, label: str, message_id: str, asked_at: float, visibility_s: float) -> None:
        with self._lock:
            if label in self.lives:
                receive = Receive(message_id, asked_at, self.now(), visibility_s)
                self.lives[label].receives.append(receive)
            else:
                self.strangers.append(label)

    def delete_tried(self, label: str) -> None:
        with self._lock:
            self.lives[label].deletes_tried += 1

    def delete_promised(self, label: str) -> None:
        with self._lock:
            life = self.lives[label]
            life.deleted_at = min(life.deleted_at or self.now(), self.now())

    def delete_missed(self, label: str) -> None:
        with self._lock:
            self.lives[label].deletes_missed += 1

    def counts(self) -> str:
        """How much there is to judge, in a line."""
        lives = self.lives.values()
        promised = sum(life.publish_was_promised for life in lives)
        receives = sum(len(life.receives) for life in lives)
        deleted = sum(life.deleted_at is not None for life in lives)
        return (
            f"{len(self.lives)} publishes tried, {promised} promised, {receives} received, "
            f"{deleted} deletions promised, {self.crashes} crashes"
        )


def faults(history: History, kept: dict[str, list[str]]) -> list[str]:
    """Every broken promise, given the labels that are kept now, each with the ids it is kept under."""
    found = [f"{label}: received, and never sent" for label in history.strangers]
    found += [f"{label}: kept, and never sent" for label in kept if label not in history.lives]
    for label, life in history.lives.items():
        kept_ids = kept.get(label, [])
        ids = {*kept_ids, *(receive.message_id for receive in life.receives)}
        if len(ids) > 1 or len(kept_ids) > 1:
            found.append(f"{label}: published once, and there as {sorted(ids)}, {len(kept_ids)} of them kept")
        found += [f"{label}: {fault}" for fault in _losses(life, is_kept=bool(kept_ids))]
        found += [f"{label}: {fault}" for fault in _returns(life, is_kept=bool(kept_ids))]
        found += [f"{label}: {fault}" for fault in _doubles(life)]
    return found


def _losses(life: Life, *, is_kept: bool) -> Iterator[str]:
    was_there = life.publish_was_promised or bool(life.receives)
    if was_there and not is_kept and not life.deletes_tried:
        yield "lost"
    if life.deletes_missed and life.deletes_missed == life.deletes_tried:
        yield "gone when its consumer deleted it, and nobody else had"


def _returns(life: Life, *, is_kept: bool) -> Iterator[str]:
    if life.deleted_at is None:
        return
    if is_kept:
        yield "kept after its deletion was promised"
    if any(receive.asked_at > life.deleted_at for receive in life.receives):
        yield "delivered after its deletion was promised"


def _doubles(life: Life) -> Iterator[str]:
    receives = sorted(life.receives, key=lambda receive: receive.answered_at)
    for first, second in pairwise(receives):
        hidden_until = first.asked_at + first.visibility_s - CLOCK_TOLERANCE_S
        if second.answered_at < hidden_until:
            seconds = second.answered_at - first.asked_at
            yield f"delivered again after {seconds:.3f} of {first.visibility_s} seconds"
