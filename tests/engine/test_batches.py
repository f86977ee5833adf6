"""Batches: everything submitted since the last one is decided in order, kept by one commit, then answered."""

from __future__ import annotations

import pytest

from penstock.core.commands import Claim, CreateQueue, DescribeQueue, Draft, IfMissing, Publish, Purge
from penstock.core.limits import SLICE
from penstock.core.model import Content, Counts, Phase, QueueName, Settings
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    NoSuchQueue,
    Published,
    QueueExists,
    QueueShown,
)
from penstock.engine.engine import BATCH_COMMANDS_MAX, ROUNDS_MAX, TRIM_EVERY_MS, Engine
from tests.engine.driving import START_MS, Driver, Inbox, lasting_id
from tests.engine.watched import DiaryKeeper, WatchedStore, failing_id

Q = QueueName("default", "q")
OTHER = QueueName("default", "other")


def publish(body: str = "a", name: QueueName = Q, ttl_ms: int | None = None, count: int = 1) -> Publish:
    return Publish(name, (Draft(Content(body.encode()), ttl_ms=ttl_ms),) * count, IfMissing.CREATE)


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def driver(store: WatchedStore) -> Driver:
    driver = Driver(store)
    driver.settle()  # the first trim is over
    store.diary.clear()
    return driver


def test_all_commands_of_a_batch_share_one_commit(driver: Driver, store: WatchedStore) -> None:
    inboxes = [driver.submit(publish()) for _ in range(50)]
    driver.engine.run()
    assert store.commits == 1
    assert all(isinstance(inbox.outcome, Published) for inbox in inboxes)


def test_nobody_is_answered_before_the_commit(driver: Driver, store: WatchedStore) -> None:
    for name in ("first", "second"):
        driver.engine.submit(publish(), DiaryKeeper(store, name))
    assert store.diary == []
    driver.engine.run()
    assert store.diary == ["commit", "first", "second"]


def test_a_waiting_consumer_is_not_answered_before_the_commit_of_its_message(
    driver: Driver, store: WatchedStore
) -> None:
    driver.engine.submit(
        Claim((Q,), wait_ms=1000, if_missing=IfMissing.EMPTY), DiaryKeeper(store, "consumer")
    )
    driver.engine.run()
    store.diary.clear()
    driver.engine.submit(publish(), DiaryKeeper(store, "producer"))
    driver.engine.run()
    assert store.diary[0] == "commit"
    assert sorted(store.diary[1:]) == ["consumer", "producer"]


def test_a_batch_that_changes_nothing_is_not_committed(driver: Driver, store: WatchedStore) -> None:
    driver.submit(DescribeQueue(Q))
    driver.submit(Claim((Q,), if_missing=IfMissing.EMPTY))
    driver.engine.run()
    assert store.commits == 0


def test_a_command_sees_what_those_before_it_in_the_batch_did(driver: Driver) -> None:
    nothing_yet = driver.submit(DescribeQueue(Q))
    driver.submit(publish())
    claimed = driver.submit(Claim((Q,)))
    twice = driver.submit(CreateQueue(Q, Settings()))
    shown = driver.submit(DescribeQueue(Q))
    driver.engine.run()
    assert nothing_yet.outcome == NoSuchQueue(Q)
    assert isinstance(claimed.outcome, Delivered)
    assert len(claimed.outcome.messages) == 1
    assert twice.outcome == QueueExists(Q)
    assert isinstance(shown.outcome, QueueShown)
    assert shown.outcome.counts == Counts(claimed=1)


def test_all_events_of_a_batch_have_the_same_moment_and_know_who_asked(driver: Driver) -> None:
    driver.submit(Publish(Q, (Draft(Content(b"a")),), IfMissing.CREATE, dialect="mqs"))
    driver.submit(Claim((Q,), dialect="lmstfy"))
    driver.engine.run()
    (records,) = driver.store.journal_reader().records(0, 10)
    assert {record.at_ms for record in records} == {START_MS}
    assert [record.dialect for record in records] == ["mqs", "mqs", "lmstfy"]


def test_a_batch_is_bounded_and_the_rest_comes_in_the_next(driver: Driver) -> None:
    inboxes = [driver.submit(publish()) for _ in range(BATCH_COMMANDS_MAX + 1)]
    driver.engine.run()
    assert [inbox.outcome is None for inbox in inboxes] == [False] * BATCH_COMMANDS_MAX + [True]
    assert not driver.engine.is_idle
    assert driver.engine.milliseconds_to_next() == 0
    driver.engine.run()
    assert inboxes[-1].outcome is not None
    assert driver.engine.is_idle


def test_a_long_command_does_not_hold_up_the_others(driver: Driver) -> None:
    driver.ask(publish(count=3 * SLICE))
    purge = driver.submit(Purge(Q, (Phase.READY,)))
    driver.engine.run()
    other = driver.submit(publish(name=OTHER))
    driver.engine.run()
    assert other.outcome is not None
    assert purge.outcome is None
    assert not driver.engine.is_idle
    driver.settle()
    assert purge.outcome == Counted(3 * SLICE)


def test_a_claim_clears_away_what_is_expired_within_its_batch(driver: Driver) -> None:
    slices = ROUNDS_MAX + 1  # the tick before the claim does one of them
    driver.ask(publish("old", ttl_ms=100, count=slices * SLICE))
    driver.ask(publish("alive"))
    driver.wall_ms += 100
    claim = driver.submit(Claim((Q,)))
    driver.engine.run()
    assert isinstance(claim.outcome, Delivered)
    assert claim.outcome.messages[0].content.body == b"alive"


def test_a_claim_behind_more_expired_messages_than_that_is_answered_in_a_later_batch(driver: Driver) -> None:
    driver.ask(publish("old", ttl_ms=100, count=10 * SLICE))
    driver.ask(publish("alive"))
    driver.wall_ms += 100
    claim = driver.submit(Claim((Q,)))
    other = driver.submit(publish(name=OTHER))
    driver.engine.run()
    assert claim.outcome is None
    assert other.outcome is not None
    driver.settle()
    assert isinstance(claim.outcome, Delivered)


def test_a_bug_in_deciding_one_command_is_answered_to_that_one_alone(
    store: WatchedStore, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(store, lambda: START_MS, failing_id)
    made, crashed, shown = Inbox(), Inbox(), Inbox()
    engine.submit(CreateQueue(Q, Settings()), made)
    engine.submit(publish(), crashed)
    engine.submit(DescribeQueue(Q), shown)
    engine.run()
    assert isinstance(made.outcome, QueueShown)
    assert crashed.outcome == Crashed()
    assert isinstance(shown.outcome, QueueShown)
    assert shown.outcome.counts == Counts()
    assert engine.is_healthy
    assert "deciding Publish failed" in caplog.text
    store.check()


def test_the_journal_is_trimmed_every_second(driver: Driver, store: WatchedStore) -> None:
    trims = store.trims
    driver.advance(10 * TRIM_EVERY_MS)
    assert store.trims == trims + 10


def test_trimming_goes_on_at_once_while_there_is_more(driver: Driver, store: WatchedStore) -> None:
    driver.wall_ms += TRIM_EVERY_MS
    store.trims_left = 2
    trims = store.trims
    driver.engine.run()
    assert driver.engine.milliseconds_to_next() == 0
    driver.settle()
    assert store.trims == trims + 3
    assert driver.engine.milliseconds_to_next() == TRIM_EVERY_MS


def test_ids_are_made_with_the_number_of_their_publish(driver: Driver) -> None:
    outcome = driver.ask(publish(count=2))
    assert isinstance(outcome, Published)
    assert [receipt.id for receipt in outcome.receipts] == [lasting_id(START_MS, 2), lasting_id(START_MS, 3)]
