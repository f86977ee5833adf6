"""Looking at messages without claiming them."""

from __future__ import annotations

from penstock.core.commands import Inspect, Peek
from penstock.core.events import MessageExpired
from penstock.core.outcomes import NoSuchQueue, Unfinished
from tests.core.table import (
    CLAIMED,
    COPY,
    DEAD,
    DELAYED,
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
)

A_QUEUE: Step = (0, create())
TWO_QUEUES: list[Step] = [A_QUEUE, (0, create(OTHER))]


@each(
    Row("a missing queue", [], (0, Peek(Q)), NoSuchQueue(Q)),
    Row("an empty queue", [A_QUEUE], (0, Peek(Q)), NOTHING),
    Row(
        "the first in line",
        [A_QUEUE, (0, publish("a", "b"))],
        (9, Peek(Q)),
        delivered(delivery(message(2), "a", READY, 0, receives=0, attempt=0)),
    ),
    Row(
        "a limit of several",
        [A_QUEUE, (0, publish("a", "b", "c"))],
        (9, Peek(Q, 2)),
        delivered(
            delivery(message(2), "a", READY, 0, receives=0, attempt=0),
            delivery(message(3), "b", READY, 0, receives=0, attempt=0),
        ),
    ),
    Row(
        "phase after phase",
        [A_QUEUE, (0, publish("a", delay_ms=50)), (0, publish("b", "c")), (0, claim())],
        (9, Peek(Q, 9, (READY, DELAYED, CLAIMED))),
        delivered(
            delivery(message(4), "c", READY, 0, receives=0, attempt=0),
            delivery(message(2), "a", DELAYED, 50, receives=0, attempt=0),
            delivery(message(3), "b"),
        ),
    ),
    Row(
        "no further than the limit",
        [A_QUEUE, (0, publish("a")), (0, publish("b", delay_ms=50))],
        (9, Peek(Q, 1, (READY, DELAYED))),
        delivered(delivery(message(2), "a", READY, 0, receives=0, attempt=0)),
    ),
    Row(
        "a dead letter with the moment of its death",
        [A_QUEUE, (0, publish("a", tries=1, ttl_ms=500)), (0, claim()), (100, DUE)],
        (999, Peek(Q, 1, (DEAD,))),
        delivered(delivery(message(2), "a", DEAD, 100, tries_left=0)),
    ),
    Row(
        "what has expired is ended before",
        [A_QUEUE, (0, publish("a", ttl_ms=50)), (0, publish("b", ttl_ms=50, delay_ms=60))],
        (50, Peek(Q, 9, (READY, DELAYED, COPY))),
        Unfinished(Peek(Q, 9, (READY, DELAYED, COPY))),
        [MessageExpired(1, message(2), 0, "ttl"), MessageExpired(1, message(3), 0, "ttl")],
    ),
    Row(
        "a claimed one, though its time is over",
        [A_QUEUE, (0, publish("a", ttl_ms=50)), (0, claim())],
        (60, Peek(Q, 9, (CLAIMED,))),
        delivered(delivery(message(2), "a", expires_at_ms=50)),
    ),
)
def test_a_peek_shows_what_is_there_and_claims_nothing(row: Row) -> None:
    holds(row)


def test_a_peek_is_not_blinded_by_an_expired_head() -> None:
    store = given([A_QUEUE, (0, publish("old", ttl_ms=50)), (0, publish("new"))])
    seen = done(store, 50, Peek(Q))
    assert seen == delivered(delivery(message(3), "new", READY, 0, receives=0, attempt=0))


@each(
    Row(
        "a ready one",
        [A_QUEUE, (0, publish("a"))],
        (9, Inspect(Q, message(2))),
        delivered(delivery(message(2), "a", READY, 0, receives=0, attempt=0)),
    ),
    Row(
        "a claimed one",
        [A_QUEUE, (0, publish("a")), (0, claim())],
        (9, Inspect(Q, message(2))),
        delivered(delivery(message(2), "a")),
    ),
    Row(
        "a dead one, whatever its time to live was",
        [A_QUEUE, (0, publish("a", tries=1, ttl_ms=150)), (0, claim()), (100, DUE)],
        (999, Inspect(Q, message(2))),
        delivered(delivery(message(2), "a", DEAD, 100, tries_left=0)),
    ),
    Row("an unknown one", [A_QUEUE], (0, Inspect(Q, message(2))), NOTHING),
    Row("one of a queue that is not there", [], (0, Inspect(Q, message(2))), NOTHING),
    Row(
        "one that is in another queue",
        [*TWO_QUEUES, (0, publish("a", name=OTHER))],
        (0, Inspect(Q, message(3))),
        NOTHING,
    ),
    Row(
        "an expired one",
        [A_QUEUE, (0, publish("a", ttl_ms=50))],
        (50, Inspect(Q, message(2))),
        NOTHING,
    ),
)
def test_one_message_can_be_looked_at_under_its_own_queue(row: Row) -> None:
    holds(row)
