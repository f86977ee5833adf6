"""The same commands at the same moments, done on the memory store and on the file: nothing may differ.

Random commands on a few queues, with the clock moved forward and back and the file closed and opened again
in between, or copied and opened as a crash would leave it. Ids are made from the journal's numbers, so that
both stores give out the same.

More examples: `PENSTOCK_EXAMPLES=5000 pytest tests/stores/test_alike.py`, with a new seed each time.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from penstock.core import limits, rules
from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DescribeMove,
    Draft,
    Inspect,
    Renew,
    Republish,
)
from penstock.core.ids import MessageId
from penstock.core.model import Content, Phase, Settings
from penstock.core.outcomes import Delivered, Delivery, MoveShown, Outcome
from penstock.core.record import Record
from penstock.stores.memory import MemoryStore
from penstock.stores.sqlite import SqliteStore, window
from tests.engine.driving import Driver, Inbox, lasting_id
from tests.stores.folding import contents, fold, records_of
from tests.stores.random_commands import (
    COLLAPSES,
    NAMES,
    changes_of_queues,
    claims,
    deletions,
    drafts,
    looks,
    publishes,
    publishes_to_several,
    spans_ms,
    sweeps,
)

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

lags = st.sampled_from([None, None, 0, 0, 1])  # how many deliveries behind; None: says no number
picks = st.lists(st.integers(0, 9), min_size=1, max_size=3)  # of what was handed out, the newest first


NEVER_HANDED_OUT = Delivery(lasting_id(0, 1), NAMES[0], Content(b""), Phase.READY, 0, 0, None, None, 0, 0)


def attempt_of(delivery: Delivery, lag: int | None) -> int | None:
    return None if lag is None else delivery.attempt - lag


class Alike(RuleBasedStateMachine):
    """Two engines over two stores."""

    directory: Path  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.memory = Driver(MemoryStore())
        self.path = self.new_path()
        self.sqlite = Driver(SqliteStore.open(self.path))
        self.handed_out = [NEVER_HANDED_OUT]
        self.references = ["unknown"]
        self.compared_to = 0
        self.waiting: list[tuple[Inbox, Inbox]] = []
        for name in NAMES:
            self.both(CreateQueue(name, Settings(collapse=COLLAPSES[name], visibility_ms=100)))

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

    @rule(command=publishes | publishes | publishes_to_several)
    def publish(self, command: Command) -> None:
        self.both(command)

    @rule(command=claims)
    def claim(self, command: Claim) -> None:
        self.both(command)

    @rule(command=claims)
    def claim_again(self, command: Claim) -> None:
        self.both(command)

    @rule(picks=picks, lag=lags, is_named=st.booleans())
    def acknowledge(self, picks: list[int], lag: int | None, *, is_named: bool) -> None:
        first, ids = self.picked(picks)
        queue = first.queue.name if is_named else None
        self.both(Acknowledge(first.queue.namespace, queue, ids, attempt_of(first, lag)))

    @rule(picks=picks, lag=lags, hidden_ms=spans_ms)
    def renew(self, picks: list[int], lag: int | None, hidden_ms: int) -> None:
        first, ids = self.picked(picks)
        self.both(Renew(first.queue, ids, hidden_ms, attempt_of(first, lag)))

    @rule(picks=picks, draft=drafts)
    def republish(self, picks: list[int], draft: Draft) -> None:
        first, _ = self.picked(picks)
        self.both(Republish(first.queue, first.id, draft))

    def picked(self, picks: Sequence[int]) -> tuple[Delivery, tuple[MessageId, ...]]:
        """Some deliveries: the first of them, and the ids of all."""
        deliveries = [self.handed_out[-1 - pick % len(self.handed_out)] for pick in picks]
        return deliveries[0], tuple(delivery.id for delivery in deliveries)

    @rule(command=looks)
    def look(self, command: Command) -> None:
        self.both(command)
        last = self.handed_out[-1]
        self.both(Inspect(last.queue, last.id))
        self.both(DescribeMove(self.references[-1]))

    @rule(command=changes_of_queues)
    def change_a_queue(self, command: Command) -> None:
        self.both(command)

    @rule(command=sweeps)
    def sweep(self, command: Command) -> None:
        self.both(command)

    @rule(commands=st.lists(publishes | claims | deletions, min_size=2, max_size=6))
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
            case Delivered():
                self.handed_out += outcome.messages
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
    for limit, number in {"SLICE": 3, "ENTRIES_MAX": 5, "ENTRIES_FILLED": 2}.items():
        for module in [m for name, m in sys.modules.items() if name.startswith("penstock.")]:
            if hasattr(module, limit):
                monkeypatch.setattr(module, limit, number)
    assert (limits.SLICE, window.ENTRIES_MAX, window.ENTRIES_FILLED) == (3, 5, 2)
    run_state_machine_as_test(Alike, settings=FEW)
