"""One queue in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from penstock.core.model import Counts, Message, Queue
from penstock.stores.spool.lines import Deadlines, Line


class Shelf:
    """One queue."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.ready = Line()
        self.claimed = Deadlines()
        self.arriving = Deadlines()  # in `new`
        self.away = Line()  # claimed and arriving, by sequence
        self.roll: list[int] = []  # all sequences at the start of the purge under way

    @property
    def name(self) -> str:
        return self.queue.name.name

    def counts(self) -> Counts:
        return Counts(len(self.ready), len(self.arriving), len(self.claimed))

    def has(self, sequence: int) -> bool:
        return sequence in self.ready.members or sequence in self.away.members

    def oldest(self) -> Message | None:
        firsts = self.ready.first(1) + self.away.first(1)
        return min(firsts, key=lambda message: message.sequence, default=None)

    def next_due_ms(self) -> int | None:
        moments = [self.claimed.first_ms(), self.arriving.first_ms()]
        return min((moment for moment in moments if moment is not None), default=None)

    def by_sequence(self, after: int, last: int, limit: int) -> Sequence[Message]:
        if after == 0:
            self.roll = sorted([*self.ready.members, *self.away.members])
        found: list[Message] = []
        for at in range(bisect_right(self.roll, after), len(self.roll)):
            sequence = self.roll[at]
            if sequence > last or len(found) == limit:
                break
            message = self.ready.members.get(sequence) or self.away.members.get(sequence)
            if message is not None:
                found.append(message)
        if len(found) < limit:
            self.roll = []
        return found
