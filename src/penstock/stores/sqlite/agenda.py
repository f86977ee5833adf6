"""When to look at a queue by itself, because something in it falls due."""

from __future__ import annotations

from heapq import heappop, heappush

from penstock.stores.sqlite.shelf import Shelf


class Agenda:
    """At most one look arranged for each queue: the soonest."""

    def __init__(self) -> None:
        self._looks: list[tuple[int, int, Shelf]] = []  # (at_ms, queue, shelf), a heap
        self._unarranged: set[Shelf] = set()

    def look_by(self, shelf: Shelf, at_ms: int) -> None:
        """Arrange a look at a queue, unless one is arranged for sooner."""
        if shelf.next_due_ms is None or at_ms < shelf.next_due_ms:
            shelf.next_due_ms = at_ms
            heappush(self._looks, (at_ms, shelf.queue.number, shelf))

    def look_again(self, shelf: Shelf) -> None:
        """Find out anew when a queue has to be looked at."""
        shelf.next_due_ms = None
        self._unarranged.add(shelf)

    def unarranged(self) -> list[Shelf]:
        """The queues of which somebody has to find out when they have to be looked at."""
        shelves, self._unarranged = self._unarranged, set()
        for shelf in shelves:
            shelf.next_due_ms = None
        return [shelf for shelf in shelves if not shelf.is_deleted]

    def is_surely_quiet(self, shelf: Shelf, now_ms: int) -> bool:
        """Whether it is known without a look that nothing is due in a queue."""
        if shelf in self._unarranged:
            return False  # what is arranged for it is only what was added since
        return shelf.next_due_ms is not None and shelf.next_due_ms > now_ms

    def due(self, now_ms: int) -> list[Shelf]:
        """The queues to be looked at now. Each is to be arranged anew."""
        found: list[Shelf] = []
        while self._looks and self._looks[0][0] <= now_ms:
            at_ms, _, shelf = heappop(self._looks)
            if shelf.next_due_ms == at_ms and not shelf.is_deleted:
                shelf.next_due_ms = None
                found.append(shelf)
        return found

    def next_ms(self) -> int | None:
        """No look is arranged before then."""
        return self._looks[0][0] if self._looks else None
