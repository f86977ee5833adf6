"""One operation of the disk fails, be it the first, the last or any in between: no promise is broken."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import apsw
import pytest

from penstock.core.commands import Acknowledge, Claim, Command, CreateQueue, Draft, Publish
from penstock.core.errors import StoreFailed
from penstock.core.model import Content, QueueName, Settings
from penstock.core.outcomes import Delivered, Ended, Outcome, Published, Unavailable
from penstock.stores.sqlite import SqliteStore, file
from tests.crash.faulty_disk import FaultyDisk
from tests.engine.driving import Driver

FILE = "penstock.sqlite"
QUEUE = QueueName("default", "q")
OTHER_QUEUE = QueueName("default", "other")
BODIES = [b"one", b"two", b"three" * 1000, b"four", b"five"]

# SQLite goes on without telling where it can do without an operation that failed; apsw then mentions it here.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Promises:
    """What a client was told, and what it must therefore find."""

    def __init__(self) -> None:
        self.kept: set[bytes] = set()
        self.in_doubt: set[bytes] = set()
        self.refusals = 0

    def note(self, outcome: Outcome, body: bytes, *, is_kept: bool) -> None:
        match outcome:
            case Published() | Ended():
                assert self.refusals == 0, "nothing is promised once something was refused"
                (self.kept.add if is_kept else self.kept.discard)(body)
            case Unavailable():
                self.refusals += 1
                self.kept.discard(body)
                self.in_doubt.add(body)
            case _:
                raise AssertionError(f"nobody expects {outcome}")


def use(store: SqliteStore) -> Promises:
    """Publish everything, and claim and acknowledge every other message."""
    driver = Driver(store)
    promises = Promises()
    created = driver.ask(CreateQueue(QUEUE, Settings()))
    promises.refusals += isinstance(created, Unavailable)
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
    with closing(SqliteStore.open(directory / FILE)) as store:
        store.check()
        return {store.content(message).body for message in store.all_messages()}


class Trial:
    """One use of a store on a disk that fails at one operation, and what is found after it."""

    def __init__(self, directory: Path, fails_at: int | None = None) -> None:
        self.directory = directory
        self.promises = Promises()
        (directory / "closed").mkdir(parents=True)
        with FaultyDisk(fails_at) as self.disk:
            self._run()

    def _run(self) -> None:
        live = self.directory / "closed"
        try:
            store = SqliteStore.open(live / FILE)
        except StoreFailed:
            self._note_crash(live)
            return
        assert (live / f"{FILE}-wal").exists(), "the store works with a log, or not at all"
        self.promises = use(store)
        self._note_crash(live)
        # SQLite itself says nothing of a failure here, which costs only time at the next start; apsw does.
        with suppress(apsw.IOError):
            store.close()

    def _note_crash(self, live: Path) -> None:
        """Take down what a start after a crash at this moment would find."""
        shutil.copytree(live, self.directory / "killed", ignore=shutil.ignore_patterns("*-shm"))
        self.disk.leave_after_power_cut(self.directory / "without power")

    def check(self) -> None:
        """What was promised is there, and nothing that was promised to be gone."""
        for name in ("killed", "without power", "closed"):
            found = bodies_in(self.directory / name)
            where = f"{name}, operation {self.disk.fails_at}: {self.disk.failed_at}"
            assert self.promises.kept <= found, f"lost: {where}"
            assert found <= self.promises.kept | self.promises.in_doubt, f"came back: {where}"


def every_trial(directory: Path) -> Iterator[Trial]:
    """The same use with a failure at each of its operations in turn, until there is none left to fail."""
    for number in count(1):
        trial = Trial(directory / str(number), number)
        if not trial.disk.failed_at:
            return
        yield trial
        shutil.rmtree(trial.directory)


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    """The engine logs each failure with its trace, and there are hundreds of them here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_disk_that_does_not_fail_keeps_everything(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "trial")
    assert trial.promises.refusals == 0
    assert trial.promises.kept == set(BODIES[3:])
    trial.check()


@pytest.mark.slow
def test_whatever_operation_of_the_disk_fails_what_was_promised_is_kept(tmp_path: Path) -> None:
    failed = set()
    for trial in every_trial(tmp_path):
        trial.check()
        failed.add(trial.disk.failed_at)
    assert {f"writing {FILE}", f"writing {FILE}-wal", f"syncing {FILE}-wal"} <= failed


@pytest.mark.slow
def test_whatever_fails_while_the_log_is_brought_into_the_file_what_was_promised_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LOG_PAGES_BEFORE_CHECKPOINT", 4)
    for trial in every_trial(tmp_path):
        trial.check()


def test_after_a_failed_sync_of_the_log_nothing_is_promised_although_the_next_sync_succeeds(
    tmp_path: Path,
) -> None:
    with FaultyDisk() as disk, closing(SqliteStore.open(tmp_path / FILE)) as store:
        driver = Driver(store)
        driver.ask(CreateQueue(QUEUE, Settings()))
        disk.fail_next("syncing penstock.sqlite-wal")
        publish: Command = Publish(QUEUE, (Draft(Content(b"x")),))
        assert [driver.ask(publish) for _ in range(3)] == [Unavailable()] * 3
        assert isinstance(driver.ask(Claim((QUEUE,))), Unavailable)
        assert not driver.engine.is_healthy


def test_a_commit_that_fails_refuses_everybody_in_its_batch_and_all_who_wait(tmp_path: Path) -> None:
    with FaultyDisk() as disk, closing(SqliteStore.open(tmp_path / FILE)) as store:
        driver = Driver(store)
        driver.ask(CreateQueue(QUEUE, Settings()))
        driver.ask(CreateQueue(OTHER_QUEUE, Settings()))
        waiting = driver.submit(Claim((OTHER_QUEUE,), wait_ms=20_000))
        driver.settle()
        disk.fail_next("syncing penstock.sqlite-wal")
        batch = [driver.submit(Publish(QUEUE, (Draft(Content(b"x")),))) for _ in range(3)]
        driver.settle()
        assert [inbox.outcome for inbox in (waiting, *batch)] == [Unavailable()] * 4
