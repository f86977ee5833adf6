"""What only a file can do: be owned, be foreign, and be read beside its writer."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from threading import Thread

import apsw
import pytest

from penstock.core.errors import StoreBusy, StoreError, StoreFailed, StoreTooNew
from penstock.core.events import QueueCreated
from penstock.core.limits import DELIVERED_BYTES_MAX
from penstock.core.model import Settings
from penstock.journal.records import to_row
from penstock.stores.sqlite import SqliteStore
from tests.stores.bench import OTHER
from tests.stores.files import Open
from tests.stores.folding import records_of

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


def test_a_piece_of_the_journal_is_bounded_by_the_bodies_in_it(open_bench: Open) -> None:
    bench = open_bench()
    for _ in range(10):
        bench.publish(*["x" * 1_000_000] * 4)
    pieces = bench.store.journal_reader().records(0, 100)
    sizes = [sum(len(to_row(record.event).body or b"") for record in piece) for piece in pieces]
    assert sum(sizes) == 40_000_000
    assert max(sizes) <= DELIVERED_BYTES_MAX


# Memory


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
