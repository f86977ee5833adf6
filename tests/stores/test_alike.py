"""The same commands at the same moments, done on the memory store and on the file: nothing may differ.

Random commands on a few queues, with the clock moved forward and back and the file closed and opened again
in between, or copied and opened as a crash would leave it.

More examples: `PENSTOCK_EXAMPLES=5000 pytest tests/stores/test_alike.py`, with a new seed each time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from penstock.core import limits
from penstock.core.commands import (
    Command,
    CreateQueue,
    DescribeMove,
    Inspect,
    Republish,
)
from penstock.core.model import Content, Phase, Settings
from penstock.core.outcomes import Delivered, Delivery, MoveShown, Outcome
from penstock.stores.sqlite import window
from tests.engine.driving import lasting_id
from tests.stores.random_commands import NAMES, Lots
from tests.stores.twins import Twins

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "0"))
BOUNDED = settings(
    max_examples=EXAMPLES or 60,
    stateful_step_count=60,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
# Commits are real; where there is a file system in memory, at least their syncs take no time.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108

NEVER_HANDED_OUT = Delivery(lasting_id(0, 1), NAMES[0], Content(b""), Phase.READY, 0, 0, None, None, 0, 0)

# A seed rather than a strategy for each field: hypothesis prefers simple values, and among simple commands
# hardly any message is redriven or collapsed. Steps that a failure does not need are left out all the same.
lots = st.integers(0, 2**64 - 1).map(Lots)


class Alike(RuleBasedStateMachine):
    """A client of both stores that remembers what it was told."""

    directory: Path  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.stores = Twins(self.directory)
        self.handed_out = [NEVER_HANDED_OUT]
        self.reference = "unknown"
        self.do(*[CreateQueue(name, Settings(100, collapse=name.namespace == "dedup")) for name in NAMES])

    def teardown(self) -> None:
        self.stores.close()

    def do(self, *commands: Command) -> None:
        for command in commands:
            note(f"  {command}")
        self.remember(self.stores.ask(*commands))

    def remember(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Delivered):
                self.handed_out += outcome.messages
            elif isinstance(outcome, MoveShown):
                self.reference = outcome.move.reference

    @rule(lots=lots)
    def publish(self, lots: Lots) -> None:
        self.do(lots.publish())

    @rule(lots=lots)
    def claim(self, lots: Lots) -> None:
        self.do(lots.claim())

    @rule(lots=lots)
    def do_several_in_one_batch(self, lots: Lots) -> None:
        self.do(*[lots.command() for _ in range(lots.one_of([2, 3, 6]))])

    @rule(lots=lots)
    def answer(self, lots: Lots) -> None:
        self.do(lots.answer(lots.some(self.handed_out)))

    @rule(lots=lots)
    def republish(self, lots: Lots) -> None:
        (old, *_) = lots.some(self.handed_out)
        self.do(Inspect(old.queue, old.id), Republish(old.queue, old.id, lots.draft()))

    @rule(lots=lots)
    def administer(self, lots: Lots) -> None:
        self.do(lots.administer(), DescribeMove(self.reference))

    @rule(milliseconds=st.sampled_from([10, 100, 1000]))
    def let_time_pass(self, milliseconds: int) -> None:
        self.remember(self.stores.advance(milliseconds))

    @rule(milliseconds=st.sampled_from([10, 10, 100, 100, -1000, 100_000]))
    def set_the_clock(self, milliseconds: int) -> None:
        self.remember(self.stores.step_clock(milliseconds))

    @rule(lots=lots)
    def restart(self, lots: Lots) -> None:
        if lots.one_of([True, False]):
            self.stores.reopen()
        else:
            self.stores.crash(lots.command())


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else tmp_path
    monkeypatch.setattr(Alike, "directory", directory, raising=False)


def test_the_file_and_the_memory_store_behave_alike() -> None:
    run_state_machine_as_test(Alike, settings=BOUNDED)


def test_they_behave_alike_where_everything_is_done_in_small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows and slices of a few messages, their edges are met all the time."""
    for limit, number in {"SLICE": 3, "ENTRIES_MAX": 5, "ENTRIES_FILLED": 2}.items():
        for module in [m for name, m in sys.modules.items() if name.startswith("penstock.")]:
            if hasattr(module, limit):
                monkeypatch.setattr(module, limit, number)
    assert (limits.SLICE, window.ENTRIES_MAX, window.ENTRIES_FILLED) == (3, 5, 2)
    run_state_machine_as_test(Alike, settings=BOUNDED)
