"""One operation of the disk fails, be it the first, the last or any in between: no promise is broken by it."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from penstock.core.commands import Acknowledge, Claim, Command, CreateQueue, Draft, Publish
from penstock.core.errors import StoreFailed
from penstock.core.model import Content, QueueName, Settings
from penstock.core.outcomes import Delivered, Ended, Outcome, Published, QueueShown, Unavailable
from penstock.stores.sqlite import SqliteStore, file
from tests.crash.faulty_disk import FaultyDisk, as_after_a_crash
from tests.engine.driving import Driver

QUEUE = QueueName("default", "q")
BODIES = [b"one", b"two", b"three" * 1000, b"four", b"five"]


class Promises:
    """What a client was told, and what it must therefore find."""

    def __init__(self) -> None:
        self.kept: set[bytes] = set()
        self.in_doubt: set[bytes] = set()
        self.refusals = 0

    def note(self, outcome: Outcome, body: bytes, *, is_kept: bool) -> None:
        match outcome:
            case Published() | Ended():
                assert self.refusals == 0, "nothing is promised after a failure"
                (self.kept.add if is_kept else self.kept.discard)(body)
            case Unavailable():
                self.refusals += 1
                self.in_doubt.add(body)
                self.kept.discard(body)
            case _:
                raise AssertionError(f"nobody expects {outcome}")


def use(store: SqliteStore) -> Promises:
    """Publish everything, and claim and acknowledge every other message."""
    driver = Driver(store)
    promises = Promises()
    created = driver.ask(CreateQueue(QUEUE, Settings()))
    promises.refusals += isinstance(created, Unavailable)
    assert isinstance(created, QueueShown | Unavailable)
    for number, body in enumerate(BODIES):
        publish: Command = Publish(QUEUE, (Draft(Content(body)),))
        promises.note(driver.ask(publish), body, is_kept=True)
        if number % 2 == 0:
            acknowledge_first(driver, promises)
    assert driver.engine.is_healthy == (promises.refusals == 0)
    return promises


def acknowledge_first(driver: Driver, promises: Promises) -> None:
    match driver.ask(Claim((QUEUE,), hidden_ms=60_000)):
        case Delivered(messages=(message,)):
            acknowledge = Acknowledge("default", "q", (message.id,))
            promises.note(driver.ask(acknowledge), message.content.body, is_kept=False)
        case Unavailable():
            promises.refusals += 1
        case outcome:
            raise AssertionError(f"nobody expects {outcome}")


def bodies_in(directory: Path) -> set[bytes]:
    with closing(SqliteStore.open(directory / "penstock.sqlite")) as store:
        store.check()
        return {store.content(message).body for message in store.all_messages()}


class Trial:
    """One use of a store on a disk that fails at one operation, and what is found after it."""

    def __init__(self, directory: Path, fails_at: int | None) -> None:
        self._directory = directory
        self._fails_at = fails_at
        self.data, self.synced = directory / "data", directory / "synced"
        self.promises = Promises()
        for path in (self.data, self.synced):
            path.mkdir(parents=True)

    def run(self) -> FaultyDisk:
        with FaultyDisk(self.synced, self._fails_at) as disk:
            try:
                store = SqliteStore.open(self.data / "penstock.sqlite")
            except StoreFailed:
                return disk
            with closing(store):
                self.promises = use(store)
                as_after_a_crash(self.data, self._directory / "killed")
                as_after_a_crash(self.synced, self._directory / "power-cut")
        return disk

    def check(self) -> None:
        """Killed, without power, or closed in an orderly way: what was promised is there, and nothing else."""
        for name in ("killed", "power-cut", "data"):
            directory = self._directory / name
            if directory.exists():
                found = bodies_in(directory)
                where = f"{name} at operation {self._fails_at}"
                assert self.promises.kept <= found, f"lost: {where}"
                assert found <= self.promises.kept | self.promises.in_doubt, f"came back: {where}"


def every_trial(directory: Path) -> Iterator[tuple[FaultyDisk, Trial]]:
    """The same use with a failure at each of its operations in turn, until there is none left to fail."""
    number = 0
    while True:
        number += 1
        trial = Trial(directory / str(number), number)
        disk = trial.run()
        yield disk, trial
        shutil.rmtree(directory / str(number))
        if not disk.has_failed:
            return


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    """The engine logs each failure with its trace, and there are a hundred of them here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_disk_that_does_not_fail_keeps_everything(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "trial", None)
    trial.run()
    assert trial.promises.refusals == 0
    assert trial.promises.kept == set(BODIES[3:])
    trial.check()


def test_after_any_failed_operation_nothing_is_promised_and_what_was_promised_is_kept(tmp_path: Path) -> None:
    failures = 0
    for disk, trial in every_trial(tmp_path):
        trial.check()
        failures += disk.has_failed
    assert failures > 50, "the store works on this disk, so its operations can fail"


def test_a_failure_while_the_log_is_brought_into_the_file_breaks_no_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LOG_PAGES_BEFORE_CHECKPOINT", 4)
    for _, trial in every_trial(tmp_path):
        trial.check()
