"""All messages, in memory as far as they are in flight or next in line, in the file otherwise.

Finding goes from memory to the file: what is claimed, then what is next in line, then what the ledger
has not written yet, then the file. Placing keeps windows, tallies, the ledger and the agenda in step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from penstock.core.errors import StoreFailed
from penstock.core.ids import MessageId, published_at_ms_of, sequence_of
from penstock.core.model import Content, Message, Phase, Queue
from penstock.journal.records import content_from
from penstock.stores.sqlite.agenda import Agenda
from penstock.stores.sqlite.file import DataFile
from penstock.stores.sqlite.ledger import Ledger
from penstock.stores.sqlite.shelf import EXPIRY, IN_ORDER, Shelf
from penstock.stores.sqlite.window import ENTRIES_FILLED, Entry

CONTENT_KEPT_BYTES_MAX = 32 * 1024 * 1024  # bodies at hand of messages next in line, all queues together
CONTENT_READ_AHEAD_BYTES_MAX = 16 * 1024  # larger bodies are read when they are handed out

_PHASES = tuple(Phase)  # looking one up is ten times faster than making one of its number
_COLUMNS = """
    m.sequence, m.id, m.phase, m.at_ms, m.size, m.expires_at_ms, m.tries, m.tries_used, m.attempt, m.match_key
"""
_COLUMN_COUNT = 10
_CLAIMED = f"""
    SELECT c.queue, c.until_ms, c.tries_used, c.attempt, c.is_last_receive, {_COLUMNS}
    FROM claims c JOIN messages m ON m.queue = c.queue AND m.sequence = c.sequence
"""
_ONE = f"""
    SELECT m.queue, {_COLUMNS}
    FROM journal j JOIN messages m ON m.queue = coalesce(j.home, j.queue) AND m.sequence = j.sequence
    WHERE j.sequence = ? AND m.id = ?
"""
_BY_SEQUENCE = f"""
    SELECT {_COLUMNS} FROM messages m
    WHERE m.queue = ? AND m.sequence > ? AND m.sequence <= ? ORDER BY m.sequence LIMIT ?
"""
_OLDEST = f"""
    SELECT {_COLUMNS} FROM messages m
    WHERE m.queue = ? AND m.sequence >= ? AND m.phase <> 3 ORDER BY m.sequence LIMIT 1
"""
# Claimed messages still look ready in their own row.
_UNCLAIMED = "NOT EXISTS (SELECT 1 FROM claims c WHERE c.queue = m.queue AND c.sequence = m.sequence)"
_OLDEST_EXPIRING = f"""
    SELECT {_COLUMNS} FROM messages m
    WHERE m.queue = ? AND m.sequence >= ? AND m.phase <> 3 AND {_UNCLAIMED} ORDER BY m.sequence LIMIT ?
"""
_IN_ORDER = f"""
    SELECT {_COLUMNS}, CASE WHEN m.size <= ? THEN j.body END, j.content_type, j.detail
    FROM messages m JOIN journal j ON j.sequence = m.sequence
    WHERE m.queue = ? AND m.sequence >= ? AND m.phase = 0 AND m.at_ms IS NULL
    AND {_UNCLAIMED} ORDER BY m.sequence LIMIT ?
"""
_RUN = f"""
    SELECT p.at_ms, {_COLUMNS}
    FROM places p JOIN messages m ON m.queue = p.queue AND m.sequence = p.sequence
    WHERE p.queue = ? AND p.kind = ? ORDER BY p.at_ms, p.sequence LIMIT ?
"""


class Contents:
    """Where every message is."""

    def __init__(self, file: DataFile, last_sequence: int) -> None:
        self._file = file
        self._reader = file.connection
        self.ledger = Ledger()
        self.agenda = Agenda()
        self.shelves: dict[int, Shelf] = {}
        self.claimed: dict[MessageId, Message] = {}
        self.last_sequence = last_sequence
        self._written_sequence = last_sequence
        self._content_bytes = 0

    def load_claims(self) -> None:
        """Bring the claims under way to memory; the shelves are there already."""
        for number, until_ms, tries_used, attempt, is_last_receive, *columns in self._reader.execute(
            _CLAIMED
        ):
            shelf = self.shelves[number]
            message = _message_from(columns, shelf.queue)
            message.phase = Phase.CLAIMED
            message.at_ms, message.tries_used, message.attempt = until_ms, tries_used, attempt
            message.is_last_receive = bool(is_last_receive)
            self.claimed[message.id] = message
            shelf.deadlines.add(message)

    def write(self) -> None:
        """Bring the file up to date with memory, so that it can be asked for ranges."""
        if self.ledger.is_empty:
            return
        try:
            self.ledger.write(self._file.begin())
        except apsw.Error as exc:
            raise StoreFailed(f"{self._file.path} could not be written: {exc}") from exc
        self._written_sequence = self.last_sequence

    # Finding

    def look_up(self, message_id: MessageId) -> Message | None:
        """The message of an id, wherever it is."""
        message = self.claimed.get(message_id)
        if message is not None:
            return message
        sequence = sequence_of(message_id)
        if sequence in self.ledger.messages:
            message = self.ledger.messages[sequence]
            return message if message is not None and message.id == message_id else None
        row = self._reader.execute(_ONE, (sequence, message_id)).fetchone()
        return None if row is None else _message_from(row[1:], self.shelves[row[0]].queue)

    def find(self, shelf: Shelf, message_id: MessageId) -> Message:
        """The message that an event speaks of; most are claimed or first in line."""
        message = self.claimed.get(message_id)
        if message is not None:
            return message
        line = shelf.windows[IN_ORDER]
        if line.entries and line.entries[0][2].id == message_id:
            return line.entries[0][2]
        place = published_at_ms_of(message_id), sequence_of(message_id)
        message = line.find(*place) or self.look_up(message_id)
        assert message is not None, "an event speaks of a message that is kept"
        return message

    def first(self, shelf: Shelf, run: int, limit: int) -> list[Entry]:
        """At least the first `limit` entries of a run, if it has as many."""
        window = shelf.windows[run]
        if not window.is_whole and window.is_short_of(limit):
            self.write()
            wanted = max(limit, ENTRIES_FILLED)
            if run == IN_ORDER:
                self._read_on_in_order(shelf, wanted)
            else:
                entries = self._read_run(shelf, run, wanted)
                window.fill(entries, is_whole=len(entries) < wanted)
        return window.entries

    def oldest(self, shelf: Shelf) -> Message | None:
        """The first message by sequence that is not dead."""
        self.write()
        row = self._reader.execute(_OLDEST, (shelf.queue.number, shelf.oldest_hint)).fetchone()
        if row is None:
            shelf.oldest_hint = self.last_sequence
            return None
        oldest = self._living([row], shelf.queue)[0]
        shelf.oldest_hint = oldest.sequence
        return oldest

    def oldest_expiring(self, shelf: Shelf, limit: int) -> list[Message]:
        """The first messages by sequence that are neither dead nor claimed."""
        self.write()
        rows = self._reader.execute(_OLDEST_EXPIRING, (shelf.queue.number, shelf.oldest_hint, limit))
        return [_message_from(row, shelf.queue) for row in rows]

    def by_sequence(self, queue: Queue, after: int, last: int, limit: int) -> list[Message]:
        """A range of a queue's messages."""
        self.write()
        return self._living(self._reader.execute(_BY_SEQUENCE, (queue.number, after, last, limit)), queue)

    def twin(self, number: int, match_key: bytes) -> MessageId | None:
        """The message that stands for a key."""
        key = (number, match_key)
        if key in self.ledger.twins:
            return self.ledger.twins[key]
        row = self._reader.execute("SELECT id FROM twins WHERE queue = ? AND match_key = ?", key).fetchone()
        return None if row is None else row[0]

    def content(self, message: Message) -> Content:
        """The body of a message."""
        if message.content is not None:
            return message.content
        if message.sequence > self._written_sequence:
            self.write()
        row = self._reader.execute(
            "SELECT body, content_type, detail FROM journal WHERE sequence = ?", (message.sequence,)
        ).fetchone()
        assert row is not None, "the journal keeps the body of a living message"
        return content_from(*row)

    def _living(self, rows: Iterable[Sequence[Any]], queue: Queue) -> list[Message]:
        """The messages of rows, but those in flight, of which memory knows better."""
        found = [_message_from(row, queue) for row in rows]
        return [self.claimed.get(message.id, message) for message in found]

    def _read_on_in_order(self, shelf: Shelf, wanted: int) -> None:
        """Go on behind the last that is at hand: what is missing there has never been in memory."""
        window = shelf.windows[IN_ORDER]
        start = window.entries[-1][1] + 1 if window.entries else shelf.in_order_hint
        bindings = (CONTENT_READ_AHEAD_BYTES_MAX, shelf.queue.number, start, wanted)
        entries: list[Entry] = []
        for row in self._reader.execute(_IN_ORDER, bindings):
            message = _message_from(row[:_COLUMN_COUNT], shelf.queue)
            body, content_type, detail = row[_COLUMN_COUNT:]
            if body is not None:
                self._keep_content(message, content_from(body, content_type, detail))
            entries.append((message.at_ms, message.sequence, message))
        shelf.in_order_hint = entries[-1][1] + 1 if entries else self.last_sequence
        window.fill([*window.entries, *entries], is_whole=len(entries) < wanted)

    def _read_run(self, shelf: Shelf, run: int, limit: int) -> list[Entry]:
        rows = self._reader.execute(_RUN, (shelf.queue.number, int(run), limit))
        return [(row[0], row[1], _message_from(row[1:], shelf.queue)) for row in rows]

    # Placing

    def add(self, shelf: Shelf, message: Message, content: Content) -> None:
        """Take in a new message."""
        self.ledger.messages[message.sequence] = message
        self.place(shelf, message)
        line = shelf.windows[IN_ORDER].entries
        if line and line[-1][2] is message and message.size <= CONTENT_READ_AHEAD_BYTES_MAX:
            self._keep_content(message, content)

    def place(self, shelf: Shelf, message: Message) -> None:
        """Put a message where its phase and time say."""
        ledger = self.ledger
        phase = message.phase
        at_ms = message.at_ms
        shelf.tally[phase] += 1
        ledger.shelves.add(shelf)
        if message.match_key is not None and (phase is Phase.READY or not shelf.queue.settings.collapse):
            self._stand_for_key(shelf.queue.number, message.match_key, message.id)
        if phase is Phase.CLAIMED:
            self.claimed[message.id] = message
            ledger.claims[shelf.queue.number, message.sequence] = message
            shelf.deadlines.add(message)
            self.agenda.look_by(shelf, at_ms)
            return
        if phase is not Phase.DEAD:
            self._note_expiry(shelf, message)
        if phase is Phase.READY and at_ms == message.published_at_ms:
            shelf.in_order_hint = min(shelf.in_order_hint, message.sequence)
            pushed_out = shelf.windows[IN_ORDER].add(at_ms, message)
            if pushed_out is not None:
                shelf.in_order_hint = min(shelf.in_order_hint, pushed_out.sequence)
                self._let_go_of_content(pushed_out)
            return
        ledger.places[shelf.queue.number, phase, at_ms, message.sequence] = True
        shelf.windows[phase].add(at_ms, message)
        if phase is Phase.DELAYED:
            self.agenda.look_by(shelf, at_ms)

    def displace(self, shelf: Shelf, message: Message) -> None:
        """Take a message from where it is, before it changes or for good."""
        ledger = self.ledger
        number = shelf.queue.number
        phase = message.phase
        sequence = message.sequence
        shelf.tally[phase] -= 1
        ledger.shelves.add(shelf)
        if message.match_key is not None and self.twin(number, message.match_key) == message.id:
            ledger.twins[number, message.match_key] = None
        if phase is Phase.CLAIMED:
            del self.claimed[message.id]
            ledger.claims[number, sequence] = None
            shelf.deadlines.discard()
            return
        if message.expires_at_ms is not None and phase is not Phase.DEAD:
            ledger.places[number, EXPIRY, message.expires_at_ms, sequence] = False
            shelf.windows[EXPIRY].discard(message.expires_at_ms, sequence)
        if phase is Phase.READY and message.at_ms == message.published_at_ms:
            in_line = shelf.windows[IN_ORDER].discard(message.at_ms, sequence)
            if in_line is not None:
                self._let_go_of_content(in_line)
            return
        ledger.places[number, phase, message.at_ms, sequence] = False
        shelf.windows[phase].discard(message.at_ms, sequence)

    def _note_expiry(self, shelf: Shelf, message: Message) -> None:
        expires_at_ms = message.expires_at_ms
        if expires_at_ms is not None:
            self.ledger.places[shelf.queue.number, EXPIRY, expires_at_ms, message.sequence] = True
            shelf.windows[EXPIRY].add(expires_at_ms, message)
            self.agenda.look_by(shelf, expires_at_ms)
        retention_ms = shelf.queue.settings.retention_ms
        if retention_ms is not None:
            self.agenda.look_by(shelf, message.published_at_ms + retention_ms)

    def _stand_for_key(self, number: int, match_key: bytes, message_id: MessageId) -> None:
        if self.twin(number, match_key) is None:
            self.ledger.twins[number, match_key] = message_id

    def _keep_content(self, message: Message, content: Content) -> None:
        if self._content_bytes + message.size <= CONTENT_KEPT_BYTES_MAX:
            message.content = content
            self._content_bytes += message.size

    def _let_go_of_content(self, message: Message) -> None:
        if message.content is not None:
            message.content = None
            self._content_bytes -= message.size

    # What falls due

    def first_due_ms(self, shelf: Shelf) -> int | None:
        """When something is due in a queue by itself."""
        moments = [shelf.deadlines.starts_at_ms()]
        for run in (Phase.DELAYED, EXPIRY):
            entries = self.first(shelf, run, 1)
            moments.append(entries[0][0] if entries else None)
        retention_ms = shelf.queue.settings.retention_ms
        if retention_ms is not None:
            oldest = self.oldest_expiring(shelf, 1)
            moments.append(oldest[0].published_at_ms + retention_ms if oldest else None)
        return min((moment for moment in moments if moment is not None), default=None)


def _message_from(columns: Sequence[Any], queue: Queue) -> Message:
    sequence, message_id, phase, at_ms, size, expires_at_ms, tries, tries_used, attempt, match_key = columns
    published_at_ms = published_at_ms_of(message_id)
    return Message(
        message_id,
        sequence,
        queue,
        _PHASES[phase],
        published_at_ms if at_ms is None else at_ms,
        published_at_ms,
        size,
        expires_at_ms,
        tries,
        tries_used,
        attempt,
        match_key=match_key,
    )
