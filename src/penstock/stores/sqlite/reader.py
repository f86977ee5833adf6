"""Reading the journal beside the writer: from any thread, only what is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from penstock.core.errors import StoreError
from penstock.core.model import QueueName
from penstock.core.record import Record
from penstock.journal.records import Row, from_row

# Each piece is a read of its own, so that none holds up a checkpoint for long or fills the memory.
RECORDS_PER_PIECE = 2000
BYTES_PER_PIECE = 16 * 1024 * 1024


class SqliteJournalReader:
    """Opens the file anew for each reading."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def bounds(self) -> tuple[int, int]:
        with self._reading() as connection:
            return _bounds(connection)

    def records(self, after: int, limit: int) -> Iterator[Sequence[Record]]:
        with self._reading() as connection:
            after = max(after, _bounds(connection)[0])
            while limit > 0:
                piece = _piece(connection, after, min(limit, RECORDS_PER_PIECE))
                if not piece:
                    return
                yield piece
                after = piece[-1].sequence
                limit -= len(piece)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        try:
            with closing(apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
                yield connection
        except apsw.Error as exc:
            raise StoreError(f"the journal in {self._path} could not be read: {exc}") from exc


def _bounds(connection: apsw.Connection) -> tuple[int, int]:
    row = connection.execute("SELECT trimmed_to, last_sequence FROM state").fetchone()
    assert row is not None, "the schema puts its one row there"
    trimmed_to, last_sequence = row
    return int(trimmed_to), int(last_sequence)


def _piece(connection: apsw.Connection, after: int, limit: int) -> list[Record]:
    rows = connection.execute(
        """SELECT j.sequence, j.at_ms, j.dialect, q.namespace, q.name, j.kind, j.queue, j.message, j.attempt,
                  j.reason, j.size, j.content_type, j.until_ms, j.detail, j.body
           FROM journal j LEFT JOIN queues q ON q.number = j.queue
           WHERE j.sequence > ? ORDER BY j.sequence LIMIT ?""",
        (after, limit),
    )
    piece: list[Record] = []
    bytes_left = BYTES_PER_PIECE
    for sequence, at_ms, dialect, namespace, name, *columns in rows:
        row = Row(*columns)
        bytes_left -= row.size or 0
        if bytes_left < 0 and piece:
            break
        piece.append(Record(sequence, at_ms, dialect, QueueName(namespace or "", name or ""), from_row(row)))
    return piece
