"""The file forgets old events, but nothing that is still needed."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from penstock.core.commands import Acknowledge, Claim, CreateQueue, DeleteQueue, StartMove
from penstock.core.events import MessagePurged
from penstock.core.limits import SLICE
from penstock.core.model import Counts, Settings
from penstock.journal.formats import JournalPages
from penstock.stores.sqlite import JournalLimits
from tests.stores.bench import OTHER, Q
from tests.stores.files import HOUR_MS, Open
from tests.stores.folding import records_of


def test_events_past_their_age_are_forgotten(open_bench: Open) -> None:
    bench = open_bench()
    bench.publish("old")
    bench.claim(hidden_ms=10)
    bench.advance(HOUR_MS)
    bench.publish("new")
    bench.advance(1000)
    reader = bench.store.journal_reader()
    trimmed_to, last = reader.bounds()
    assert trimmed_to == 4
    assert [record.sequence for record in records_of(bench.store)] == list(range(5, last + 1))


def test_the_body_of_a_living_message_outlives_its_event(open_bench: Open) -> None:
    bench = open_bench()
    ids = bench.publish("ready", "claimed", "moved", "acknowledged", "delayed")
    bench.publish("dead", tries=1)
    bench.move(Q, OTHER)
    bench.ask(Acknowledge("default", None, (ids[3],)))
    bench.jump(3 * HOUR_MS)
    assert records_of(bench.store) == []
    bench = open_bench()
    assert sorted(bench.claimed_bodies(OTHER)) == ["claimed", "dead", "delayed", "moved", "ready"]


def test_a_body_is_gone_with_its_message_once_its_event_is_forgotten(open_bench: Open, path: Path) -> None:
    bench = open_bench()
    (message_id,) = bench.publish("body")
    bench.jump(3 * HOUR_MS)
    bench.ask(Acknowledge("default", "q", (message_id,)))
    bench.jump(3 * HOUR_MS)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("SELECT count(*) FROM journal").fetchone() == (0,)
    connection.close()


def test_the_journal_is_kept_below_its_size(open_bench: Open) -> None:
    bench = open_bench(JournalLimits(bytes_max=100_000))
    for _ in range(50):
        ids = bench.publish("x" * 10_000)
        bench.ask(Acknowledge("default", "q", tuple(ids)))
        bench.advance(1000)
    records = records_of(bench.store)
    assert 10 <= len(records) <= 20
    assert records[-1].sequence == bench.store.last_sequence


def test_more_than_one_slice_is_trimmed_without_waiting(open_bench: Open) -> None:
    bench = open_bench()
    for _ in range(4):
        bench.publish(*["x"] * 500)
    bench.jump(2 * HOUR_MS)
    assert bench.store.journal_reader().bounds() == (2001, 2001)


def test_numbers_and_the_clock_go_on_after_everything_was_trimmed(open_bench: Open) -> None:
    bench = open_bench(JournalLimits(bytes_max=0))
    bench.create()
    bench.ask(DeleteQueue(Q))
    bench.advance(1000)
    assert records_of(bench.store) == []
    moment_ms = bench.engine.now_ms()
    bench.wall_ms -= 500_000
    bench = open_bench()
    assert bench.store.last_sequence == 2
    assert bench.store.last_queue_number == 1
    assert bench.store.last_moment_ms() == moment_ms - 1000
    bench.create()
    assert [record.sequence for record in records_of(bench.store)] == [3]


def test_an_event_of_a_deleted_queue_keeps_its_name_when_the_deletion_is_forgotten(
    open_bench: Open,
) -> None:
    bench = open_bench()
    bench.publish(*["x"] * 3 * SLICE)
    bench.jump(2 * HOUR_MS)
    bench.submit(DeleteQueue(Q))
    bench.engine.run()
    bench.wall_ms += HOUR_MS + 1  # from here on the deletion is old, and the purges are new
    bench.settle()
    records = records_of(bench.store)
    assert [type(record.event) for record in records] == [MessagePurged] * 3 * SLICE
    assert {record.queue_name for record in records} == {Q}


def test_a_queue_deleted_but_not_cleared_survives_trimming_and_a_restart(open_bench: Open) -> None:
    bench = open_bench(JournalLimits(bytes_max=0))
    bench.publish(*["x"] * 3 * SLICE)
    bench.jump(2000)
    bench.submit(DeleteQueue(Q))
    bench.engine.run()
    bench.wall_ms += 2000
    bench.engine.run()  # clears a slice, and forgets the deletion
    assert records_of(bench.store) == []
    bench = open_bench()
    assert len(bench.store.deleted_queues()) == 1
    bench.settle()
    assert list(bench.store.deleted_queues()) == []
    assert bench.store.all_messages() == []


def test_the_name_of_a_deleted_queue_is_forgotten_with_its_last_event(open_bench: Open, path: Path) -> None:
    bench = open_bench()
    bench.publish("x")
    bench.ask(DeleteQueue(Q))
    bench.jump(2 * HOUR_MS)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("SELECT count(*) FROM queues").fetchone() == (0,)
    connection.close()


def test_a_move_under_way_survives_trimming(open_bench: Open) -> None:
    bench = open_bench(JournalLimits(bytes_max=0))
    bench.publish(*["x"] * 3 * SLICE)
    bench.jump(2000)
    bench.submit(StartMove(Q, OTHER))
    bench.engine.run()
    bench.wall_ms += 2000
    bench.engine.run()  # carries a slice, and forgets that the move was started
    assert records_of(bench.store) == []
    bench = open_bench()
    bench.settle()
    assert bench.counts(OTHER) == Counts(ready=3 * SLICE)


def test_a_reader_that_comes_too_late_is_told_of_the_gap(open_bench: Open) -> None:
    bench = open_bench()
    bench.publish("a", "b")
    bench.advance(2 * HOUR_MS)
    bench.ask(Claim((Q,)))
    pages = JournalPages(bench.store.journal_reader())
    assert msgspec.json.decode(pages.latest()) == {"first": 4, "last": 4, "trimmed_to": 3, "version": 1}
    _, pieces = pages.stream(1, 10, as_arrow=False)
    lines = [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]
    assert [(line["event"], line["sequence"]) for line in lines] == [("gap", 3), ("claimed", 4)]
    assert lines[0]["detail"] == '{"first":2,"last":3}'


def test_a_queue_made_anew_after_trimming_has_none_of_the_old_keys(open_bench: Open) -> None:
    bench = open_bench()
    bench.create(settings=Settings(deduplicate=True))
    (old,) = bench.publish("a")
    bench.ask(DeleteQueue(Q))
    bench.jump(3 * HOUR_MS)
    bench = open_bench()
    bench.ask(CreateQueue(Q, Settings(deduplicate=True)))
    assert bench.publish("a") != [old]
