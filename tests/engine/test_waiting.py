"""Consumers that wait: served in the order in which they came, one for each message, at once."""

from __future__ import annotations

import pytest

from penstock.core.commands import (
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeQueue,
    Draft,
    IfMissing,
    Publish,
    ReleaseAll,
    Renew,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.limits import SLICE
from penstock.core.model import Content, Counts, QueueName, Redrive, Settings
from penstock.core.outcomes import Delivered, NoSuchQueue, QueueShown
from tests.engine.driving import Driver, Inbox
from tests.engine.watched import WatchedStore

Q = QueueName("default", "q")
OTHER = QueueName("default", "other")
NOTHING = Delivered(())
WAIT_MS = 60_000


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def driver(store: WatchedStore) -> Driver:
    driver = Driver(store)
    driver.ask(CreateQueue(OTHER, Settings()))
    driver.ask(CreateQueue(Q, Settings()))
    return driver


def publish(
    *bodies: str,
    name: QueueName = Q,
    delay_ms: int = 0,
    tries: int | None = None,
    ttl_ms: int | None = None,
) -> Publish:
    drafts = tuple(Draft(Content(body.encode()), delay_ms, ttl_ms, tries) for body in bodies)
    return Publish(name, drafts, IfMissing.CREATE)


def consumer(
    driver: Driver, *names: QueueName, wait_ms: int = WAIT_MS, limit: int = 1, has_gone: bool = False
) -> Inbox:
    """Somebody who waits from now on."""
    inbox = driver.submit(Claim(names or (Q,), limit, 100, wait_ms, IfMissing.EMPTY), has_gone=has_gone)
    driver.engine.run()
    return inbox


def got(inbox: Inbox) -> list[str] | None:
    """The bodies that somebody was handed; None: still waiting."""
    if inbox.outcome is None:
        return None
    assert isinstance(inbox.outcome, Delivered)
    return [delivery.content.body.decode() for delivery in inbox.outcome.messages]


def counts(driver: Driver, name: QueueName = Q) -> Counts:
    shown = driver.ask(DescribeQueue(name))
    assert isinstance(shown, QueueShown)
    return shown.counts


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


def held(driver: Driver, hidden_ms: int = 100, tries: int | None = None) -> Delivered:
    """A message that is claimed by somebody else."""
    driver.ask(publish("held", tries=tries))
    outcome = driver.ask(Claim((Q,), hidden_ms=hidden_ms))
    assert isinstance(outcome, Delivered)
    return outcome


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
