"""How waiting ends: consumers who have gone, time that is up, queues that are deleted; and what it costs."""

from __future__ import annotations

import pytest

from penstock.core.commands import (
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
)
from penstock.core.model import Counts, Settings
from penstock.core.outcomes import Delivered, NoSuchQueue
from tests.engine.consumers import OTHER, WAIT_MS, Q, consumer, counts, got, publish
from tests.engine.driving import Driver, Inbox
from tests.engine.watched import WatchedStore


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def driver(store: WatchedStore) -> Driver:
    driver = Driver(store)
    driver.ask(CreateQueue(OTHER, Settings()))
    driver.ask(CreateQueue(Q, Settings()))
    return driver


# Those who have gone


def test_the_message_of_one_who_has_gone_goes_to_the_next_at_once(driver: Driver) -> None:
    consumer(driver, has_gone=True)
    patient = consumer(driver)
    driver.submit(publish("a"))
    driver.engine.run()
    assert got(patient) is None
    assert driver.engine.milliseconds_to_next() == 0
    driver.engine.run()
    assert got(patient) == ["a"]
    assert isinstance(patient.outcome, Delivered)
    (delivery,) = patient.outcome.messages
    assert (delivery.attempt, delivery.receives) == (2, 1)


def test_all_messages_of_one_who_has_gone_are_ready_again_with_their_tries(driver: Driver) -> None:
    driver.ask(publish("a", "b", tries=1))
    driver.submit(Claim((Q,), 5), has_gone=True)
    driver.settle()
    again = driver.ask(Claim((Q,), 5))
    assert isinstance(again, Delivered)
    assert [delivery.tries_left for delivery in again.messages] == [0, 0]


def test_nothing_is_given_back_for_one_who_only_looked(driver: Driver) -> None:
    driver.ask(publish("a"))
    before = driver.store.last_sequence
    driver.submit(Claim((Q,), only_looks=True), has_gone=True)
    driver.settle()
    assert driver.store.last_sequence == before


def test_a_message_claimed_anew_is_not_given_back_by_one_who_has_gone(driver: Driver) -> None:
    """Its claim lapsed before the release of it was done: the number of the delivery guards the new one."""
    driver.ask(publish("a"))
    driver.submit(Claim((Q,), hidden_ms=50), has_gone=True)
    patient = consumer(driver)
    driver.wall_ms += 50
    driver.settle()
    assert got(patient) == ["a"]
    assert counts(driver) == Counts(claimed=1)


def test_one_who_withdrew_is_not_served(driver: Driver) -> None:
    gone, patient = consumer(driver), consumer(driver)
    driver.engine.withdraw(gone)
    assert driver.engine.waiting == 1
    driver.ask(publish("a"))
    assert got(patient) == ["a"]
    assert gone.outcomes == []


def test_to_withdraw_without_waiting_is_nothing(driver: Driver) -> None:
    driver.engine.withdraw(Inbox())
    assert driver.engine.waiting == 0


# The end of waiting


def test_time_that_is_up_is_answered_with_nothing_at_its_millisecond(driver: Driver) -> None:
    short, long = consumer(driver, wait_ms=100), consumer(driver, wait_ms=200)
    driver.advance(99)
    assert got(short) is None
    driver.advance(1)
    assert got(short) == []
    assert got(long) is None
    driver.advance(100)
    assert got(long) == []
    assert driver.engine.waiting == 0


def test_a_message_in_the_last_millisecond_still_counts(driver: Driver) -> None:
    driver.ask(publish("a", delay_ms=100))
    waiting = consumer(driver, wait_ms=100)
    driver.advance(100)
    assert got(waiting) == ["a"]


def test_those_who_need_the_queue_hear_that_it_was_deleted(driver: Driver) -> None:
    needs_it = driver.submit(Claim((Q,), wait_ms=WAIT_MS))
    needs_both = driver.submit(Claim((OTHER, Q), wait_ms=WAIT_MS))
    elsewhere = consumer(driver, OTHER)
    driver.ask(DeleteQueue(Q))
    assert needs_it.outcome == NoSuchQueue(Q)
    assert needs_both.outcome == NoSuchQueue(Q)
    assert got(elsewhere) is None


def test_those_who_do_not_need_the_queue_wait_on_for_one_made_again(driver: Driver) -> None:
    waiting = consumer(driver)
    driver.ask(publish("old", delay_ms=50))
    driver.ask(DeleteQueue(Q))
    driver.advance(50)
    assert got(waiting) is None
    driver.ask(publish("new"))
    assert got(waiting) == ["new"]


def test_at_a_stop_all_who_wait_are_answered_with_nothing(driver: Driver) -> None:
    consumers = [consumer(driver) for _ in range(3)]
    driver.engine.end_waits()
    assert [got(inbox) for inbox in consumers] == [[], [], []]
    assert driver.engine.waiting == 0


def test_one_too_many_is_not_let_in(store: WatchedStore) -> None:
    driver = Driver(store, waiters_max=2)
    driver.ask(CreateQueue(Q, Settings()))
    consumers = [consumer(driver) for _ in range(3)]
    assert [got(inbox) for inbox in consumers] == [None, None, []]


# What waiting costs

CROWD = 5000


def test_a_crowd_that_waits_is_not_touched_by_a_run(driver: Driver, store: WatchedStore) -> None:
    for _ in range(CROWD):
        driver.submit(Claim((Q,), wait_ms=WAIT_MS))
    driver.settle()
    assert driver.engine.waiting == CROWD
    store.lookups = 0
    driver.advance(5000)
    assert store.lookups == 0


@pytest.mark.parametrize("command", [publish("a"), publish("a", name=OTHER)], ids=["here", "elsewhere"])
def test_a_message_for_a_crowd_costs_no_more_than_for_one(
    driver: Driver, store: WatchedStore, command: Command
) -> None:
    for _ in range(CROWD):
        driver.submit(Claim((Q,), wait_ms=WAIT_MS))
    driver.settle()
    store.lookups = 0
    driver.ask(command)
    assert store.lookups < 10


def test_a_crowd_that_comes_and_goes_leaves_nothing_behind(driver: Driver) -> None:
    patient = consumer(driver)
    for _ in range(CROWD):
        driver.engine.withdraw(consumer(driver))
    driver.advance(WAIT_MS - 1)
    driver.ask(publish("a"))
    assert got(patient) == ["a"]
    assert driver.engine.waiting == 0
