"""A store that failed is never trusted again: nobody hears of success, and nothing is tried twice."""

from __future__ import annotations

import pytest

from penstock.core.commands import Claim, Command, Draft, IfMissing, Inspect, Publish, Purge
from penstock.core.limits import SLICE
from penstock.core.model import Content, Phase, QueueName
from penstock.core.outcomes import Delivered, Outcome, Published, Unavailable
from tests.engine.driving import Driver
from tests.engine.watched import WatchedStore

Q = QueueName("default", "q")
PUBLISH = Publish(Q, (Draft(Content(b"a"), ttl_ms=500),), IfMissing.CREATE)
WAIT = Claim((QueueName("default", "empty"),), wait_ms=1000, if_missing=IfMissing.EMPTY)


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def driver(store: WatchedStore) -> Driver:
    driver = Driver(store)
    driver.ask(PUBLISH)
    return driver


def test_a_failed_commit_leaves_the_whole_batch_unanswered_with_success(
    driver: Driver, store: WatchedStore, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = driver.submit(WAIT)
    driver.engine.run()
    store.fails_in = "commit"
    batch = [driver.submit(command) for command in (PUBLISH, Claim((Q,)), PUBLISH)]
    driver.engine.run()
    assert [inbox.outcome for inbox in [waiting, *batch]] == [Unavailable()] * 4
    assert not driver.engine.is_healthy
    assert driver.engine.waiting == 0
    assert "the disk failed in commit" in caplog.text


@pytest.mark.parametrize(
    ("fails_in", "command"),
    [("apply", PUBLISH), ("content", Claim((Q,))), ("content", Inspect(Q, b"")), ("due_queues", PUBLISH)],
)
def test_a_failure_under_a_command_reaches_those_before_and_after_it(
    driver: Driver, store: WatchedStore, fails_in: str, command: Command
) -> None:
    if isinstance(command, Inspect):
        (message,) = store.all_messages()
        command = Inspect(Q, message.id)
    looking = Claim((QueueName("default", "nothing"),), if_missing=IfMissing.EMPTY)
    before, failing, after = driver.submit(looking), driver.submit(command), driver.submit(looking)
    store.fails_in = fails_in
    driver.engine.run()
    assert [inbox.outcome for inbox in (before, failing, after)] == [Unavailable()] * 3


def test_a_consumer_served_in_a_batch_that_fails_hears_of_the_failure(
    driver: Driver, store: WatchedStore
) -> None:
    waiting = driver.submit(WAIT)
    driver.engine.run()
    store.fails_in = "commit"
    driver.submit(Publish(WAIT.names[0], PUBLISH.drafts, IfMissing.CREATE))
    driver.engine.run()
    assert waiting.outcome == Unavailable()


def test_a_long_command_under_way_hears_of_the_failure(driver: Driver, store: WatchedStore) -> None:
    driver.ask(Publish(Q, (Draft(Content(b"a")),) * 2 * SLICE))
    purge = driver.submit(Purge(Q, (Phase.READY,)))
    driver.engine.run()
    store.fails_in = "commit"
    driver.submit(PUBLISH)
    driver.engine.run()
    assert purge.outcome == Unavailable()


def test_after_a_failure_everything_is_refused_and_the_store_left_alone(
    driver: Driver, store: WatchedStore
) -> None:
    store.fails_in = "commit"
    driver.submit(PUBLISH)
    driver.engine.run()
    store.fails_in = ""
    commits, trims, last_sequence = store.commits, store.trims, store.last_sequence
    driver.wall_ms += 10_000
    refused = [driver.submit(command) for command in (PUBLISH, WAIT, Claim((Q,)))]
    assert driver.engine.milliseconds_to_next() == 0
    driver.engine.run()
    assert [inbox.outcome for inbox in refused] == [Unavailable()] * 3
    assert (store.commits, store.trims, store.last_sequence) == (commits, trims, last_sequence)
    assert driver.engine.milliseconds_to_next() is None
    assert driver.engine.is_idle


def test_a_failure_while_something_falls_due_by_itself_is_final_too(
    driver: Driver, store: WatchedStore
) -> None:
    waiting = driver.submit(WAIT)
    driver.engine.run()
    store.fails_in = "apply"
    driver.wall_ms += 500
    driver.engine.run()
    assert waiting.outcome == Unavailable()
    assert not driver.engine.is_healthy


def test_what_was_answered_before_the_failure_stays_answered(driver: Driver, store: WatchedStore) -> None:
    kept = driver.submit(PUBLISH)
    driver.engine.run()
    store.fails_in = "commit"
    driver.submit(PUBLISH)
    driver.engine.run()
    assert isinstance(kept.outcome, Published)


class BrokenAsker:
    """Whose other end fails in the middle of an answer."""

    def answer(self, outcome: Outcome) -> bool:
        raise RuntimeError(f"cannot take {outcome}")


def test_an_asker_that_fails_costs_nobody_else_an_answer_and_gives_its_message_back(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    driver.engine.submit(Claim((Q,)), BrokenAsker())
    other = driver.submit(PUBLISH)
    driver.engine.run()
    assert isinstance(other.outcome, Published)
    assert "answering Claim failed" in caplog.text
    claimed = driver.ask(Claim((Q,), limit=2))
    assert isinstance(claimed, Delivered)
    (given_back,) = [message for message in claimed.messages if message.attempt > 1]
    assert (given_back.attempt, given_back.receives) == (2, 1)
