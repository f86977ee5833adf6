"""The reference store: everything in sorted lists, nothing kept when the process ends.

It is written to be read: what it answers is what every other store has to answer. Costs grow with the
depth of a queue, so it serves tests and trials.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from penstock.core import events as ev
from penstock.core.evolution import born, evolve
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Message, MoveState, Phase, Queue, QueueName
from penstock.core.record import Record
from penstock.core.traits import EVERYTHING

KEYS_REMEMBERED_MAX = 4096  # idempotency keys per queue; the oldest is forgotten
MOVES_REMEMBERED_MAX = 1000
FOR_EVER_MS = 1 << 62
RECORDS_PER_PIECE = 1000

Line = list[tuple[int, int, Message]]  # (at_ms, sequence, message), sorted


class Shelf:
    """One queue with its messages."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.is_deleted = False
        self.messages: dict[int, Message] = {}  # by sequence
        self.lines: dict[Phase, Line] = {phase: [] for phase in Phase}
        self.twins: dict[bytes, Message] = {}
        self.keys: dict[str, tuple[MessageId, ...]] = {}

    def place(self, message: Message) -> None:
        """Put a message where its phase and time say."""
        self.messages[message.sequence] = message
        insort(self.lines[message.phase], (message.at_ms, message.sequence, message))
        if message.match_key is not None and self._stands_for_its_key(message):
            self.twins.setdefault(message.match_key, message)

    def displace(self, message: Message) -> None:
        """Take a message out, before it changes or for good."""
        del self.messages[message.sequence]
        line = self.lines[message.phase]
        del line[bisect_left(line, (message.at_ms, message.sequence))]
        if message.match_key is not None and self.twins.get(message.match_key) is message:
            del self.twins[message.match_key]

    def _stands_for_its_key(self, message: Message) -> bool:
        return message.phase is Phase.READY or not self.queue.settings.collapse

    def may_expire(self) -> Iterator[Message]:
        """The messages that expire when their time is over."""
        for phase in (Phase.READY, Phase.DELAYED, Phase.COPY):
            for _, _, message in self.lines[phase]:
                yield message

    def end_of(self, message: Message) -> int:
        """When a message expires."""
        own = FOR_EVER_MS if message.expires_at_ms is None else message.expires_at_ms
        retention_ms = self.queue.settings.retention_ms
        return own if retention_ms is None else min(own, message.published_at_ms + retention_ms)

    def next_due_ms(self) -> int:
        """When something has to happen here by itself."""
        firsts = [line[0][0] for phase in (Phase.DELAYED, Phase.CLAIMED) if (line := self.lines[phase])]
        ends = [self.end_of(message) for message in self.may_expire()]
        return min(firsts + ends, default=FOR_EVER_MS)


class MemoryStore:
    """A store that forgets."""

    traits = EVERYTHING
    others = None

    def __init__(self) -> None:
        self._shelves: dict[int, Shelf] = {}
        self._names: dict[QueueName, Shelf] = {}
        self._messages: dict[MessageId, Message] = {}
        self._contents: dict[MessageId, Content] = {}
        self._moves: dict[str, MoveState] = {}
        self._journal: list[Record] = []
        self._last_queue_number = 0
        self._known_names: dict[int, QueueName] = {}

    # What the rules see

    @property
    def last_sequence(self) -> int:
        return len(self._journal)

    @property
    def last_queue_number(self) -> int:
        return self._last_queue_number

    def queue(self, name: QueueName) -> Queue | None:
        shelf = self._names.get(name)
        return None if shelf is None else shelf.queue

    def queue_by_number(self, number: int) -> Queue | None:
        shelf = self._shelves.get(number)
        return None if shelf is None or shelf.is_deleted else shelf.queue

    def queues(self, namespace: str) -> Sequence[Queue]:
        return [shelf.queue for name, shelf in self._names.items() if name.namespace == namespace]

    def counts(self, queue: Queue) -> Counts:
        lines = self._shelves[queue.number].lines
        return Counts(
            ready=len(lines[Phase.READY]) + len(lines[Phase.COPY]),
            delayed=len(lines[Phase.DELAYED]),
            claimed=len(lines[Phase.CLAIMED]),
            dead=len(lines[Phase.DEAD]),
        )

    def oldest_published_at_ms(self, queue: Queue) -> int | None:
        messages = self._shelves[queue.number].messages.values()
        return min((m.published_at_ms for m in messages if m.phase is not Phase.DEAD), default=None)

    def message(self, message_id: MessageId) -> Message | None:
        message = self._messages.get(message_id)
        return None if message is None or self._shelves[message.queue.number].is_deleted else message

    def content(self, message: Message) -> Content:
        return self._contents[message.id]

    def listed(self, queue: Queue, phase: Phase, limit: int) -> Sequence[Message]:
        return [message for _, _, message in self._shelves[queue.number].lines[phase][:limit]]

    def by_sequence(self, queue: Queue, after: int, last: int, limit: int) -> Sequence[Message]:
        messages = self._shelves[queue.number].messages
        return [messages[number] for number in sorted(messages) if after < number <= last][:limit]

    def expired(self, queue: Queue, now_ms: int, limit: int) -> Sequence[Message]:
        shelf = self._shelves[queue.number]
        over = [message for message in shelf.may_expire() if shelf.end_of(message) <= now_ms]
        own = [(m.expires_at_ms, m.sequence, m) for m in over if m.expires_at_ms is not None]
        own = sorted(entry for entry in own if entry[0] <= now_ms)
        first = {sequence: message for _, sequence, message in own}
        kept_too_long = {m.sequence: m for m in sorted(over, key=lambda message: message.sequence)}
        return [*(first | kept_too_long).values()][:limit]

    def twin(self, queue: Queue, match_key: bytes) -> MessageId | None:
        shelf = self._shelves.get(queue.number)
        twin = None if shelf is None else shelf.twins.get(match_key)
        return None if twin is None else twin.id

    def remembered(self, queue: Queue, key: str) -> tuple[MessageId, ...] | None:
        shelf = self._shelves.get(queue.number)
        return None if shelf is None else shelf.keys.get(key)

    def move(self, reference: str) -> MoveState | None:
        return self._moves.get(reference)

    # What the engine asks

    def apply(self, events: Sequence[ev.Event], now_ms: int, dialect: str) -> None:
        for event in events:
            self._follow(event, now_ms)
            name = self._known_names[event.queue]
            self._journal.append(Record(self.last_sequence + 1, now_ms, dialect, name, event))

    def commit(self) -> None:
        pass

    def due_queues(self, now_ms: int) -> Sequence[Queue]:
        return [s.queue for s in self._shelves.values() if not s.is_deleted and s.next_due_ms() <= now_ms]

    def next_due_ms(self) -> int | None:
        soonest = min((s.next_due_ms() for s in self._shelves.values()), default=FOR_EVER_MS)
        return None if soonest == FOR_EVER_MS else soonest

    def moves_under_way(self) -> Sequence[MoveState]:
        return [move for move in self._moves.values() if move.status == "IN_PROGRESS"]

    def deleted_queues(self) -> Sequence[Queue]:
        return [shelf.queue for shelf in self._shelves.values() if shelf.is_deleted]

    def last_moment_ms(self) -> int:
        return self._journal[-1].at_ms if self._journal else 0

    def trim_journal(self, now_ms: int) -> bool:  # noqa: ARG002 - it ends with the process anyway
        return False

    def journal_reader(self) -> MemoryStore:
        return self

    def bounds(self) -> tuple[int, int]:
        return 0, self.last_sequence

    def records(self, after: int, limit: int) -> Iterator[Sequence[Record]]:
        end = min(after + limit, self.last_sequence)
        for start in range(after, end, RECORDS_PER_PIECE):
            yield self._journal[start : min(start + RECORDS_PER_PIECE, end)]

    def check(self) -> None:
        for shelf in self._shelves.values():
            placed = {message.id for line in shelf.lines.values() for _, _, message in line}
            assert placed == {message.id for message in shelf.messages.values()}
            for line in shelf.lines.values():
                assert line == sorted(line, key=lambda entry: entry[:2])
        assert set(self._messages) == set(self._contents)

    def all_messages(self) -> Sequence[Message]:
        living = [m for m in self._messages.values() if not self._shelves[m.queue.number].is_deleted]
        return sorted(living, key=lambda message: message.sequence)

    def close(self) -> None:
        pass

    # Following events

    def _follow(self, event: ev.Event, now_ms: int) -> None:
        match event:
            case ev.MessagePublished():
                message = born(event, self._shelves[event.queue].queue, self.last_sequence + 1, now_ms)
                self._contents[event.id] = event.content
                self._messages[event.id] = message
                self._shelves[event.queue].place(message)
            case ev.MessageAcknowledged() | ev.MessageExpired() | ev.MessagePurged():
                self._end(event.queue, event.id)
            case ev.MessageMoved():
                message = self._messages[event.id]
                self._shelves[event.queue].displace(message)
                target = self._shelves[event.target]
                evolve(message, event, target.queue, now_ms)
                target.place(message)
            case (
                ev.MessageClaimed()
                | ev.MessageReadied()
                | ev.MessageRenewed()
                | ev.MessageBuried()
                | ev.MessageRespawned()
            ):
                message = self._messages[event.id]
                shelf = self._shelves[event.queue]
                shelf.displace(message)
                evolve(message, event, shelf.queue, now_ms)
                shelf.place(message)
            case _:
                self._follow_queue(event, now_ms)

    def _end(self, number: int, message_id: MessageId) -> None:
        shelf = self._shelves[number]
        shelf.displace(self._messages.pop(message_id))
        del self._contents[message_id]
        self._forget_if_gone(shelf)

    def _follow_queue(self, event: ev.QueueEvent, now_ms: int) -> None:
        match event:
            case ev.QueueCreated():
                shelf = Shelf(Queue(event.queue, event.name, event.settings, now_ms))
                self._shelves[event.queue] = self._names[event.name] = shelf
                self._known_names[event.queue] = event.name
                self._last_queue_number = event.queue
            case ev.QueueChanged():
                self._shelves[event.queue].queue.settings = event.settings
            case ev.QueueDeleted():
                shelf = self._shelves[event.queue]
                shelf.is_deleted = True
                del self._names[shelf.queue.name]
                self._forget_if_gone(shelf)
            case ev.KeyRemembered():
                keys = self._shelves[event.queue].keys
                keys[event.key] = event.ids
                if len(keys) > KEYS_REMEMBERED_MAX:
                    del keys[next(iter(keys))]
            case ev.MoveStarted():
                self._moves[event.reference] = MoveState(
                    event.reference,
                    self._known_names[event.queue],
                    self._known_names[event.target],
                    event.queue,
                    event.target,
                    event.last_sequence,
                )
                self._forget_old_moves()
            case ev.MoveEnded():
                move = self._moves[event.reference]
                self._moves[event.reference] = move.ended(event.status)

    def _forget_if_gone(self, shelf: Shelf) -> None:
        if shelf.is_deleted and not shelf.messages:
            del self._shelves[shelf.queue.number]

    def _forget_old_moves(self) -> None:
        over = [reference for reference, move in self._moves.items() if move.status != "IN_PROGRESS"]
        for reference in over[: max(0, len(self._moves) - MOVES_REMEMBERED_MAX)]:
            del self._moves[reference]
