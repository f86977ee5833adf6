"""What only a file can do: be owned, be foreign, be trimmed, and be read beside its writer."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import apsw
import msgspec
import pytest

from penstock.core.commands import Acknowledge, Claim, CreateQueue, DeleteQueue, StartMove
from penstock.core.errors import StoreBusy, StoreError, StoreFailed, StoreTooNew
from penstock.core.events import MessagePurged, QueueCreated
from penstock.core.limits import SLICE
from penstock.core.model import Counts, Settings
from penstock.journal.formats import JournalPages
from penstock.stores.sqlite import JournalLimits, SqliteStore
from tests.stores.bench import OTHER, Bench, Q
from tests.stores.folding import records_of

HOUR_MS = 3_600_000
KEPT_FOR_AN_HOUR = JournalLimits(age_ms_max=HOUR_MS)
Open = Callable[..., Bench]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "penstock.db"


@pytest.fixture
def open_bench(path: Path) -> Iterator[Open]:
    """Open the file, or close it and open it again."""
    benches: list[Bench] = []

    def open_again(journal: JournalLimits = KEPT_FOR_AN_HOUR) -> Bench:
        wall_ms = [benches[-1].wall_ms] if benches else []
        if benches:
            benches.pop().store.close()
        benches.append(Bench(SqliteStore.open(path, journal), *wall_ms))
        return benches[-1]

    yield open_again
    for bench in benches:
        bench.store.check()
        bench.store.close()


# Who may open it


def test_a_file_in_use_is_refused_with_the_process_that_uses_it(path: Path) -> None:
    store = SqliteStore.open(path)
    with pytest.raises(StoreBusy, match=f"process {os.getpid()}") as refusal:
        SqliteStore.open(path)
    assert "--data" in refusal.value.hint
    store.close()
    SqliteStore.open(path).close()


def test_a_file_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreTooNew, match="is not a Penstock file"):
        SqliteStore.open(path)
    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    connection.close()


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be taken for one" * 50)
    with pytest.raises(StoreFailed, match="cannot open"):
        SqliteStore.open(path)


def test_a_file_of_a_later_version_is_refused(path: Path) -> None:
    SqliteStore.open(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreTooNew, match="has format 99"):
        SqliteStore.open(path)


def test_a_refused_file_is_not_held_on_to(path: Path) -> None:
    path.write_bytes(b"x" * 5000)
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot open"):
            SqliteStore.open(path)
    path.unlink()
    SqliteStore.open(path).close()


def test_an_empty_file_is_as_good_as_none(path: Path) -> None:
    path.touch()
    SqliteStore.open(path).close()


# Reading beside the writer


def test_a_reader_sees_nothing_before_its_commit(open_bench: Open) -> None:
    bench = open_bench()
    bench.create()
    reader = bench.store.journal_reader()
    bench.store.apply([QueueCreated(2, OTHER, Settings())], bench.wall_ms, "")
    bench.store.all_messages()  # brings the file up to date, within the transaction
    assert reader.bounds() == (0, 1)
    assert len(records_of(bench.store)) == 1
    bench.store.commit()
    assert reader.bounds() == (0, 2)
    assert len(records_of(bench.store)) == 2


def test_the_journal_can_be_read_in_another_thread_while_it_grows(open_bench: Open) -> None:
    bench = open_bench()
    bench.create()
    read: list[int] = []

    def follow() -> None:
        reader = bench.store.journal_reader()
        while len(read) < 1001:
            after = read[-1] if read else 0
            read.extend(record.sequence for piece in reader.records(after, 300) for record in piece)

    reading = Thread(target=follow)
    reading.start()
    for _ in range(100):
        bench.publish(*["x"] * 10)
    reading.join(timeout=30)
    assert read == list(range(1, 1002))


# Trimming


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


def test_memory_does_not_grow_with_the_backlog(open_bench: Open) -> None:
    bench = open_bench()

    def publish_thousands(count: int) -> None:
        for _ in range(5 * count):
            bench.publish(*["x" * 100] * 200, delay_ms=5000)
            bench.publish(*["x" * 100] * 200, ttl_ms=50_000)

    publish_thousands(2)  # fills every window
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        publish_thousands(4)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown / 8000 < 10, "bytes for each message that waits"
