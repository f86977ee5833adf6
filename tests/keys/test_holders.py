"""What the holder of a key may do."""

from __future__ import annotations

import pytest

from penstock.core.commands import Acknowledge, Command, DescribeMove, ListQueues, Publish
from penstock.core.model import QueueName
from penstock.core.scope import Scope
from penstock.keys.grants import Action, Need
from penstock.keys.holders import ANSWERS_KEPT_MAX, Holder, Holders
from penstock.keys.rates import Rate, Rates
from penstock.keys.ring import KeyRing
from tests.keys.making import key

JOBS = QueueName("default", "jobs")
PUBLISH, CONSUME, INSPECT = Action.PUBLISH, Action.CONSUME, Action.INSPECT
ID = b"i" * 16


@pytest.mark.parametrize(
    ("grants", "need", "is_allowed"),
    [
        (["publish:default/jobs"], Need(PUBLISH, JOBS), True),
        (["publish:default/jobs"], Need(CONSUME, JOBS), False),
        (["publish:default/jobs"], Need(PUBLISH, QueueName("dedup", "jobs")), False),
        (["consume:default/mail", "publish:default/j*"], Need(PUBLISH, JOBS), True),
        (["consume:default/j*", "publish:default/mail"], Need(PUBLISH, JOBS), False),
        (["publish:default/jobs"], Need(PUBLISH, namespace="default"), True),
        (["publish:default/jobs"], Need(PUBLISH, namespace="shop"), False),
        (["administer:default/*"], Need(Action.ADMINISTER), False),
        (["administer:default/*", "administer:*/*"], Need(Action.ADMINISTER), True),
        (["publish,consume,inspect,administer:*/*"], Need(Action.JOURNAL), False),
    ],
)
def test_a_key_allows_what_one_of_its_grants_does(grants: list[str], need: Need, *, is_allowed: bool) -> None:
    holder = Holder(key(*grants))
    assert holder.may((need,)) is is_allowed
    assert holder.may((need,)) is is_allowed, "remembered"


def test_of_several_needs_each_has_to_be_allowed() -> None:
    holder = Holder(key("consume:default/jobs", "publish:default/mail"))
    move = (Need(CONSUME, JOBS), Need(PUBLISH, QueueName("default", "mail")))
    assert holder.may(move)
    assert not holder.may((*move, Need(INSPECT, JOBS)))


def test_what_is_remembered_has_an_end() -> None:
    holder = Holder(key("publish:default/q-*"))
    for number in range(3 * ANSWERS_KEPT_MAX):
        assert holder.may((Need(PUBLISH, QueueName("default", f"q-{number}")),))
        assert not holder.may((Need(PUBLISH, QueueName("default", f"p-{number}")),))
    assert len(holder._answers) <= ANSWERS_KEPT_MAX  # noqa: SLF001 - nobody else can tell


def test_a_command_that_names_no_queue_is_kept_to_those_allowed() -> None:
    holder = Holder(key("consume:default/jobs", "inspect:default/m*"))
    consumed, inspected = Scope((JOBS,)), Scope((QueueName("default", "m*"),))
    assert holder.narrowed(Acknowledge("default", None, (ID,))) == Acknowledge(
        "default", None, (ID,), only=consumed
    )
    assert holder.narrowed(ListQueues("default", 3, 4)) == ListQueues("default", 3, 4, only=inspected)
    assert holder.narrowed(DescribeMove("reference")) == DescribeMove("reference", only=inspected)


def test_a_command_that_names_its_queue_or_may_reach_all_is_left_as_it_is() -> None:
    commands: list[Command] = [Acknowledge("default", "jobs", (ID,)), Publish(JOBS, ())]
    assert [Holder(key("consume:default/jobs")).narrowed(command) for command in commands] == commands
    anywhere = Acknowledge("default", None, (ID,))
    assert Holder(key("consume:*/*")).narrowed(anywhere) == anywhere


def test_answers_for_messages_handed_out_before_do_not_count_as_consuming() -> None:
    holder = Holder(key("consume:*/*", rates=Rates(consumes=Rate(1, 60))))
    claim, answer = (Need(CONSUME, JOBS),), (Need(CONSUME, JOBS, is_answer=True),)
    assert holder.take_turn(claim, 0.0) == 0.0
    assert [holder.take_turn(answer, 0.0) for _ in range(9)] == [0.0] * 9
    assert holder.take_turn(claim, 0.0) == 60.0


def test_a_key_that_stays_in_force_keeps_count_of_its_use() -> None:
    limited = key("publish:*/*", rates=Rates(requests=Rate(1, 60)))
    before = Holders(KeyRing((limited,)))
    first = before.by_digest[limited.text_sha256]
    assert first.take_turn((), 0.0) == 0.0
    after = Holders(KeyRing((key("publish:*/*"), limited)), before)
    again = after.of(limited.id)
    assert again is not None
    assert again.take_turn((), 0.0) == 60.0
