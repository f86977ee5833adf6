"""Where a message lands that becomes available: in line, or beside it as a copy of an unread one.

Within one decision nothing is applied yet, so a `Landing` also remembers the keys that this decision
itself has put into the queue.
"""

from __future__ import annotations

from penstock.core.ids import MessageId
from penstock.core.model import Phase, Queue
from penstock.core.view import View


class Landing:
    """The keys in one queue, as they will be after the events decided so far."""

    def __init__(self, view: View, queue: Queue, leaving: MessageId | None = None) -> None:
        self._view = view
        self._queue = queue
        self._leaving = leaving  # a message that this decision ends, so that it is nobody's twin
        self._taken: dict[bytes, MessageId] = {}

    def twin(self, key: bytes) -> MessageId | None:
        """The message that one with this key would equal."""
        twin = self._taken.get(key) or self._view.twin(self._queue, key)
        return None if twin == self._leaving else twin

    def take(self, key: bytes, message_id: MessageId) -> None:
        """Let a message stand for its key."""
        self._taken[key] = message_id

    def phase_of_arrival(self, key: bytes | None, message_id: MessageId) -> Phase:
        """READY, unless the queue collapses copies and an equal message is unread already."""
        if key is None or not self._queue.settings.collapse:
            return Phase.READY
        if self.twin(key) is not None:
            return Phase.COPY
        self.take(key, message_id)
        return Phase.READY

    def phase_of_new(self, key: bytes | None, message_id: MessageId, *, is_delayed: bool) -> Phase:
        """The same for a message being published, which may be delayed first."""
        if key is not None and not self._queue.settings.collapse:
            self.take(key, message_id)
        return Phase.DELAYED if is_delayed else self.phase_of_arrival(key, message_id)


class Landings:
    """One `Landing` for each queue that a decision touches."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._by_queue: dict[int, Landing] = {}

    def of(self, queue: Queue) -> Landing:
        """The landing of a queue, the same each time."""
        landing = self._by_queue.get(queue.number)
        if landing is None:
            landing = self._by_queue[queue.number] = Landing(self._view, queue)
        return landing
