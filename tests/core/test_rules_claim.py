"""Claiming: who gets what, and in which order."""

from __future__ import annotations

from functools import partial

import pytest

from penstock.core import rules
from penstock.core.commands import Claim, IfMissing
from penstock.core.events import MessageClaimed, MessageExpired
from penstock.core.ids import MessageId, make_id
from penstock.core.outcomes import Delivered, NoSuchQueue, Unfinished
from tests.core.table import (
    DUE,
    NOTHING,
    OTHER,
    READY,
    Q,
    Row,
    Step,
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
    release,
    renew,
    update,
)

A_QUEUE: Step = (0, create())
TWO_QUEUES: list[Step] = [A_QUEUE, (0, create(OTHER))]


@each(
    Row("an empty queue gives nothing", [A_QUEUE], (0, claim()), NOTHING),
    Row("a queue that is not there is said to be missing", [], (0, claim()), NoSuchQueue(Q)),
    Row(
        "a queue that is not there may count as empty",
        [],
        (0, claim(if_missing=IfMissing.EMPTY)),
        NOTHING,
    ),
    Row(
        "a claim hides a message for as long as the queue says",
        [(0, create(visibility_ms=700)), (0, publish("a"))],
        (50, claim(hidden_ms=None)),
        delivered(delivery(message(2), "a", at_ms=750)),
        [MessageClaimed(1, message(2), 1, 750)],
    ),
    Row(
        "a claim hides a message for as long as the claim says",
        [(0, create(visibility_ms=700)), (0, publish("a"))],
        (50, claim(hidden_ms=20)),
        delivered(delivery(message(2), "a", at_ms=70)),
        [MessageClaimed(1, message(2), 1, 70)],
    ),
    Row(
        "several are handed out in the order of their publish",
        [A_QUEUE, (0, publish("a", "b", "c"))],
        (0, claim(limit=2)),
        delivered(delivery(message(2), "a"), delivery(message(3), "b")),
        [MessageClaimed(1, message(2), 1, 100), MessageClaimed(1, message(3), 1, 100)],
    ),
    Row(
        "a delayed message is not handed out",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (49, claim()),
        NOTHING,
    ),
    Row(
        "a claimed message is not handed out",
        [A_QUEUE, (0, publish("a")), (0, claim())],
        (99, claim()),
        NOTHING,
    ),
    Row(
        "a dead letter is not handed out",
        [A_QUEUE, (0, publish("a", tries=1)), (0, claim()), (100, DUE)],
        (100, claim()),
        NOTHING,
    ),
    Row(
        "a delivery says how many tries are left and how often it was received",
        [A_QUEUE, (0, publish("a", tries=3, ttl_ms=5000)), (0, claim()), (100, DUE)],
        (100, claim()),
        delivered(
            delivery(message(2), "a", at_ms=200, expires_at_ms=5000, tries_left=1, receives=2, attempt=2)
        ),
        [MessageClaimed(1, message(2), 2, 200)],
    ),
    Row(
        "only looking hands out without claiming",
        [A_QUEUE, (0, publish("a", tries=3))],
        (50, claim(only_looks=True)),
        delivered(delivery(message(2), "a", READY, 0, tries_left=3, receives=0, attempt=0)),
    ),
)
def test_a_claim_hands_out_what_is_ready(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a message whose delay ended earlier comes first",
        [A_QUEUE, (0, publish("late", delay_ms=50)), (60, publish("later")), (60, DUE)],
        (60, claim()),
        delivered(delivery(message(2), "late", at_ms=160)),
        [MessageClaimed(1, message(2), 1, 160)],
    ),
    Row(
        "a message whose claim lapsed goes behind what was ready before that",
        [A_QUEUE, (0, publish("a")), (0, claim()), (50, publish("b")), (100, DUE)],
        (100, claim()),
        delivered(delivery(message(4, 50), "b", at_ms=200, published_at_ms=50)),
        [MessageClaimed(1, message(4, 50), 1, 200)],
    ),
    Row(
        "a message whose claim lapsed goes before what was ready after that",
        [A_QUEUE, (0, publish("a")), (0, claim()), (101, publish("b")), (101, DUE)],
        (101, claim()),
        delivered(delivery(message(2), "a", at_ms=201, receives=2, attempt=2)),
        [MessageClaimed(1, message(2), 2, 201)],
    ),
    Row(
        "of two that became ready in the same moment the one published first comes first",
        [A_QUEUE, (0, publish("a", delay_ms=50)), (50, publish("b")), (50, DUE)],
        (50, claim()),
        delivered(delivery(message(2), "a", at_ms=150)),
        [MessageClaimed(1, message(2), 1, 150)],
    ),
    Row(
        "a released message is ready since its release",
        [A_QUEUE, (0, publish("a")), (0, claim()), (0, publish("b")), (9, release(message(2)))],
        (9, claim()),
        delivered(delivery(message(4), "b", at_ms=109)),
        [MessageClaimed(1, message(4), 1, 109)],
    ),
)
def test_the_line_is_by_the_moment_of_becoming_ready_and_then_by_publish(row: Row) -> None:
    holds(row)


@each(
    Row(
        "the first queue that has a message gives it",
        [*TWO_QUEUES, (0, publish("a")), (0, publish("b", name=OTHER))],
        (0, claim(OTHER, Q)),
        delivered(delivery(message(4), "b", name=OTHER)),
        [MessageClaimed(2, message(4), 1, 100)],
    ),
    Row(
        "an empty queue lets the next one give",
        [*TWO_QUEUES, (0, publish("a"))],
        (0, claim(OTHER, Q)),
        delivered(delivery(message(3), "a")),
        [MessageClaimed(1, message(3), 1, 100)],
    ),
    Row(
        "one claim takes from one queue alone",
        [*TWO_QUEUES, (0, publish("a")), (0, publish("b", name=OTHER))],
        (0, claim(Q, OTHER, limit=2)),
        delivered(delivery(message(3), "a")),
        [MessageClaimed(1, message(3), 1, 100)],
    ),
    Row(
        "a missing queue among them lets the next one give",
        [A_QUEUE, (0, publish("a"))],
        (0, claim(OTHER, Q, if_missing=IfMissing.EMPTY)),
        delivered(delivery(message(2), "a")),
        [MessageClaimed(1, message(2), 1, 100)],
    ),
    Row(
        "a missing queue is an error where it has to be there",
        [A_QUEUE, (0, publish("a"))],
        (0, claim(OTHER, Q)),
        NoSuchQueue(OTHER),
    ),
)
def test_a_claim_on_several_queues_goes_by_their_order(row: Row) -> None:
    holds(row)


@each(
    Row(
        "an expired head is ended before the claim goes on",
        [A_QUEUE, (0, publish("old", ttl_ms=50)), (0, publish("new"))],
        (50, claim()),
        Unfinished(claim()),
        [MessageExpired(1, message(2), 0, "ttl")],
    ),
    Row(
        "whatever else has expired in the line is ended with it",
        [(0, create(retention_ms=50)), (0, publish("old")), (0, publish("older", ttl_ms=50))],
        (50, claim()),
        Unfinished(claim()),
        [MessageExpired(1, message(2), 0, "retention"), MessageExpired(1, message(3), 0, "ttl")],
    ),
    Row(
        "only looking ends it as well",
        [A_QUEUE, (0, publish("old", ttl_ms=50))],
        (50, claim(only_looks=True)),
        Unfinished(claim(only_looks=True)),
        [MessageExpired(1, message(2), 0, "ttl")],
    ),
    Row(
        "a retention made shorter counts at the next claim",
        [A_QUEUE, (0, publish("a")), (0, update(retention_ms=50))],
        (50, claim()),
        Unfinished(claim()),
        [MessageExpired(1, message(2), 0, "retention")],
    ),
    Row(
        "a millisecond before its time it is handed out",
        [A_QUEUE, (0, publish("a", ttl_ms=50))],
        (49, claim()),
        delivered(delivery(message(2), "a", at_ms=149, expires_at_ms=50)),
        [MessageClaimed(1, message(2), 1, 149)],
    ),
)
def test_an_expired_message_is_never_handed_out(row: Row) -> None:
    holds(row)


def test_an_expired_head_does_not_hide_a_live_message() -> None:
    store = given([A_QUEUE, (0, publish("old", ttl_ms=50)), (0, publish("new"))])
    outcome = done(store, 50, claim())
    assert outcome == delivered(delivery(message(3), "new", at_ms=150))


@pytest.mark.parametrize("hidden_ms", [20, 99])
def test_a_claim_of_a_redelivery_has_a_number_of_its_own(hidden_ms: int) -> None:
    attempts = []
    store = given([A_QUEUE, (0, publish("a"))])
    steps: list[Step] = [
        (0, claim(hidden_ms=hidden_ms)),
        (100, DUE),
        (100, claim(hidden_ms=50)),
        (120, renew(message(2), hidden_ms=100)),
        (130, release(message(2))),
        (130, claim()),
    ]
    for at_ms, command in steps:
        outcome = done(store, at_ms, command)
        if isinstance(outcome, Delivered):
            attempts.append(outcome.messages[0].attempt)
    assert attempts == [1, 2, 3]


def test_a_claim_by_lot_takes_one_of_the_first_few() -> None:
    store = given([A_QUEUE, (0, publish("a", "b", "c", "d"))])
    drawn = []
    for tag in range(6):
        outcome, _ = rules.decide(store, Claim((Q,), among=3), 0, partial(_id_with_tag, tag))
        assert isinstance(outcome, Delivered)
        drawn += [one.content.body for one in outcome.messages]
    assert drawn == [b"a", b"b", b"c", b"a", b"b", b"c"]


def _id_with_tag(tag: int, now_ms: int, sequence: int) -> MessageId:
    return make_id(now_ms, sequence, tag)
