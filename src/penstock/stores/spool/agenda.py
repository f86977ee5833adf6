"""When to look at which queue, so that a thousand of them cost no more than one."""

from __future__ import annotations

from heapq import heappop, heappush

from penstock.stores.spool.shelf import Shelf


class Agenda:
    """One moment for each queue in which something is due, never later than that."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Shelf]] = []
        self._noted: dict[int, int] = {}  # the one entry of each queue that counts

    def look_by(self, shelf: Shelf, at_ms: int) -> None:
        """Something is due in a queue at this moment."""
        number = shelf.queue.number
        noted = self._noted.get(number)
        if noted is None or at_ms < noted:
            self._noted[number] = at_ms
            heappush(self._heap, (at_ms, number, shelf))

    def next_ms(self) -> int | None:
        """When something is due anywhere."""
        while self._heap:
            at_ms, number, shelf = self._heap[0]
            is_noted = self._noted.get(number) == at_ms
            first_ms = shelf.next_due_ms() if is_noted else None
            if first_ms == at_ms:
                return at_ms
            heappop(self._heap)
            if is_noted:
                del self._noted[number]
            if first_ms is not None:
                self.look_by(shelf, first_ms)
        return None

    def due(self, now_ms: int) -> list[Shelf]:
        """The queues in which something is due, by number. They stay noted until it is done."""
        due: list[Shelf] = []
        while (at_ms := self.next_ms()) is not None and at_ms <= now_ms:
            _, number, shelf = heappop(self._heap)
            del self._noted[number]
            due.append(shelf)
        for shelf in due:
            first_ms = shelf.next_due_ms()
            if first_ms is not None:
                self.look_by(shelf, first_ms)
        return sorted(due, key=lambda shelf: shelf.queue.number)

    def forget(self, shelf: Shelf) -> None:
        """A queue that is gone."""
        self._noted.pop(shelf.queue.number, None)
