"""Who is next: the first of many, at a cost that does not grow with how many there are.

Both are heaps from which nothing is taken out when a message leaves; its entry is dropped when it comes to
the front, and all dead ones together once they outnumber the living.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from penstock.core.model import Message

_DEAD_KEPT = 64


class Line:
    """Messages by their sequence."""

    def __init__(self) -> None:
        self.members: dict[int, Message] = {}  # by sequence
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self.members)

    def add(self, message: Message) -> None:
        """Put a message in its place."""
        self.members[message.sequence] = message
        heappush(self._heap, message.sequence)

    def remove(self, message: Message) -> None:
        """Take a message out, wherever it stands."""
        del self.members[message.sequence]
        if len(self._heap) > 2 * len(self.members) + _DEAD_KEPT:
            self._heap = list(self.members)
            heapify(self._heap)

    def first(self, limit: int) -> list[Message]:
        """The first few."""
        heap, members = self._heap, self.members
        found: list[int] = []
        while heap and len(found) < limit:
            sequence = heappop(heap)
            # One that left and came back has two entries, next to each other.
            if sequence in members and (not found or found[-1] != sequence):
                found.append(sequence)
        for sequence in found:
            heappush(heap, sequence)
        return [members[sequence] for sequence in found]


class Deadlines:
    """Messages by the moment at which something is due to them, then by sequence."""

    def __init__(self) -> None:
        self.members: dict[int, Message] = {}  # by sequence
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.members)

    def add(self, message: Message) -> None:
        """Note a message's `at_ms`."""
        self.members[message.sequence] = message
        heappush(self._heap, (message.at_ms, message.sequence))

    def remove(self, message: Message) -> None:
        """Forget a message."""
        del self.members[message.sequence]
        if len(self._heap) > 2 * len(self.members) + _DEAD_KEPT:
            self._heap = [(member.at_ms, sequence) for sequence, member in self.members.items()]
            heapify(self._heap)

    def first(self, limit: int) -> list[Message]:
        """The few that are due first."""
        heap = self._heap
        found: list[tuple[int, int]] = []
        while heap and len(found) < limit:
            entry = heappop(heap)
            if self._is_alive(entry) and (not found or found[-1] != entry):
                found.append(entry)
        for entry in found:
            heappush(heap, entry)
        return [self.members[sequence] for _, sequence in found]

    def first_ms(self) -> int | None:
        """When the first is due."""
        while self._heap and not self._is_alive(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _is_alive(self, entry: tuple[int, int]) -> bool:
        member = self.members.get(entry[1])
        return member is not None and member.at_ms == entry[0]
