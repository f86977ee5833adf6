"""What is in the folders, in memory: no request ever lists a directory.

The sequence of a message here is the 60-bit time of its id, so that its place in line is the same on every
server and after every restart. A message that was given back is therefore in front again, where it was.
"""

from __future__ import annotations

from penstock.core.ids import MessageId, to_uuid
from penstock.core.model import Message, Phase, Queue, QueueName, Settings
from penstock.stores.spool.agenda import Agenda
from penstock.stores.spool.disk import Times
from penstock.stores.spool.names import TimeIds, id_of, made_up_id, ms_of, ticks_at, ticks_of
from penstock.stores.spool.shelf import Shelf

NAMESPACE = "default"
UNKNOWN_SIZE = -1  # nobody has looked yet


class Index:
    """All queues and messages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.shelves: dict[int, Shelf] = {}
        self.by_name: dict[str, Shelf] = {}
        self.messages: dict[MessageId, Message] = {}
        self._odd_names: dict[MessageId, str] = {}  # of files whose names are not their ids
        self.agenda = Agenda()
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
        self.agenda.forget(shelf)
        for message in [*shelf.ready.members.values(), *shelf.away.members.values()]:
            del self.messages[message.id]
            self._odd_names.pop(message.id, None)

    # Messages

    def name_of(self, message: Message) -> str:
        """What the file of a message is called, without its queue."""
        return self._odd_names.get(message.id) or to_uuid(message.id)

    def find(self, queue: str, name: str) -> Message | None:
        """The message in a file."""
        message = self.messages.get(id_of(queue, name))
        if message is not None and message.queue.name.name == queue:
            return message
        # It may have another id than its name says, if that was taken when it came.
        return self.messages.get(made_up_id(queue, name)) if self._odd_names else None

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
        self.agenda.look_by(shelf, message.at_ms)

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
