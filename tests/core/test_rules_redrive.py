"""Redrive policies: the last receive that counts, and policies that come, go and lead in circles."""

from __future__ import annotations

from hashlib import sha256

from penstock.core.commands import DeleteQueue
from penstock.core.events import (
    MessageClaimed,
    MessageMoved,
    MessageReadied,
    QueueChanged,
    QueueDeleted,
)
from penstock.core.model import Counts, Settings
from penstock.core.outcomes import QueueShown, Unfinished
from tests.core.table import (
    COLLAPSING,
    COPY,
    DEAD_LETTERS,
    DUE,
    OTHER,
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
    redrive,
    release,
    update,
)

DEDUP_DEAD = COLLAPSING._replace(name="dead")
ONE = sha256(b"1").digest()

# The dead letter queue is queue 1, the queue is queue 2, the message has number 3.
TWICE: list[Step] = [(0, create(DEAD_LETTERS)), (0, create(redrive=redrive(2))), (0, publish("a"))]
ONCE: list[Step] = [(0, create(DEAD_LETTERS)), (0, create(redrive=redrive(1))), (0, publish("a"))]
NO_POLICY: list[Step] = [(0, create(DEAD_LETTERS)), (0, create()), (0, publish("a"))]


@each(
    Row(
        "a receive before the last is like any other",
        TWICE,
        (0, claim()),
        delivered(delivery(message(3), "a")),
        [MessageClaimed(2, message(3), 1, 100)],
    ),
    Row(
        "the last receive still returns the message",
        [*TWICE, (0, claim()), (100, DUE)],
        (100, claim()),
        delivered(delivery(message(3), "a", at_ms=200, receives=2, attempt=2)),
        [MessageClaimed(2, message(3), 2, 200, is_last_receive=True)],
    ),
    Row(
        "before the last receive lapses the message is where it was",
        [*TWICE, (0, claim()), (100, DUE), (100, claim())],
        (199, DUE),
        None,
    ),
    Row(
        "when the last receive lapses it is in the dead letter queue, its receives started over",
        [*TWICE, (0, claim()), (100, DUE), (100, claim())],
        (200, DUE),
        None,
        [MessageMoved(2, message(3), 2, 1, 0, "max_receives")],
    ),
    Row(
        "a released receive does not count",
        [*ONCE, (0, claim()), (10, release(message(3)))],
        (10, claim()),
        delivered(delivery(message(3), "a", at_ms=110, attempt=2)),
        [MessageClaimed(2, message(3), 2, 110, is_last_receive=True)],
    ),
    Row(
        "in the dead letter queue it has the time of its publish, and a new number for its delivery",
        [*ONCE, (0, claim()), (100, DUE)],
        (150, claim(DEAD_LETTERS)),
        delivered(delivery(message(3), "a", at_ms=250, name=DEAD_LETTERS, attempt=2)),
        [MessageClaimed(1, message(3), 2, 250)],
    ),
    Row(
        "it stands behind what was ready there before",
        [
            *ONCE,
            (0, claim()),
            (50, publish("b", name=DEAD_LETTERS)),
            (100, DUE),
        ],
        (100, claim(DEAD_LETTERS)),
        delivered(delivery(message(5, 50), "b", at_ms=200, name=DEAD_LETTERS, published_at_ms=50)),
        [MessageClaimed(1, message(5, 50), 1, 200)],
    ),
)
def test_the_last_receive_returns_a_message_and_its_lapse_moves_it(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a policy set while it is hidden does not act when its claim lapses",
        [*NO_POLICY, (0, claim()), (50, update(redrive=redrive(1)))],
        (100, DUE),
        None,
        [MessageReadied(2, message(3), 1, 100, "lapsed")],
    ),
    Row(
        "a policy set while it is hidden acts at the next receive",
        [*NO_POLICY, (0, claim()), (50, update(redrive=redrive(1))), (100, DUE)],
        (100, claim()),
        Unfinished(claim()),
        [MessageMoved(2, message(3), 1, 1, 0, "max_receives")],
    ),
    Row(
        "a policy set while it is hidden leaves it receives that are left",
        [*NO_POLICY, (0, claim()), (50, update(redrive=redrive(2))), (100, DUE)],
        (100, claim()),
        delivered(delivery(message(3), "a", at_ms=200, receives=2, attempt=2)),
        [MessageClaimed(2, message(3), 2, 200, is_last_receive=True)],
    ),
    Row(
        "a policy removed before the lapse does not act",
        [*ONCE, (0, claim()), (50, update())],
        (100, DUE),
        None,
        [MessageReadied(2, message(3), 1, 100, "lapsed")],
    ),
    Row(
        "a policy that leads elsewhere before the lapse leads elsewhere",
        [*ONCE, (0, create(OTHER)), (0, claim()), (50, update(redrive=redrive(1, OTHER)))],
        (100, DUE),
        None,
        [MessageMoved(2, message(3), 1, 3, 0, "max_receives")],
    ),
    Row(
        "a policy that leads to a deleted queue goes with it",
        [*ONCE, (0, claim())],
        (50, DeleteQueue(DEAD_LETTERS)),
        QueueShown(DEAD_LETTERS, Settings(), Counts(), None),
        [QueueChanged(2, Settings()), QueueDeleted(1)],
    ),
    Row(
        "a message whose dead letter queue was deleted is ready again",
        [*ONCE, (0, claim()), (50, DeleteQueue(DEAD_LETTERS))],
        (100, DUE),
        None,
        [MessageReadied(2, message(3), 1, 100, "lapsed")],
    ),
)
def test_the_policy_that_counts_is_the_one_of_the_receive(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a queue that is its own dead letter queue gives its messages new receives",
        [(0, create()), (0, update(redrive=redrive(1, Q))), (0, publish("a")), (0, claim())],
        (100, DUE),
        None,
        [MessageMoved(1, message(3), 1, 1, 0, "max_receives")],
    ),
    Row(
        "two equal messages are one in a dead letter queue that collapses copies",
        [
            (0, create(DEDUP_DEAD, collapse=True)),
            (0, create(COLLAPSING, collapse=True, redrive=redrive(1, DEDUP_DEAD))),
            (0, publish("1", name=COLLAPSING)),
            (0, claim(COLLAPSING)),
            (0, publish("1", name=COLLAPSING)),
            (0, claim(COLLAPSING)),
        ],
        (100, DUE),
        None,
        [
            MessageMoved(2, message(3), 1, 1, 0, "max_receives", match_key=ONE),
            MessageMoved(2, message(5), 1, 1, 0, "max_receives", COPY, ONE),
        ],
    ),
)
def test_a_policy_may_lead_anywhere(row: Row) -> None:
    holds(row)


def test_policies_in_a_circle_pass_a_message_on_for_ever() -> None:
    store = given([(0, create(OTHER)), (0, create(redrive=redrive(1, OTHER))), (0, publish("a"))])
    done(store, 0, update(OTHER, redrive=redrive(1, Q)))
    for round_number in range(6):
        at_ms = round_number * 100
        name = (Q, OTHER)[round_number % 2]
        assert done(store, at_ms, claim(name)) == delivered(
            delivery(message(3), "a", at_ms=at_ms + 100, name=name, attempt=round_number + 1)
        )
        done(store, at_ms + 100, DUE)


def test_a_message_that_is_its_own_dead_letter_is_handed_out_again() -> None:
    store = given([(0, create()), (0, update(redrive=redrive(1, Q))), (0, publish("a"))])
    for attempt in (1, 2, 3):
        at_ms = attempt * 100
        assert done(store, at_ms, claim()) == delivered(
            delivery(message(3), "a", at_ms=at_ms + 100, attempt=attempt)
        )
        done(store, at_ms + 100, DUE)
