"""The same commands at the same moments, done on the memory store and on the file: nothing may differ.

Random commands on a few queues, with the clock moved forward and back and the file closed and opened again
in between, or copied and opened as a crash would leave it. Ids are made from the journal's numbers, so that
both stores give out the same.

More examples: `PENSTOCK_EXAMPLES=5000 pytest tests/stores/test_alike.py`, with a new seed each time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from penstock.core import administration, answering, claiming, rules
from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeMove,
    DescribeQueue,
    Draft,
    DropDead,
    IfMissing,
    Inspect,
    ListQueues,
    Peek,
    Publish,
    PublishAll,
    Purge,
    ReleaseAll,
    Renew,
    Republish,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.ids import MessageId
from penstock.core.model import DEDUP_NAMESPACE, Content, Phase, QueueName, Redrive, Settings
from penstock.core.outcomes import Delivered, MoveShown, Outcome, Published, PublishedAll
from penstock.core.record import Record
from penstock.stores.memory import MemoryStore
from penstock.stores.sqlite import SqliteStore, window
from penstock.stores.sqlite import store as sqlite_store
from tests.engine.driving import Driver, Inbox, lasting_id
from tests.stores.folding import contents, fold, records_of

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "0"))
FEW = settings(
    max_examples=EXAMPLES or 60,
    stateful_step_count=60,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Stage.generate, *([Stage.shrink] if os.environ.get("SHRINK") else [])],
    deadline=None,
)

NAMES = [
    QueueName("default", "a"),
    QueueName("default", "b"),
    QueueName("default", "dead"),
    QueueName("dedup", "a"),
    QueueName("dedup", "dead"),
    QueueName("elsewhere", "a"),
]
# Clocks and spans share few values, so that many things fall due in the same millisecond.
SPANS_MS = [0, 1, 10, 100, 1000]

names = st.sampled_from(NAMES)
spans_ms = st.sampled_from(SPANS_MS)
maybe_ms = st.none() | spans_ms
attempts = st.none() | st.integers(0, 3)
phases = st.lists(st.sampled_from(Phase), min_size=1, max_size=5, unique=True).map(tuple)
bodies = st.sampled_from([b"1", b" 1", b"2", b"{}", b"\xff", b""])
contents_sent = st.builds(
    Content,
    bodies,
    st.sampled_from(["application/octet-stream", "text/plain"]),
    st.none() | st.just("gzip"),
    st.none() | st.just("trace"),
)
drafts = st.builds(
    Draft, contents_sent, maybe_ms, st.none() | st.sampled_from([10, 1000]), st.none() | st.integers(1, 2)
)
redrives = st.builds(Redrive, st.integers(1, 2), st.sampled_from(["a", "b", "dead"]))
settings_given = st.builds(
    Settings,
    visibility_ms=st.sampled_from([10, 100, 30_000]),
    delay_ms=st.sampled_from([0, 0, 10]),
    retention_ms=st.none() | st.sampled_from([10, 1000]),
    deduplicate=st.booleans(),
    collapse=st.booleans(),
    redrive=st.none() | redrives,
)
publishes = st.builds(
    Publish,
    names,
    st.lists(drafts, min_size=1, max_size=4).map(tuple),
    st.sampled_from([IfMissing.CREATE, IfMissing.CREATE, IfMissing.REFUSE]),
    st.none() | st.sampled_from(["k", "l"]),
    st.sampled_from(["mqs", "lmstfy"]),
)
claims = st.builds(
    Claim,
    st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
    st.integers(1, 5),
    maybe_ms,
    st.sampled_from([0, 0, 50]),
    st.sampled_from([IfMissing.EMPTY, IfMissing.REFUSE]),
    st.booleans(),
)
looks = (
    st.builds(Peek, names, st.integers(1, 9), phases)
    | st.builds(DescribeQueue, names, st.booleans())
    | st.builds(
        ListQueues, names.map(lambda name: name.namespace), st.integers(0, 2), st.none() | st.integers(0, 2)
    )
)
changes_of_queues = (
    st.builds(CreateQueue, names, settings_given, st.booleans())
    | st.builds(UpdateQueue, names, settings_given)
    | st.builds(UpdateQueue, names, settings_given)
    | st.builds(DeleteQueue, names)
)
sweeps = (
    st.builds(Purge, names, phases)
    | st.builds(DropDead, names, st.integers(1, 9))
    | st.builds(Respawn, names, st.integers(1, 9), st.none() | st.just(100))
    | st.builds(ReleaseAll, names)
    | st.builds(StartMove, names, names)
)
picks = st.lists(st.integers(0, 30), min_size=1, max_size=3)  # of the ids given out, the newest first


class Alike(RuleBasedStateMachine):
    """Two engines over two stores."""

    directory: Path  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.memory = Driver(MemoryStore())
        self.path = self.new_path()
        self.sqlite = Driver(SqliteStore.open(self.path))
        self.ids: list[MessageId] = []
        self.references = ["unknown"]
        self.compared_to = 0
        self.waiting: list[tuple[Inbox, Inbox]] = []
        for name in NAMES:
            self.both(CreateQueue(name, Settings(collapse=name.namespace == DEDUP_NAMESPACE)))

    def new_path(self) -> Path:
        return Path(mkdtemp(dir=self.directory)) / "penstock.db"

    def teardown(self) -> None:
        try:
            self.compare_contents()
        finally:
            self.sqlite.store.close()
            shutil.rmtree(self.path.parent)

    # What is done

    def both(self, command: Command) -> None:
        """Do a command on both stores and compare all that comes of it."""
        self.waiting.append((self.memory.submit(command), self.sqlite.submit(command)))
        self.settle()

    def settle(self) -> None:
        self.memory.settle()
        self.sqlite.settle()
        self.compare_answers()
        self.compare_journals()

    def picked(self, picks: Sequence[int]) -> tuple[MessageId, ...]:
        if not self.ids:
            return (lasting_id(0, 1),)
        return tuple(self.ids[-1 - pick % len(self.ids)] for pick in picks)

    @rule(command=publishes | st.lists(publishes, min_size=1, max_size=3).map(tuple).map(PublishAll))
    def publish(self, command: Command) -> None:
        self.both(command)

    @rule(name=names, picks=picks, draft=drafts)
    def republish(self, name: QueueName, picks: list[int], draft: Draft) -> None:
        self.both(Republish(name, self.picked(picks)[0], draft))

    @rule(command=claims)
    def claim(self, command: Claim) -> None:
        self.both(command)

    @rule(name=names, picks=picks, attempt=attempts, is_named=st.booleans())
    def acknowledge(self, name: QueueName, picks: list[int], attempt: int | None, *, is_named: bool) -> None:
        self.both(Acknowledge(name.namespace, name.name if is_named else None, self.picked(picks), attempt))

    @rule(name=names, picks=picks, attempt=attempts, hidden_ms=spans_ms)
    def renew(self, name: QueueName, picks: list[int], attempt: int | None, hidden_ms: int) -> None:
        self.both(Renew(name, self.picked(picks), hidden_ms, attempt))

    @rule(command=looks)
    def look(self, command: Command) -> None:
        self.both(command)

    @rule(name=names, picks=picks)
    def look_at_one(self, name: QueueName, picks: list[int]) -> None:
        self.both(Inspect(name, self.picked(picks)[0]))
        self.both(DescribeMove(self.references[-1 - picks[0] % len(self.references)]))

    @rule(command=changes_of_queues)
    def change_a_queue(self, command: Command) -> None:
        self.both(command)

    @rule(command=sweeps)
    def sweep(self, command: Command) -> None:
        self.both(command)

    @rule(commands=st.lists(publishes | claims | st.builds(DeleteQueue, names), min_size=2, max_size=6))
    def do_several_in_one_batch(self, commands: list[Command]) -> None:
        self.waiting += [(self.memory.submit(command), self.sqlite.submit(command)) for command in commands]
        self.settle()

    @rule(milliseconds=spans_ms)
    def let_time_pass(self, milliseconds: int) -> None:
        self.memory.advance(milliseconds)
        self.sqlite.advance(milliseconds)
        self.settle()

    @rule(milliseconds=st.sampled_from([-1000, -10, 10, 1000, 100_000]))
    def step_the_clock(self, milliseconds: int) -> None:
        self.memory.jump(milliseconds)
        self.sqlite.jump(milliseconds)
        self.settle()

    # Stopping and starting

    @rule()
    def close_and_open(self) -> None:
        assert isinstance(self.sqlite.store, SqliteStore)
        self.compare_contents()
        self.sqlite.store.close()
        self.start_over(SqliteStore.open(self.path))

    @rule(command=publishes | claims)
    def crash_with_something_not_committed(self, command: Command) -> None:
        """Open a copy of the files, as a killed process leaves them."""
        store = self.sqlite.store
        _, events = rules.decide(store, command, self.sqlite.engine.now_ms(), lasting_id)
        store.apply(events, self.sqlite.engine.now_ms(), "")
        store.all_messages()  # writes what was applied, so that there is something to roll back
        path = self.new_path()
        for file in self.path.parent.iterdir():
            shutil.copy(file, path.parent)
        store.close()
        shutil.rmtree(self.path.parent)
        self.path = path
        self.start_over(SqliteStore.open(path))

    def start_over(self, store: SqliteStore) -> None:
        """Whoever waited is gone with the process."""
        wall_ms = self.memory.wall_ms
        self.waiting.clear()
        self.memory = Driver(self.memory.store, wall_ms)
        self.sqlite = Driver(store, wall_ms)
        self.settle()
        self.compare_contents()

    # What is compared

    def compare_answers(self) -> None:
        still_waiting = []
        for in_memory, in_sqlite in self.waiting:
            assert in_memory.outcome == in_sqlite.outcome
            if in_memory.outcome is None:
                still_waiting.append((in_memory, in_sqlite))
            else:
                self.remember(in_memory.outcome)
        self.waiting = still_waiting

    def remember(self, outcome: Outcome) -> None:
        match outcome:
            case Published():
                self.ids += [receipt.id for receipt in outcome.receipts]
            case PublishedAll():
                self.ids += [receipt.id for part in outcome.parts for receipt in part.receipts]
            case Delivered():
                self.ids += [delivery.id for delivery in outcome.messages]
            case MoveShown():
                self.references.append(outcome.move.reference)
            case _:
                pass

    def compare_journals(self) -> None:
        """What happened since the last look is the same, if perhaps in another order within a moment."""
        in_memory = self.new_records(self.memory)
        assert in_memory == self.new_records(self.sqlite)
        self.compared_to = self.memory.store.last_sequence

    def new_records(self, driver: Driver) -> list[str]:
        pieces = driver.store.journal_reader().records(self.compared_to, 1_000_000)
        return sorted(_without_number(record) for piece in pieces for record in piece)

    def compare_contents(self) -> None:
        """Everything is the same. Not after each step: to look at everything fills the file's windows."""
        records = records_of(self.sqlite.store)
        in_sqlite = contents(self.sqlite.store, records)
        assert in_sqlite == contents(self.memory.store, records)
        assert in_sqlite == contents(fold(records), records)
        self.sqlite.store.check()
        self.memory.store.check()


def _without_number(record: Record) -> str:
    return repr((record.at_ms, record.dialect, record.queue_name, record.event))


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Alike, "directory", tmp_path, raising=False)


def test_the_file_and_the_memory_store_behave_alike() -> None:
    run_state_machine_as_test(Alike, settings=FEW)


def test_they_behave_alike_where_everything_is_done_in_small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows and slices of a few messages, their edges are met all the time."""
    for room in (administration, answering, claiming, rules):
        monkeypatch.setattr(room, "SLICE", 3)
    monkeypatch.setattr(window, "ENTRIES_MAX", 5)
    monkeypatch.setattr(window, "ENTRIES_FILLED", 2)
    monkeypatch.setattr(sqlite_store, "ENTRIES_FILLED", 2)
    run_state_machine_as_test(Alike, settings=FEW)
