"""Events are written down and read back without loss, today's and those of every version before."""

from __future__ import annotations

import pytest
from hypothesis import given

from penstock.core import events as ev
from penstock.journal.records import KINDS, VERSION, Row, from_row, to_row
from tests.journal.written import KINDS_OF_EVENT, VERSION_1, any_events

each_of_version_1 = pytest.mark.parametrize(
    ("event", "row"), VERSION_1, ids=[KINDS[row.kind] for _, row in VERSION_1]
)


@given(any_events)
def test_an_event_is_read_back_as_it_was_written(event: ev.Event) -> None:
    assert from_row(to_row(event)) == event


@each_of_version_1
def test_an_event_is_written_as_version_1_has_it(event: ev.Event, row: Row) -> None:
    assert VERSION == 1
    assert to_row(event) == row


@each_of_version_1
def test_a_row_of_version_1_can_be_read(event: ev.Event, row: Row) -> None:
    assert from_row(row) == event


def test_every_kind_of_event_has_a_row_and_a_number_of_its_own() -> None:
    numbers = {type(event): row.kind for event, row in VERSION_1}
    assert set(numbers) == set(KINDS_OF_EVENT)
    assert sorted(numbers.values()) == sorted(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)


@given(any_events)
def test_the_columns_say_what_people_ask_for(event: ev.Event) -> None:
    row = to_row(event)
    assert row.queue == event.queue
    assert row.message == getattr(event, "id", None)
    assert row.reason == (getattr(event, "reason", "") or None)
    content = getattr(event, "content", None)
    assert row.body == (None if content is None else content.body)
    assert row.size == (None if content is None else len(content.body))


@pytest.mark.parametrize("message", [None, b"\x00" * 16])
def test_a_kind_that_is_not_known_is_a_fault(message: bytes | None) -> None:
    with pytest.raises(KeyError):
        from_row(Row(99, 1, message))


def test_a_kind_of_a_message_without_a_message_is_a_fault() -> None:
    with pytest.raises(ValueError, match="a journal row of a queue says 'claimed'"):
        from_row(Row(2, 1))
    with pytest.raises(ValueError, match="a journal row of a message says 'queue deleted'"):
        from_row(Row(22, 1, b"\x00" * 16))
