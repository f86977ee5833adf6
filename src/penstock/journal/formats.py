"""The journal as programs read it: JSON lines, or an Arrow IPC stream. Both hold the same flat lines.

Numbers have no holes, so a reader goes on after the last number it saw. Where events were trimmed before
they were read, a line of its own says so: its event is "gap", its number the last one missing. It comes on
top of the limit, so that a read always gets past it.

To change a column: see `docs/journal.md`, which explains each of them to readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from penstock.core.ids import to_uuid
from penstock.core.record import Record
from penstock.core.store import JournalReader
from penstock.journal.records import KINDS, VERSION, to_row

if TYPE_CHECKING:
    import pyarrow as pa

JSON_LINES = "application/x-ndjson"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
GAP = "gap"

# Each column with its Arrow type. `sequence` and `event` are always there, any other may be null.
COLUMNS: dict[str, str] = {
    "sequence": "int64",
    "at_ms": "int64",
    "event": "string",
    "namespace": "string",
    "queue": "string",
    "queue_number": "int64",
    "message_id": "string",
    "attempt": "int64",
    "reason": "string",
    "dialect": "string",
    "size": "int64",
    "content_type": "string",
    "until_ms": "int64",
    "detail": "string",
    "body": "binary",
}
_NEVER_NULL = {"sequence", "event"}
# What ends an Arrow IPC stream: a continuation mark and a length of zero.
_ARROW_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One record of the journal, flat; the fields are the columns."""

    sequence: int
    at_ms: int | None
    event: str
    namespace: str | None = None
    queue: str | None = None
    queue_number: int | None = None
    message_id: str | None = None
    attempt: int | None = None
    reason: str | None = None
    dialect: str | None = None
    size: int | None = None
    content_type: str | None = None
    until_ms: int | None = None
    detail: str | None = None
    body: bytes | None = None


class JournalPages:
    """What the journal's pages answer, from any thread."""

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader

    def latest(self) -> bytes:
        """Which numbers there are, as JSON: `first` is the lowest that can be read, or will be."""
        trimmed_to, last = self._reader.bounds()
        return msgspec.json.encode(
            {"first": trimmed_to + 1, "last": last, "trimmed_to": trimmed_to, "version": VERSION}
        )

    def stream(self, after: int, limit: int, *, as_arrow: bool) -> tuple[str, Iterator[bytes]]:
        """The content type, and piece by piece up to `limit` records with a number above `after`."""
        pieces = self._pieces(after, limit)
        if as_arrow:
            return ARROW_STREAM, _as_arrow(pieces)
        return JSON_LINES, _as_json_lines(pieces)

    def _pieces(self, after: int, limit: int) -> Iterator[list[Line]]:
        trimmed_to, _ = self._reader.bounds()
        if after < trimmed_to:
            yield [_gap(after + 1, trimmed_to)]
            after = trimmed_to
        for records in self._reader.records(after, limit):
            yield list(_lines_without_silence(records, after))
            after = records[-1].sequence


def _lines_without_silence(records: Sequence[Record], after: int) -> Iterator[Line]:
    """The records as lines; a number that is missing was trimmed while this was being read."""
    for record in records:
        if record.sequence > after + 1:
            yield _gap(after + 1, record.sequence - 1)
        after = record.sequence
        yield _line(record)


def _gap(first: int, last: int) -> Line:
    detail = msgspec.json.encode({"first": first, "last": last}).decode()
    return Line(last, None, GAP, reason="trimmed", detail=detail)


def _line(record: Record) -> Line:
    row = to_row(record.event)
    return Line(
        record.sequence,
        record.at_ms,
        KINDS[row.kind],
        record.queue_name.namespace,
        record.queue_name.name,
        row.queue,
        None if row.message is None else to_uuid(row.message),
        row.attempt,
        row.reason,
        record.dialect or None,
        row.size,
        row.content_type,
        row.until_ms,
        None if row.detail is None else row.detail.decode(),
        row.body,
    )


def _as_json_lines(pieces: Iterator[list[Line]]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for lines in pieces:
        yield encoder.encode_lines(lines)


def _as_arrow(pieces: Iterator[list[Line]]) -> Iterator[bytes]:
    """An IPC stream: the schema, one record batch per piece, the end."""
    import pyarrow as pa  # noqa: PLC0415 - 30 MB that a server whose journal nobody reads need not load

    schema = arrow_schema()
    yield schema.serialize().to_pybytes()
    for lines in pieces:
        columns = [
            pa.array(map(attrgetter(field.name), lines), field.type, size=len(lines)) for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema).serialize().to_pybytes()
    yield _ARROW_END


@cache
def arrow_schema() -> pa.Schema:
    """The columns, as Arrow has them."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.schema(
        [
            pa.field(name, pa.type_for_alias(alias), nullable=name not in _NEVER_NULL)
            for name, alias in COLUMNS.items()
        ],
        metadata={"penstock.journal.version": str(VERSION)},
    )
