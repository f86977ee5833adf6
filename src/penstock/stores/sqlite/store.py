"""What the rules and the engine see of the file.

What is asked for on every request is answered from memory: queues, counts, claims under way, and the
first messages in each line. The file is asked when a window has run out, and for single messages that
are not in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from pathlib import Path

import apsw
import msgspec

from penstock.core import events as ev
from penstock.core.errors import StoreFailed
from penstock.core.evolution import LastingEvent, born, evolve
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Message, MoveState, Phase, Queue, QueueName, Settings
from penstock.core.traits import EVERYTHING
from penstock.journal.records import SIZE, to_columns
from penstock.stores.sqlite.checking import check_file
from penstock.stores.sqlite.contents import Contents
from penstock.stores.sqlite.file import DataFile
from penstock.stores.sqlite.reader import SqliteJournalReader
from penstock.stores.sqlite.shelf import EXPIRY, IN_ORDER, Shelf
from penstock.stores.sqlite.trimming import JournalLimits, Trimmer

KEYS_REMEMBERED_MAX = 4096  # idempotency keys per queue; the oldest is forgotten
MOVES_REMEMBERED_MAX = 1000

_STATE = "SELECT last_sequence, last_moment_ms, last_queue_number, trimmed_to, journal_bytes FROM state"
_SET_STATE = """
    UPDATE state SET last_sequence = ?, last_moment_ms = ?, last_queue_number = ?, trimmed_to = ?,
                     journal_bytes = ?
"""
_QUEUES = """
    SELECT number, namespace, name, settings, created_at_ms, deleted_sequence,
           ready, delayed, claimed, dead, copies
    FROM queues ORDER BY number
"""
_ADD_QUEUE = "INSERT INTO queues (number, namespace, name, settings, created_at_ms) VALUES (?, ?, ?, ?, ?)"
# The last event that speaks of a deleted queue: until that is forgotten, the journal needs its name.
_SET_DELETED = "UPDATE queues SET deleted_sequence = ? WHERE number = ?"
_FORGET_OLD_KEYS = """
    DELETE FROM keys WHERE queue = ? AND sequence <= (
        SELECT sequence FROM keys WHERE queue = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?)
"""
_PUT_MOVE = "INSERT INTO moves VALUES (?1, ?2, ?3) ON CONFLICT (reference) DO UPDATE SET state = ?3"

_settings_of = msgspec.json.Decoder(Settings).decode
_move_of = msgspec.json.Decoder(MoveState).decode
_as_json = msgspec.json.encode


class SqliteStore:
    """Everything in one file, owned by one process."""

    traits = EVERYTHING
    others = None

    def __init__(self, file: DataFile, journal: JournalLimits) -> None:
        self._file = file
        state = file.connection.execute(_STATE).fetchone()
        assert state is not None, "the schema puts its one row there"
        numbers: tuple[int, int, int, int, int] = state
        self._sequence, self._last_moment_ms, self._last_queue_number, trimmed_to, journal_bytes = numbers
        self._trimmer = Trimmer(journal, trimmed_to, journal_bytes)
        self._contents = Contents(file, self._sequence)
        self._shelves = self._contents.shelves
        self._names: dict[QueueName, Shelf] = {}
        self._deleted: dict[int, Shelf] = {}
        self._moves: dict[str, MoveState] = {}
        self._load()

    @classmethod
    def open(cls, path: Path, journal: JournalLimits | None = None) -> SqliteStore:
        """Open the file, or make it."""
        return cls(DataFile(path), journal or JournalLimits())

    def _load(self) -> None:
        connection = self._file.connection
        for number, namespace, name, settings, created_at_ms, deleted, *tally in connection.execute(_QUEUES):
            queue = Queue(number, QueueName(namespace, name), _settings_of(settings), created_at_ms)
            shelf = Shelf(queue, tally, is_deleted=deleted is not None)
            if not shelf.is_deleted:
                self._shelves[number] = self._names[queue.name] = shelf
                self._contents.agenda.look_again(shelf)
            elif not shelf.is_empty:
                self._shelves[number] = self._deleted[number] = shelf
        self._contents.load_claims()
        for (state,) in connection.execute("SELECT state FROM moves ORDER BY sequence"):
            move = _move_of(state)
            self._moves[move.reference] = move

    # What the rules see

    @property
    def last_sequence(self) -> int:
        return self._sequence

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
        return self._shelves[queue.number].counts()

    def oldest_published_at_ms(self, queue: Queue) -> int | None:
        oldest = self._contents.oldest(self._shelves[queue.number])
        return None if oldest is None else oldest.published_at_ms

    def message(self, message_id: MessageId) -> Message | None:
        message = self._contents.look_up(message_id)
        return None if message is None or self._shelves[message.queue.number].is_deleted else message

    def content(self, message: Message) -> Content:
        return message.content or self._contents.content(message)

    def listed(self, queue: Queue, phase: Phase, limit: int) -> Sequence[Message]:
        shelf = self._shelves[queue.number]
        if not shelf.tally[phase]:
            return ()
        if phase is Phase.CLAIMED:
            return shelf.deadlines.first(limit)
        entries = self._contents.first(shelf, phase, limit)
        if phase is Phase.READY:
            in_order = self._contents.first(shelf, IN_ORDER, limit)
            entries = list(islice(merge(in_order, entries), limit)) if entries else in_order
        return (entries[0][2],) if limit == 1 else [entry[2] for entry in entries[:limit]]

    def by_sequence(self, queue: Queue, after: int, last: int, limit: int) -> Sequence[Message]:
        return self._contents.by_sequence(queue, after, last, limit)

    def expired(self, queue: Queue, now_ms: int, limit: int) -> Sequence[Message]:
        shelf = self._shelves[queue.number]
        if self._contents.agenda.is_surely_quiet(shelf, now_ms):
            return ()
        own = self._contents.first(shelf, EXPIRY, limit)[:limit]
        found = {entry[1]: entry[2] for entry in own if entry[0] <= now_ms}
        if queue.settings.retention_ms is not None and len(found) < limit:
            for message in self._kept_too_long(shelf, now_ms - queue.settings.retention_ms, limit):
                found.setdefault(message.sequence, message)
        return list(found.values())[:limit]

    def _kept_too_long(self, shelf: Shelf, last_published_at_ms: int, limit: int) -> list[Message]:
        oldest = self._contents.oldest_expiring(shelf, 1)
        if not oldest or oldest[0].published_at_ms > last_published_at_ms:
            return []  # as nearly always: a slice is read only when there is something in it
        oldest = self._contents.oldest_expiring(shelf, limit)
        return [message for message in oldest if message.published_at_ms <= last_published_at_ms]

    def twin(self, queue: Queue, match_key: bytes) -> MessageId | None:
        return self._contents.twin(queue.number, match_key)

    def remembered(self, queue: Queue, key: str) -> tuple[MessageId, ...] | None:
        row = self._file.connection.execute(
            "SELECT ids FROM keys WHERE queue = ? AND key = ?", (queue.number, key)
        ).fetchone()
        return None if row is None else tuple(row[0][at : at + 16] for at in range(0, len(row[0]), 16))

    def move(self, reference: str) -> MoveState | None:
        return self._moves.get(reference)

    # What the engine asks

    def apply(self, events: Sequence[ev.Event], now_ms: int, dialect: str) -> None:
        journal = self._contents.ledger.events
        body_bytes = 0
        for event in events:
            self._sequence += 1
            columns = to_columns(event)
            journal.append((self._sequence, now_ms, dialect, *columns))
            body_bytes += columns[SIZE] or 0
            self._follow(event, now_ms)
        self._contents.last_sequence = self._sequence
        self._trimmer.note(len(events), body_bytes)
        self._last_moment_ms = now_ms

    def commit(self) -> None:
        self._contents.write()
        try:
            if self._file.is_in_transaction:
                trimmed = (self._trimmer.trimmed_to, self._trimmer.journal_bytes)
                state = (self._sequence, self._last_moment_ms, self._last_queue_number, *trimmed)
                self._file.connection.execute(_SET_STATE, state)
                self._file.commit()
        except apsw.Error as exc:
            raise StoreFailed(f"{self._file.path} could not be written: {exc}") from exc

    def due_queues(self, now_ms: int) -> Sequence[Queue]:
        self._arrange_looks()
        agenda = self._contents.agenda
        due: list[Queue] = []
        for shelf in agenda.due(now_ms):
            moment = self._contents.first_due_ms(shelf)
            if moment is not None and moment <= now_ms:
                due.append(shelf.queue)
                agenda.look_again(shelf)
            elif moment is not None:
                agenda.look_by(shelf, moment)
        return sorted(due, key=lambda queue: queue.number)

    def next_due_ms(self) -> int | None:
        self._arrange_looks()
        return self._contents.agenda.next_ms()

    def _arrange_looks(self) -> None:
        agenda = self._contents.agenda
        for shelf in agenda.unarranged():
            moment = self._contents.first_due_ms(shelf)
            if moment is not None:
                agenda.look_by(shelf, moment)

    def moves_under_way(self) -> Sequence[MoveState]:
        return [move for move in self._moves.values() if move.status == "IN_PROGRESS"] if self._moves else ()

    def deleted_queues(self) -> Sequence[Queue]:
        return [self._deleted[number].queue for number in sorted(self._deleted)] if self._deleted else ()

    def last_moment_ms(self) -> int:
        return self._last_moment_ms

    def trim_journal(self, now_ms: int) -> bool:
        self._contents.write()
        try:
            return self._trimmer.trim(self._file, now_ms)
        except apsw.Error as exc:
            raise StoreFailed(f"{self._file.path} could not be trimmed: {exc}") from exc

    def journal_reader(self) -> SqliteJournalReader:
        return SqliteJournalReader(self._file.path)

    def all_messages(self) -> Sequence[Message]:
        queues = [shelf.queue for shelf in self._names.values()]
        found = [m for queue in queues for m in self.by_sequence(queue, 0, self._sequence, -1)]
        return sorted(found, key=lambda message: message.sequence)

    def check(self) -> None:
        self._contents.write()
        check_file(self._file.connection, self._shelves, self._contents.claimed)

    def close(self) -> None:
        self._file.close()

    # Following events

    def _follow(self, event: ev.Event, now_ms: int) -> None:
        match event:
            case ev.MessagePublished():
                shelf = self._shelves[event.queue]
                message = born(event, shelf.queue, self._sequence, now_ms)
                self._contents.add(shelf, message, event.content)
            case ev.MessageClaimed():
                self._change(event, now_ms)
            case ev.MessageAcknowledged():
                self._end(event.queue, event.id)
            case ev.MessageExpired() | ev.MessagePurged():
                self._end(event.queue, event.id)
            case (
                ev.MessageReadied()
                | ev.MessageRenewed()
                | ev.MessageBuried()
                | ev.MessageRespawned()
                | ev.MessageMoved()
            ):
                self._change(event, now_ms)
            case _:
                self._follow_queue(event, now_ms)

    def _end(self, number: int, message_id: MessageId) -> None:
        shelf = self._shelves[number]
        message = self._contents.find(shelf, message_id)
        self._contents.displace(shelf, message)
        message.at_ms = -1  # so that a deadline of it that is still noted is known to be over
        ledger = self._contents.ledger
        ledger.messages[message.sequence] = None
        ledger.deleted.append((number, message.sequence))
        if message.sequence <= self._trimmer.trimmed_to:
            ledger.spent_bodies.append((message.sequence,))
        if shelf.is_deleted and shelf.is_empty:
            del self._deleted[number], self._shelves[number]
            self._file.begin().execute(_SET_DELETED, (self._sequence, number))

    def _change(self, event: LastingEvent, now_ms: int) -> None:
        shelf = self._shelves[event.queue]
        message = self._contents.find(shelf, event.id)
        self._contents.displace(shelf, message)
        ledger = self._contents.ledger
        if isinstance(event, ev.MessageMoved):
            ledger.deleted.append((event.queue, message.sequence))
            ledger.homes[message.sequence] = event.target
            shelf = self._shelves[event.target]
        evolve(message, event, shelf.queue, now_ms)
        if message.phase is not Phase.CLAIMED:
            ledger.messages[message.sequence] = message
            shelf.oldest_hint = min(shelf.oldest_hint, message.sequence)
        self._contents.place(shelf, message)

    def _follow_queue(self, event: ev.QueueEvent, now_ms: int) -> None:
        execute = self._file.begin().execute
        number = event.queue
        match event:
            case ev.QueueCreated():
                shelf = Shelf(Queue(number, event.name, event.settings, now_ms))
                self._shelves[number] = self._names[event.name] = shelf
                self._last_queue_number = number
                execute(_ADD_QUEUE, (number, *event.name, _as_json(event.settings), now_ms))
            case ev.QueueChanged():
                shelf = self._shelves[number]
                shelf.queue.settings = event.settings
                self._contents.agenda.look_again(shelf)
                execute("UPDATE queues SET settings = ? WHERE number = ?", (_as_json(event.settings), number))
            case ev.QueueDeleted():
                self._delete_queue(number)
                execute(_SET_DELETED, (self._sequence, number))
                execute("DELETE FROM keys WHERE queue = ?", (number,))
            case ev.KeyRemembered():
                row = (number, event.key, self._sequence, b"".join(event.ids))
                execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", row)
                execute(_FORGET_OLD_KEYS, (number, number, KEYS_REMEMBERED_MAX))
            case ev.MoveStarted():
                source, target = self._shelves[number].queue, self._shelves[event.target].queue
                self._put_move(
                    MoveState(
                        event.reference, source.name, target.name, number, event.target, event.last_sequence
                    )
                )
                self._forget_old_moves()
            case ev.MoveEnded():
                self._put_move(self._moves[event.reference].ended(event.status))

    def _delete_queue(self, number: int) -> None:
        shelf = self._shelves[number]
        shelf.is_deleted = True
        del self._names[shelf.queue.name]
        if shelf.is_empty:
            del self._shelves[number]
        else:
            self._deleted[number] = shelf

    def _put_move(self, move: MoveState) -> None:
        self._moves[move.reference] = move
        self._file.begin().execute(_PUT_MOVE, (move.reference, self._sequence, _as_json(move)))

    def _forget_old_moves(self) -> None:
        over = [reference for reference, move in self._moves.items() if move.status != "IN_PROGRESS"]
        for reference in over[: max(0, len(self._moves) - MOVES_REMEMBERED_MAX)]:
            del self._moves[reference]
            self._file.begin().execute("DELETE FROM moves WHERE reference = ?", (reference,))
