"""Answering a delivery: acknowledged, renewed, released; and answers that come too late."""

from __future__ import annotations

import pytest

from penstock.core.commands import Acknowledge, ReleaseAll
from penstock.core.events import MessageAcknowledged, MessageReadied, MessageRenewed
from penstock.core.model import Counts
from penstock.core.outcomes import Counted, Ended, NoSuchQueue, Renewed
from tests.core.table import (
    COLLAPSING,
    DUE,
    OTHER,
    READY,
    Q,
    Row,
    Step,
    acknowledge,
    claim,
    create,
    delivered,
    delivery,
    done,
    each,
    given,
    holds,
    message,
    publish,
    redrive,
    release,
    renew,
    update,
)

A_QUEUE: Step = (0, create())
ONE_MESSAGE: list[Step] = [A_QUEUE, (0, publish("a"))]
ONE_CLAIM: list[Step] = [*ONE_MESSAGE, (0, claim())]
LAPSED: list[Step] = [*ONE_CLAIM, (100, DUE)]
CLAIMED_AGAIN: list[Step] = [*LAPSED, (100, claim())]
A_DEAD_LETTER: list[Step] = [A_QUEUE, (0, publish("a", tries=1)), (0, claim()), (100, DUE)]


@each(
    Row(
        "a claimed message is done with",
        ONE_CLAIM,
        (50, acknowledge(message(2))),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 1)],
    ),
    Row(
        "a message that nobody holds can be ended as well",
        ONE_MESSAGE,
        (50, acknowledge(message(2))),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 0, "unclaimed")],
    ),
    Row(
        "a delayed message can be ended",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (0, acknowledge(message(2))),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 0, "unclaimed")],
    ),
    Row(
        "a dead letter can be ended",
        A_DEAD_LETTER,
        (100, acknowledge(message(2))),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 1, "unclaimed")],
    ),
    Row("an unknown id is not found", [A_QUEUE], (0, acknowledge(message(2))), Ended((False,))),
    Row(
        "one that was ended before is not found",
        [*ONE_CLAIM, (0, acknowledge(message(2)))],
        (0, acknowledge(message(2))),
        Ended((False,)),
    ),
    Row(
        "an id is found once in one command",
        ONE_CLAIM,
        (0, acknowledge(message(2), message(3), message(2))),
        Ended((True, False, False)),
        [MessageAcknowledged(1, message(2), 1)],
    ),
    Row(
        "under the name of another queue it is unknown",
        [*ONE_CLAIM, (0, create(OTHER))],
        (0, acknowledge(message(2), queue="other")),
        Ended((False,)),
    ),
    Row(
        "without a name it is found wherever it is in the namespace",
        ONE_CLAIM,
        (0, acknowledge(message(2), queue=None)),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 1)],
    ),
    Row(
        "another namespace does not know it",
        ONE_CLAIM,
        (0, Acknowledge("elsewhere", None, (message(2),))),
        Ended((False,)),
    ),
    Row(
        "expired while it was claimed, it is acknowledged all the same",
        [A_QUEUE, (0, publish("a", ttl_ms=50)), (0, claim()), (60, DUE)],
        (60, acknowledge(message(2), attempt=1)),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 1)],
    ),
)
def test_an_acknowledged_message_is_done_with(row: Row) -> None:
    holds(row)


@each(
    Row(
        "the current delivery may acknowledge",
        CLAIMED_AGAIN,
        (150, acknowledge(message(2), attempt=2)),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 2)],
    ),
    Row(
        "an earlier delivery may not acknowledge",
        CLAIMED_AGAIN,
        (150, acknowledge(message(2), attempt=1)),
        Ended((False,)),
    ),
    Row(
        "a delivery that lapsed may not acknowledge even before the next one",
        LAPSED,
        (150, acknowledge(message(2), attempt=1)),
        Ended((False,)),
    ),
    Row(
        "an acknowledgement without a number always counts",
        CLAIMED_AGAIN,
        (150, acknowledge(message(2))),
        Ended((True,)),
        [MessageAcknowledged(1, message(2), 2)],
    ),
    Row(
        "the current delivery may renew",
        CLAIMED_AGAIN,
        (150, renew(message(2), hidden_ms=500, attempt=2)),
        Renewed((True,)),
        [MessageRenewed(1, message(2), 2, 650)],
    ),
    Row(
        "an earlier delivery may not renew",
        CLAIMED_AGAIN,
        (150, renew(message(2), hidden_ms=500, attempt=1)),
        Renewed((False,)),
    ),
    Row(
        "an earlier delivery may not release",
        CLAIMED_AGAIN,
        (150, release(message(2), attempt=1)),
        Renewed((False,)),
    ),
    Row(
        "a delivery that lapsed may not renew by its number",
        LAPSED,
        (150, renew(message(2), hidden_ms=500, attempt=1)),
        Renewed((False,)),
    ),
)
def test_an_answer_to_an_old_delivery_is_fenced_off(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a claim is prolonged from now on",
        ONE_CLAIM,
        (60, renew(message(2), hidden_ms=100)),
        Renewed((True,)),
        [MessageRenewed(1, message(2), 1, 160)],
    ),
    Row(
        "a claim is never shortened",
        ONE_CLAIM,
        (60, renew(message(2), hidden_ms=10)),
        Renewed((True,)),
    ),
    Row(
        "a claim that ends at the same moment stays as it is",
        ONE_CLAIM,
        (60, renew(message(2), hidden_ms=40)),
        Renewed((True,)),
    ),
    Row(
        "a lapsed claim is begun again",
        LAPSED,
        (150, renew(message(2), hidden_ms=100)),
        Renewed((True,)),
        [MessageRenewed(1, message(2), 1, 250)],
    ),
    Row(
        "a message that was only looked at is claimed by a renewal",
        ONE_MESSAGE,
        (9, renew(message(2), hidden_ms=100)),
        Renewed((True,)),
        [MessageRenewed(1, message(2), 0, 109)],
    ),
    Row(
        "the last receive stays the last",
        [
            (0, create(OTHER)),
            (0, create(redrive=redrive(1, OTHER))),
            (0, publish("a")),
            (0, claim()),
        ],
        (60, renew(message(3), hidden_ms=100)),
        Renewed((True,)),
        [MessageRenewed(2, message(3), 1, 160, is_last_receive=True)],
    ),
    Row(
        "a policy that came while it lapsed counts for the claim begun again",
        [
            A_QUEUE,
            (0, create(OTHER)),
            (0, publish("a")),
            (0, claim()),
            (100, DUE),
            (100, update(redrive=redrive(1, OTHER))),
        ],
        (150, renew(message(3), hidden_ms=100)),
        Renewed((True,)),
        [MessageRenewed(1, message(3), 1, 250, is_last_receive=True)],
    ),
    Row(
        "a delayed message nobody can have",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (0, renew(message(2), hidden_ms=100)),
        Renewed((False,)),
    ),
    Row(
        "a dead letter nobody can have",
        A_DEAD_LETTER,
        (100, renew(message(2), hidden_ms=100)),
        Renewed((False,)),
    ),
    Row(
        "a copy nobody can have",
        [(0, create(COLLAPSING, collapse=True)), (0, publish("1", "1", name=COLLAPSING))],
        (0, renew(message(3), hidden_ms=100, name=COLLAPSING)),
        Renewed((False,)),
    ),
    Row(
        "under another name it is unknown",
        [*ONE_CLAIM, (0, create(OTHER))],
        (0, renew(message(2), hidden_ms=500, name=OTHER)),
        Renewed((False,)),
    ),
    Row(
        "each id is answered for, in order",
        ONE_CLAIM,
        (60, renew(message(9), message(2), hidden_ms=100)),
        Renewed((False, True)),
        [MessageRenewed(1, message(2), 1, 160)],
    ),
    Row(
        "an id given twice is answered for twice and renewed once",
        ONE_CLAIM,
        (60, renew(message(2), message(2), hidden_ms=100)),
        Renewed((True, True)),
        [MessageRenewed(1, message(2), 1, 160)],
    ),
)
def test_a_renewal_hides_for_longer_and_never_for_shorter(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a claimed message is ready at once, its try given back",
        ONE_CLAIM,
        (60, release(message(2))),
        Renewed((True,)),
        [MessageReadied(1, message(2), 1, 60, "released", gives_try_back=True)],
    ),
    Row(
        "a message that is ready already stays as it is",
        LAPSED,
        (150, release(message(2))),
        Renewed((True,)),
    ),
    Row(
        "all claims of a queue are released",
        [A_QUEUE, (0, publish("a", "b", "c")), (0, claim(limit=2))],
        (60, ReleaseAll(Q)),
        Counted(2),
        [
            MessageReadied(1, message(2), 1, 60, "released", gives_try_back=True),
            MessageReadied(1, message(3), 1, 60, "released", gives_try_back=True),
        ],
    ),
    Row("where nothing is claimed nothing is released", ONE_MESSAGE, (60, ReleaseAll(Q)), Counted(0)),
    Row("a missing queue has no claims", [], (60, ReleaseAll(Q)), NoSuchQueue(Q)),
)
def test_a_release_gives_a_message_back_at_once(row: Row) -> None:
    holds(row)


def test_a_released_message_has_its_try_again() -> None:
    store = given([A_QUEUE, (0, publish("a", tries=1)), (0, claim()), (60, release(message(2)))])
    again = done(store, 60, claim())
    assert again == delivered(delivery(message(2), "a", at_ms=160, tries_left=0, receives=1, attempt=2))


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_release_gives_back_no_try_that_was_not_used(rounds: int) -> None:
    store = given([A_QUEUE, (0, publish("a", tries=1))])
    for _ in range(rounds):
        done(store, 0, renew(message(2), hidden_ms=100))
        done(store, 0, release(message(2)))
    looked_at = done(store, 0, claim(only_looks=True))
    assert looked_at == delivered(delivery(message(2), "a", READY, 0, tries_left=1, receives=0, attempt=0))


def test_expired_while_claimed_and_released_it_is_not_delivered_again() -> None:
    store = given([A_QUEUE, (0, publish("a", ttl_ms=50)), (0, claim()), (60, release(message(2)))])
    assert done(store, 60, claim()) == delivered()
    assert store.all_messages() == []


def test_counts_follow_a_message_through_its_answers() -> None:
    store = given(ONE_CLAIM)

    def counts() -> Counts:
        queue = store.queue(Q)
        assert queue is not None
        return store.counts(queue)

    assert counts() == Counts(claimed=1)
    done(store, 10, release(message(2)))
    assert counts() == Counts(ready=1)
    done(store, 10, renew(message(2), hidden_ms=100))
    assert counts() == Counts(claimed=1)
    done(store, 10, acknowledge(message(2)))
    assert counts() == Counts()
