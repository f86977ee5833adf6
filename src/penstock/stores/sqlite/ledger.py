"""What has changed since the last write, written in one go.

Within a batch many events touch the same rows: a message published, claimed and acknowledged in one
batch leaves nothing but its journal. So rows are written as they are at the end, table by table, in few
statements. Whoever reads a range of rows from the file calls `write` first; single rows are looked up
in here before the file is asked.
"""

from __future__ import annotations

import apsw

from penstock.core.ids import MessageId
from penstock.core.model import Message, Phase
from penstock.stores.sqlite.shelf import Shelf

RowKey = tuple[int, int]  # (queue, sequence)
PlaceKey = tuple[int, int, int, int]  # (queue, run, at_ms, sequence)
TwinKey = tuple[int, bytes]  # (queue, match_key)

_INSERT_EVENT = "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"
_SET_HOME = "UPDATE journal SET home = ? WHERE sequence = ?"
_DELETE_EVENT = "DELETE FROM journal WHERE sequence = ?"
_PUT_MESSAGE = "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE_MESSAGE = "DELETE FROM messages WHERE queue = ? AND sequence = ?"
_PUT_CLAIM = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)"
_DELETE_CLAIM = "DELETE FROM claims WHERE queue = ? AND sequence = ?"
_PUT_PLACE = "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)"
_DELETE_PLACE = "DELETE FROM places WHERE queue = ? AND kind = ? AND at_ms = ? AND sequence = ?"
_PUT_TWIN = "INSERT OR REPLACE INTO twins VALUES (?, ?, ?)"
_DELETE_TWIN = "DELETE FROM twins WHERE queue = ? AND match_key = ?"
_SET_TALLY = """
    UPDATE queues SET ready = ?, delayed = ?, claimed = ?, dead = ?, copies = ? WHERE number = ?
"""


class Ledger:
    """Rows to be written."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.messages: dict[int, Message | None] = {}  # by sequence; None: deleted
        self.deleted: list[RowKey] = []
        self.claims: dict[RowKey, Message | None] = {}
        self.places: dict[PlaceKey, bool] = {}
        self.twins: dict[TwinKey, MessageId | None] = {}
        self.homes: dict[int, int] = {}  # by sequence: the queue that a message was moved to
        self.spent_bodies: list[tuple[int]] = []  # publishes kept past trimming whose message has ended
        self.shelves: set[Shelf] = set()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write. Every change comes with its event, but for spent bodies."""
        return not self.events and not self.spent_bodies

    def write(self, connection: apsw.Connection) -> None:
        """Bring the file up to date, within the transaction that is open."""
        many = connection.executemany
        many(_INSERT_EVENT, self.events)
        self.events.clear()
        if self.homes:
            many(_SET_HOME, [(home, sequence) for sequence, home in self.homes.items()])
            self.homes.clear()
        if self.deleted:
            many(_DELETE_MESSAGE, self.deleted)
            self.deleted.clear()
        if self.messages:
            many(_PUT_MESSAGE, [_message_row(m) for m in self.messages.values() if m is not None])
            self.messages.clear()
        self._write_claims(connection)
        self._write_places(connection)
        self._write_twins(connection)
        if self.spent_bodies:
            many(_DELETE_EVENT, self.spent_bodies)
            self.spent_bodies.clear()
        if self.shelves:
            many(_SET_TALLY, [(*shelf.tally, shelf.queue.number) for shelf in self.shelves])
            self.shelves.clear()

    def _write_claims(self, connection: apsw.Connection) -> None:
        if not self.claims:
            return
        ended = [key for key, message in self.claims.items() if message is None]
        begun = [_claim_row(message) for message in self.claims.values() if message is not None]
        connection.executemany(_DELETE_CLAIM, ended)
        connection.executemany(_PUT_CLAIM, begun)
        self.claims.clear()

    def _write_places(self, connection: apsw.Connection) -> None:
        if not self.places:
            return
        connection.executemany(_DELETE_PLACE, [key for key, is_there in self.places.items() if not is_there])
        connection.executemany(_PUT_PLACE, [key for key, is_there in self.places.items() if is_there])
        self.places.clear()

    def _write_twins(self, connection: apsw.Connection) -> None:
        if not self.twins:
            return
        gone = [key for key, message_id in self.twins.items() if message_id is None]
        standing = [(*key, message_id) for key, message_id in self.twins.items() if message_id is not None]
        connection.executemany(_DELETE_TWIN, gone)
        connection.executemany(_PUT_TWIN, standing)
        self.twins.clear()


def _message_row(message: Message) -> tuple[object, ...]:
    is_in_order = message.phase is Phase.READY and message.at_ms == message.published_at_ms
    return (
        message.queue.number,
        message.sequence,
        message.id,
        message.phase,
        None if is_in_order else message.at_ms,
        message.size,
        message.expires_at_ms,
        message.tries,
        message.tries_used,
        message.attempt,
        message.match_key,
    )


def _claim_row(message: Message) -> tuple[object, ...]:
    return (
        message.queue.number,
        message.sequence,
        message.at_ms,
        message.tries_used,
        message.attempt,
        message.is_last_receive,
    )
