"""What is in the folders, in memory: no request ever lists a directory.

The sequence of a message here is the 60-bit time of its id, so that its place in line is the same on every
server and after every restart. A message that was given back is therefore in front again, where it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush

from penstock.core.ids import MessageId, to_uuid
from penstock.core.model import Counts, Message, Phase, Queue, QueueName, Settings
from penstock.stores.spool.disk import Times
from penstock.stores.spool.lines import Deadlines, Line
from penstock.stores.spool.names import TimeIds, id_of, made_up_id, ms_of, ticks_at, ticks_of

NAMESPACE = "default"
UNKNOWN_SIZE = -1  # nobody has looked yet


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


class Index:
    """All queues and messages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.shelves: dict[int, Shelf] = {}
        self.by_name: dict[str, Shelf] = {}
        self.messages: dict[MessageId, Message] = {}
        self._odd_names: dict[MessageId, str] = {}  # of files whose names are not their ids
        self._agenda: list[tuple[int, int]] = []  # (when something is due in a queue, its number)
        self.ids = TimeIds()
        self.last_sequence = 0
        self.last_queue_number = 0

    # Queues

    def open_shelf(self, name: str, now_ms: int) -> Shelf:
        """A queue that was not there before."""
        self.last_queue_number += 1
        queue = Queue(self.last_queue_number, QueueName(NAMESPACE, name), self._settings, now_ms)
        shelf = self.shelves[queue.number] = self.by_name[name] = Shelf(queue)
        return shelf

    def close_shelf(self, shelf: Shelf) -> None:
        """A queue that is gone, with all that was in it."""
        del self.shelves[shelf.queue.number], self.by_name[shelf.name]
        for message in [*shelf.ready.members.values(), *shelf.away.members.values()]:
            del self.messages[message.id]
            self._odd_names.pop(message.id, None)

    # Messages

    def name_of(self, message: Message) -> str:
        """What the file of a message is called, without its queue."""
        return self._odd_names.get(message.id) or to_uuid(message.id)

    def find(self, queue: str, name: str) -> Message | None:
        """The message in a file."""
        for message_id in (id_of(queue, name), made_up_id(queue, name)):
            message = self.messages.get(message_id)
            if message is not None and message.queue.name.name == queue and self.name_of(message) == name:
                return message
        return None

    def add_found(self, shelf: Shelf, name: str, phase: Phase, at_ms: int, times: Times | None) -> Message:
        """A message that somebody put there; `times` may be None where the name says its time."""
        message_id = id_of(shelf.name, name)
        if message_id in self.messages:  # the same id in another queue: that one was first
            message_id = made_up_id(shelf.name, name)
        if to_uuid(message_id) != name:
            self._odd_names[message_id] = name
        ticks = ticks_of(message_id)
        if ticks is None:
            assert times is not None, "without a time in its name a file was looked at"
            ticks = ticks_at(times.written_at_ns)
        sequence = ticks
        while shelf.has(sequence):
            sequence += 1
        size = UNKNOWN_SIZE if times is None else times.size
        message = Message(message_id, sequence, shelf.queue, phase, at_ms, ms_of(ticks), size)
        self.place(message)
        return message

    def place(self, message: Message) -> None:
        """Put a message where its phase and time say."""
        shelf = self.shelves[message.queue.number]
        self.messages[message.id] = message
        self.last_sequence = max(self.last_sequence, message.sequence)
        if message.phase is Phase.READY:
            shelf.ready.add(message)
            return
        (shelf.claimed if message.phase is Phase.CLAIMED else shelf.arriving).add(message)
        shelf.away.add(message)
        heappush(self._agenda, (message.at_ms, message.queue.number))

    def displace(self, message: Message) -> None:
        """Take a message out of its line, before it changes."""
        shelf = self.shelves[message.queue.number]
        if message.phase is Phase.READY:
            shelf.ready.remove(message)
            return
        (shelf.claimed if message.phase is Phase.CLAIMED else shelf.arriving).remove(message)
        shelf.away.remove(message)

    def forget(self, message: Message) -> None:
        """A message that is no longer there."""
        self.displace(message)
        del self.messages[message.id]
        self._odd_names.pop(message.id, None)

    # What is due

    def next_due_ms(self) -> int | None:
        """When something is due in any queue."""
        agenda = self._agenda
        while agenda:
            at_ms, number = agenda[0]
            shelf = self.shelves.get(number)
            if shelf is not None and shelf.next_due_ms() == at_ms:
                return at_ms
            heappop(agenda)
        return None

    def due_shelves(self, now_ms: int) -> list[Shelf]:
        """The queues in which something is due, by number."""
        due: dict[int, Shelf] = {}
        entries: list[tuple[int, int]] = []
        while (at_ms := self.next_due_ms()) is not None and at_ms <= now_ms:
            entry = heappop(self._agenda)
            if entry[1] not in due:
                due[entry[1]] = self.shelves[entry[1]]
                entries.append(entry)
        for entry in entries:
            heappush(self._agenda, entry)
        return [due[number] for number in sorted(due)]
