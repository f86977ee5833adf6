"""Consumers that wait are served in the order in which they came, one for each message, at once."""

from __future__ import annotations

import pytest

from penstock.core.commands import (
    Claim,
    CreateQueue,
    ReleaseAll,
    Renew,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.limits import SLICE
from penstock.core.model import Counts, QueueName, Redrive, Settings
from tests.engine.consumers import NOTHING, OTHER, Q, consumer, counts, got, held, publish
from tests.engine.driving import Driver
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


# Who is served


def test_the_first_who_came_is_served_first_and_one_for_each_message(driver: Driver) -> None:
    consumers = [consumer(driver) for _ in range(3)]
    driver.ask(publish("a"))
    assert [got(inbox) for inbox in consumers] == [["a"], None, None]
    driver.ask(publish("b", "c", "d"))
    assert [got(inbox) for inbox in consumers] == [["a"], ["b"], ["c"]]
    assert counts(driver) == Counts(ready=1, claimed=3)
    assert driver.engine.waiting == 0


def test_one_who_takes_several_takes_what_there_is_and_waits_no_longer(driver: Driver) -> None:
    hungry, modest = consumer(driver, limit=10), consumer(driver)
    driver.ask(publish("a", "b"))
    assert got(hungry) == ["a", "b"]
    assert got(modest) is None


def test_whoever_comes_later_does_not_get_past_those_who_wait(driver: Driver) -> None:
    waiting = consumer(driver)
    driver.submit(publish("a"))
    late = driver.submit(Claim((Q,)))
    driver.engine.run()
    assert got(waiting) == ["a"]
    assert late.outcome == NOTHING


def test_a_claim_that_finds_a_message_does_not_wait(driver: Driver) -> None:
    driver.ask(publish("a"))
    assert got(consumer(driver)) == ["a"]


def test_a_claim_without_time_does_not_wait(driver: Driver) -> None:
    assert got(consumer(driver, wait_ms=0)) == []


def test_a_message_in_another_queue_wakes_nobody_here(driver: Driver) -> None:
    waiting = consumer(driver)
    driver.ask(publish("a", name=OTHER))
    assert got(waiting) is None


def test_a_queue_that_is_yet_to_be_made_can_be_waited_for(driver: Driver) -> None:
    new = QueueName("default", "new")
    waiting = consumer(driver, new)
    driver.ask(publish("a", name=new))
    assert got(waiting) == ["a"]


# What wakes


def test_a_delay_that_is_over_wakes(driver: Driver) -> None:
    driver.ask(publish("a", delay_ms=50))
    waiting = consumer(driver)
    driver.advance(49)
    assert got(waiting) is None
    driver.advance(1)
    assert got(waiting) == ["a"]


def test_a_claim_that_lapses_wakes(driver: Driver) -> None:
    held(driver)
    waiting = consumer(driver)
    driver.advance(99)
    assert got(waiting) is None
    driver.advance(1)
    assert got(waiting) == ["held"]


def test_a_release_wakes(driver: Driver) -> None:
    delivery = held(driver).messages[0]
    waiting = consumer(driver)
    driver.ask(Renew(Q, (delivery.id,), 0))
    assert got(waiting) == ["held"]


def test_a_release_of_all_wakes(driver: Driver) -> None:
    held(driver)
    waiting = consumer(driver)
    driver.ask(ReleaseAll(Q))
    assert got(waiting) == ["held"]


def test_a_respawn_wakes(driver: Driver) -> None:
    held(driver, tries=1)
    driver.advance(100)
    waiting = consumer(driver)
    driver.ask(Respawn(Q, 1, None))
    assert got(waiting) == ["held"]


def test_a_move_wakes_those_at_its_target(driver: Driver) -> None:
    held(driver, hidden_ms=10_000)
    there, here = consumer(driver, OTHER), consumer(driver)
    driver.ask(StartMove(Q, OTHER))
    assert got(there) == ["held"]
    assert got(here) is None


def test_a_redrive_wakes_those_at_the_dead_letter_queue(driver: Driver) -> None:
    driver.ask(UpdateQueue(Q, Settings(redrive=Redrive(1, "other"))))
    held(driver)
    here, there = consumer(driver), consumer(driver, OTHER)
    driver.advance(100)
    assert got(here) is None
    assert got(there) == ["held"]


def test_a_redrive_at_the_next_receive_wakes_those_at_the_dead_letter_queue(driver: Driver) -> None:
    """The policy comes while the message is hidden; whoever waits here must not swallow it."""
    held(driver)
    driver.ask(UpdateQueue(Q, Settings(redrive=Redrive(1, "other"))))
    here, there = consumer(driver), consumer(driver, OTHER)
    driver.advance(100)
    assert got(here) is None
    assert got(there) == ["held"]


def test_a_message_that_expired_on_its_way_wakes_nobody(driver: Driver) -> None:
    waiting = consumer(driver)
    driver.ask(publish("dead on arrival", ttl_ms=0))
    assert got(waiting) is None
    driver.ask(publish("alive"))
    assert got(waiting) == ["alive"]


def test_more_unfit_messages_than_a_slice_do_not_keep_the_engine_from_going_on(driver: Driver) -> None:
    """They become ready all at once, beyond what one decision looks at, before one who wants very many."""
    driver.ask(publish(*["early"] * SLICE, delay_ms=50))
    driver.ask(publish(*["late"] * SLICE))
    driver.ask(Claim((Q,), SLICE, 100))
    driver.ask(UpdateQueue(Q, Settings(redrive=Redrive(1, "other"))))
    waiting = consumer(driver, limit=1000)
    driver.jump(100)
    assert got(waiting) == ["early"] * SLICE
    assert counts(driver, OTHER) == Counts(ready=SLICE)


# Several queues


def test_one_who_waits_at_several_queues_is_served_by_whichever_has_a_message(driver: Driver) -> None:
    both, here = consumer(driver, OTHER, Q), consumer(driver)
    driver.ask(publish("a"))
    assert got(both) == ["a"]
    assert got(here) is None
    driver.ask(publish("b", name=OTHER))
    assert got(here) is None
    assert counts(driver, OTHER) == Counts(ready=1)


def test_messages_that_come_to_several_queues_at_once_are_taken_by_the_order_of_the_queues(
    driver: Driver,
) -> None:
    driver.ask(publish("second", delay_ms=50))
    driver.ask(publish("first", name=OTHER, delay_ms=50))
    waiting = consumer(driver, OTHER, Q)
    driver.advance(50)
    assert got(waiting) == ["first"]
    assert counts(driver) == Counts(ready=1)


def test_the_order_of_arrival_holds_across_queues(driver: Driver) -> None:
    first, second, third = consumer(driver, Q, OTHER), consumer(driver, OTHER), consumer(driver, Q, OTHER)
    driver.ask(publish("a", name=OTHER))
    driver.ask(publish("b", name=OTHER))
    driver.ask(publish("c", name=OTHER))
    assert [got(inbox) for inbox in (first, second, third)] == [["a"], ["b"], ["c"]]
