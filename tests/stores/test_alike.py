"""The same commands at the same moments, done on the memory store and on the file: nothing may differ.

Random commands on a few queues, with the clock moved forward and back and the file closed and opened again
in between, or copied and opened as a crash would leave it. Long walks find what is wrong; the state machine,
which takes the same steps, finds fewer steps that show it.

More of both: `PENSTOCK_EXAMPLES=1000 pytest tests/stores/test_alike.py`, with new seeds each time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from penstock.core import limits
from penstock.stores.sqlite import JournalLimits, window
from tests.stores.random_client import RandomClient
from tests.stores.random_commands import Lots
from tests.stores.twins import Twins

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "0"))
# The last of these once led to a queue in which something was due and that was taken for quiet.
SEEDS = [SystemRandom().getrandbits(32) for _ in range(EXAMPLES)] or [*range(6), 2363158512]
STEPS_OF_A_WALK = 300
BOUNDED = settings(
    max_examples=EXAMPLES or 20,
    stateful_step_count=40,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
# Commits are real; where there is a file system in memory, at least their syncs take no time.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108

each_seed = pytest.mark.parametrize("seed", SEEDS)
lots = st.integers(0, 2**64 - 1).map(Lots)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return SHARED_MEMORY if SHARED_MEMORY.is_dir() else tmp_path


@pytest.fixture
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows and slices of a few messages, their edges are met all the time."""
    for limit, number in {"SLICE": 3, "ENTRIES_MAX": 5, "ENTRIES_FILLED": 2}.items():
        for module in [m for name, m in sys.modules.items() if name.startswith("penstock.")]:
            if hasattr(module, limit):
                monkeypatch.setattr(module, limit, number)
    assert (limits.SLICE, window.ENTRIES_MAX, window.ENTRIES_FILLED) == (3, 5, 2)


def walk(directory: Path, seed: int, journal: JournalLimits | None = None) -> None:
    """One long random walk; what it did is printed if it fails."""
    stores = Twins(directory, journal)
    try:
        lots = Lots(seed)
        client = RandomClient(stores, say=print)
        for _ in range(STEPS_OF_A_WALK):
            client.step(lots)
    finally:
        stores.close()


@each_seed
def test_the_file_and_the_memory_store_behave_alike(directory: Path, seed: int) -> None:
    walk(directory, seed)


@each_seed
@pytest.mark.usefixtures("_small_slices")
def test_they_behave_alike_where_everything_is_done_in_small_slices(directory: Path, seed: int) -> None:
    walk(directory, seed)


@each_seed
@pytest.mark.usefixtures("_small_slices")
def test_they_behave_alike_though_the_file_forgets_its_journal(directory: Path, seed: int) -> None:
    walk(directory, seed, JournalLimits(bytes_max=0))


class Alike(RuleBasedStateMachine):
    """The same steps, chosen by hypothesis."""

    directory: Path  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.stores = Twins(self.directory)
        self.client = RandomClient(self.stores)

    def teardown(self) -> None:
        self.stores.close()

    @rule(lots=lots)
    def publish(self, lots: Lots) -> None:
        self.client.publish(lots)

    @rule(lots=lots)
    def claim(self, lots: Lots) -> None:
        self.client.claim(lots)

    @rule(lots=lots)
    def do_several_in_one_batch(self, lots: Lots) -> None:
        self.client.do_several_in_one_batch(lots)

    @rule(lots=lots)
    def answer(self, lots: Lots) -> None:
        self.client.answer(lots)

    @rule(lots=lots)
    def republish(self, lots: Lots) -> None:
        self.client.republish(lots)

    @rule(lots=lots)
    def administer(self, lots: Lots) -> None:
        self.client.administer(lots)

    @rule(lots=lots)
    def let_time_pass(self, lots: Lots) -> None:
        self.client.let_time_pass(lots)

    @rule(lots=lots)
    def set_the_clock(self, lots: Lots) -> None:
        self.client.set_the_clock(lots)

    @rule(lots=lots)
    def restart(self, lots: Lots) -> None:
        self.client.restart(lots)


@pytest.fixture
def machine(directory: Path, monkeypatch: pytest.MonkeyPatch) -> type[Alike]:
    monkeypatch.setattr(Alike, "directory", directory, raising=False)
    return Alike


def test_a_state_machine_finds_no_difference(machine: type[Alike]) -> None:
    run_state_machine_as_test(machine, settings=BOUNDED)


@pytest.mark.usefixtures("_small_slices")
def test_a_state_machine_finds_no_difference_in_small_slices(machine: type[Alike]) -> None:
    run_state_machine_as_test(machine, settings=BOUNDED)
