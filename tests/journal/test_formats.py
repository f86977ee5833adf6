"""The journal as it is served: two formats with the same lines, and a gap where lines are missing."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core import events as ev
from penstock.core.ids import to_uuid
from penstock.core.model import Content, Phase
from penstock.core.record import Record
from penstock.journal.formats import ARROW_STREAM, COLUMNS, JSON_LINES, JournalPages, Line, arrow_schema
from penstock.journal.records import KINDS, to_row
from tests.journal.written import ID, VERSION_1, any_events, records_of

EVERY_KIND = records_of([event for event, _ in VERSION_1])
ACKNOWLEDGED: list[ev.Event] = [ev.MessageAcknowledged(1, ID, 1)]


class ListReader:
    """A journal in a list, in pieces of a given size."""

    def __init__(self, records: Sequence[Record], trimmed_to: int = 0, piece: int = 2) -> None:
        self._records = [record for record in records if record.sequence > trimmed_to]
        self._bounds = trimmed_to, records[-1].sequence if records else trimmed_to
        self._piece = piece

    def bounds(self) -> tuple[int, int]:
        return self._bounds

    def records(self, after: int, limit: int) -> Iterator[Sequence[Record]]:
        found = [record for record in self._records if record.sequence > after][:limit]
        for start in range(0, len(found), self._piece):
            yield found[start : start + self._piece]


def json_lines(pages: JournalPages, after: int = 0, limit: int = 1000) -> list[dict[str, object]]:
    content_type, pieces = pages.stream(after, limit, as_arrow=False)
    assert content_type == JSON_LINES == "application/x-ndjson"
    return [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]


def arrow_table(pages: JournalPages, after: int = 0, limit: int = 1000) -> pa.Table:
    content_type, pieces = pages.stream(after, limit, as_arrow=True)
    assert content_type == ARROW_STREAM == "application/vnd.apache.arrow.stream"
    return pa.ipc.open_stream(io.BytesIO(b"".join(pieces))).read_all()


def numbers(lines: list[dict[str, object]]) -> list[object]:
    return [line["sequence"] for line in lines]


# Lines


def test_a_line_has_every_column_in_order() -> None:
    (line,) = json_lines(JournalPages(ListReader(records_of(ACKNOWLEDGED))))
    assert list(line) == list(COLUMNS)
    assert list(Line.__struct_fields__) == list(COLUMNS)


def test_a_publish_says_everything_about_its_message() -> None:
    content = Content(b"\x00\xff", "image/png")
    record = records_of([ev.MessagePublished(4, ID, content, Phase.DELAYED, 1500, 9000)])
    (line,) = json_lines(JournalPages(ListReader(record)))
    assert line == {
        "sequence": 1,
        "at_ms": 1001,
        "event": "published",
        "namespace": "default",
        "queue": "q",
        "queue_number": 4,
        "message_id": to_uuid(ID),
        "attempt": 0,
        "reason": None,
        "dialect": "mqs",
        "size": 2,
        "content_type": "image/png",
        "until_ms": 1500,
        "detail": '{"phase":1,"expires_at_ms":9000}',
        "body": "AP8=",
    }


def test_what_nobody_asked_for_has_no_dialect_and_what_has_no_message_no_id() -> None:
    records = records_of([ev.QueueDeleted(4), ev.QueueDeleted(5)])
    lines = json_lines(JournalPages(ListReader(records)))
    assert [line["dialect"] for line in lines] == ["mqs", None]
    assert {line["message_id"] for line in lines} == {None}


def test_every_kind_has_its_name() -> None:
    lines = json_lines(JournalPages(ListReader(EVERY_KIND)))
    assert [line["event"] for line in lines] == [KINDS[to_row(event).kind] for event, _ in VERSION_1]
    assert {line["event"] for line in lines} == set(KINDS.values())


@given(st.lists(any_events, max_size=7), st.integers(1, 3), st.integers(0, 4))
def test_both_formats_hold_the_same_lines(events: list[ev.Event], piece: int, trimmed_to: int) -> None:
    pages = JournalPages(ListReader(records_of(events), min(trimmed_to, len(events)), piece))
    from_json = json_lines(pages)
    for line in from_json:
        if line["body"] is not None:
            line["body"] = base64.b64decode(str(line["body"]))
    assert arrow_table(pages).to_pylist() == from_json


# Arrow


def test_the_arrow_schema_is_the_one_that_is_written_out() -> None:
    schema = arrow_table(JournalPages(ListReader(EVERY_KIND))).schema
    assert schema.equals(arrow_schema(), check_metadata=True)
    assert schema.metadata == {b"penstock.journal.version": b"1"}
    assert {field.name: str(field.type) for field in schema} == COLUMNS
    assert [field.name for field in schema if not field.nullable] == ["sequence", "event"]


def test_each_piece_is_one_record_batch() -> None:
    pages = JournalPages(ListReader(EVERY_KIND[:5], piece=2))
    _, pieces = pages.stream(0, 100, as_arrow=True)
    batches = list(pa.ipc.open_stream(io.BytesIO(b"".join(pieces))))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]


def test_arrow_is_not_loaded_before_somebody_asks_for_it() -> None:
    program = "import sys, penstock.journal.formats; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# What is read


def test_an_empty_journal_has_no_lines_but_a_schema() -> None:
    pages = JournalPages(ListReader([]))
    assert json_lines(pages) == []
    table = arrow_table(pages)
    assert table.num_rows == 0
    assert table.schema.equals(arrow_schema())


@pytest.mark.parametrize(
    ("after", "limit", "read"),
    [(0, 3, [1, 2, 3]), (2, 3, [3, 4, 5]), (17, 9, [18, 19]), (19, 9, []), (99, 9, [])],
)
def test_reading_begins_after_a_number_and_ends_at_the_limit(after: int, limit: int, read: list[int]) -> None:
    pages = JournalPages(ListReader(EVERY_KIND))
    assert len(EVERY_KIND) == 19
    assert numbers(json_lines(pages, after, limit)) == read
    assert arrow_table(pages, after, limit)["sequence"].to_pylist() == read


def test_nothing_is_read_before_it_is_asked_for() -> None:
    _, pieces = JournalPages(ListReader(EVERY_KIND, piece=1)).stream(0, 100, as_arrow=False)
    assert next(pieces).count(b"\n") == 1
    assert next(pieces).count(b"\n") == 1


# Gaps


def gap(sequence: int, first: int) -> dict[str, object]:
    nothing: dict[str, object] = dict.fromkeys(COLUMNS)
    said = {"sequence": sequence, "event": "gap", "reason": "trimmed"}
    return nothing | said | {"detail": f'{{"first":{first},"last":{sequence}}}'}


def test_what_was_trimmed_before_it_was_read_is_a_gap() -> None:
    lines = json_lines(JournalPages(ListReader(EVERY_KIND, trimmed_to=15)), after=4)
    assert lines[0] == gap(15, first=5)
    assert numbers(lines[1:]) == [16, 17, 18, 19]


def test_a_gap_comes_on_top_of_the_limit() -> None:
    pages = JournalPages(ListReader(EVERY_KIND, trimmed_to=15))
    assert numbers(json_lines(pages, after=4, limit=1)) == [15, 16]
    assert numbers(json_lines(pages, after=16, limit=1)) == [17]


def test_who_has_read_as_far_as_was_trimmed_misses_nothing() -> None:
    pages = JournalPages(ListReader(EVERY_KIND, trimmed_to=15))
    assert numbers(json_lines(pages, after=15)) == [16, 17, 18, 19]


def test_where_everything_was_trimmed_there_is_a_gap_alone() -> None:
    pages = JournalPages(ListReader(EVERY_KIND, trimmed_to=19))
    assert json_lines(pages) == [gap(19, first=1)]
    assert arrow_table(pages).num_rows == 1


def test_what_is_trimmed_while_it_is_read_is_a_gap_too() -> None:
    reader = ListReader([*EVERY_KIND[:3], *EVERY_KIND[6:8]], piece=10)
    lines = json_lines(JournalPages(reader))
    assert numbers(lines) == [1, 2, 3, 6, 7, 8]
    assert lines[3] == gap(6, first=4)


def test_what_is_trimmed_between_two_pieces_is_a_gap_too() -> None:
    reader = ListReader([*EVERY_KIND[:2], *EVERY_KIND[6:8]], piece=2)
    assert numbers(json_lines(JournalPages(reader))) == [1, 2, 6, 7, 8]


# The range


@pytest.mark.parametrize(
    ("reader", "latest"),
    [
        (ListReader([]), b'{"first":1,"last":0,"trimmed_to":0,"version":1}'),
        (ListReader(EVERY_KIND), b'{"first":1,"last":19,"trimmed_to":0,"version":1}'),
        (ListReader(EVERY_KIND, 15), b'{"first":16,"last":19,"trimmed_to":15,"version":1}'),
        (ListReader(EVERY_KIND, 19), b'{"first":20,"last":19,"trimmed_to":19,"version":1}'),
    ],
    ids=["empty", "whole", "trimmed", "trimmed away"],
)
def test_the_range_says_what_can_be_read(reader: ListReader, latest: bytes) -> None:
    assert JournalPages(reader).latest() == latest
