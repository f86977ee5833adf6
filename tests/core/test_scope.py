"""A part of all queues, and commands that are kept to it."""

from __future__ import annotations

import pytest

from penstock.core import rules
from penstock.core.commands import (
    Acknowledge,
    Command,
    CreateQueue,
    DescribeMove,
    Draft,
    ListQueues,
    Publish,
    StartMove,
)
from penstock.core.ids import make_id
from penstock.core.model import Content, QueueName, Settings
from penstock.core.outcomes import Ended, MoveShown, NoSuchMove, Outcome, Published, QueuesListed
from penstock.core.scope import Scope, fits
from penstock.stores.memory import MemoryStore

JOBS = QueueName("default", "jobs")
MAIL = QueueName("default", "mail")
ONLY_JOBS = Scope((JOBS,))


@pytest.mark.parametrize(
    ("pattern", "name", "is_fit"),
    [
        ("jobs", "jobs", True),
        ("jobs", "jobs-1", False),
        ("jobs-*", "jobs-1", True),
        ("jobs-*", "jobs-", True),
        ("jobs-*", "jobs", False),
        ("*", "anything", True),
        ("jobs", "JOBS", False),
        ("jo.s", "jobs", False),
        ("[j]obs*", "jobs", False),
    ],
)
def test_a_pattern_is_a_name_or_the_beginning_of_names(pattern: str, name: str, *, is_fit: bool) -> None:
    assert fits(pattern, name) is is_fit


def test_a_scope_covers_a_queue_if_one_pattern_fits_both_its_names() -> None:
    scope = Scope((QueueName("shop", "mail"), QueueName("default", "*")))
    assert scope.covers(QueueName("shop", "mail"))
    assert scope.covers(QueueName("default", "anything"))
    assert not scope.covers(QueueName("shop", "orders"))  # of another pattern's namespace
    assert not Scope().covers(QueueName("shop", "mail"))


def test_a_scope_reaches_a_namespace_if_some_queue_of_it_may_be_covered() -> None:
    scope = Scope((QueueName("shop*", "mail"),))
    assert scope.reaches("shop-2")
    assert not scope.reaches("default")


def test_only_one_pattern_that_fits_all_is_everything() -> None:
    assert Scope((JOBS, QueueName("*", "*"))).is_everything()
    assert not Scope((QueueName("*", "a*"), QueueName("default", "*"))).is_everything()


class World:
    """A store with two queues, asked one command after the other."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        for name in (JOBS, MAIL):
            self.ask(CreateQueue(name, Settings()))

    def ask(self, command: Command) -> Outcome:
        outcome, events = rules.decide(self.store, command, 0, lambda now_ms, seq: make_id(now_ms, seq, 0))
        self.store.apply(events, 0, "")
        return outcome

    def publish(self, name: QueueName) -> bytes:
        published = self.ask(Publish(name, (Draft(Content(b"x")),)))
        assert isinstance(published, Published)
        return published.receipts[0].id


def test_an_acknowledgement_in_a_scope_does_not_reach_into_other_queues() -> None:
    world = World()
    ids = (world.publish(JOBS), world.publish(MAIL))
    assert world.ask(Acknowledge("default", None, ids, only=ONLY_JOBS)) == Ended((True, False))
    assert world.ask(Acknowledge("default", None, ids)) == Ended((False, True))


def test_a_list_in_a_scope_counts_and_pages_only_its_queues() -> None:
    world = World()
    listed = world.ask(ListQueues("default", only=Scope((MAIL,))))
    assert listed == QueuesListed(1, ((MAIL, Settings()),))
    assert world.ask(ListQueues("default", offset=1, only=Scope((MAIL,)))) == QueuesListed(1, ())


def test_a_move_out_of_a_queue_that_is_not_in_the_scope_is_unknown() -> None:
    world = World()
    world.publish(MAIL)
    started = world.ask(StartMove(MAIL, JOBS))
    assert isinstance(started, MoveShown)
    reference = started.move.reference
    assert world.ask(DescribeMove(reference, only=ONLY_JOBS)) == NoSuchMove(reference)
    assert isinstance(world.ask(DescribeMove(reference, only=Scope((MAIL,)))), MoveShown)
