"""What happens by itself when its moment comes: delays end, claims lapse, messages expire and are buried."""

from __future__ import annotations

from penstock.core.commands import DeleteQueue, Respawn
from penstock.core.events import MessageBuried, MessageExpired, MessageMoved, MessagePurged, MessageReadied
from tests.core.table import (
    COLLAPSING,
    COPY,
    DEAD_LETTERS,
    DUE,
    Q,
    Row,
    Step,
    acknowledge,
    claim,
    create,
    each,
    holds,
    message,
    publish,
    redrive,
    renew,
    update,
)

A_QUEUE: Step = (0, create())


@each(
    Row(
        "a millisecond before its end a delay goes on",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (49, DUE),
        None,
    ),
    Row(
        "a delay that is over makes a message ready",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (50, DUE),
        None,
        [MessageReadied(1, message(2), 0, 50, "due")],
    ),
    Row(
        "seen late it is ready since the moment at which it was due",
        [A_QUEUE, (0, publish("a", delay_ms=50))],
        (999, DUE),
        None,
        [MessageReadied(1, message(2), 0, 50, "due")],
    ),
    Row(
        "a millisecond before its end a claim goes on",
        [A_QUEUE, (0, publish("a")), (0, claim())],
        (99, DUE),
        None,
    ),
    Row(
        "a lapsed claim makes a message ready since its end",
        [A_QUEUE, (0, publish("a")), (0, claim())],
        (130, DUE),
        None,
        [MessageReadied(1, message(2), 1, 100, "lapsed")],
    ),
    Row(
        "a renewed claim does not lapse at its old end",
        [A_QUEUE, (0, publish("a")), (0, claim()), (50, renew(message(2), hidden_ms=100))],
        (149, DUE),
        None,
    ),
    Row(
        "a renewed claim lapses at its new end",
        [A_QUEUE, (0, publish("a")), (0, claim()), (50, renew(message(2), hidden_ms=100))],
        (150, DUE),
        None,
        [MessageReadied(1, message(2), 1, 150, "lapsed")],
    ),
    Row(
        "an acknowledged message does not come back",
        [A_QUEUE, (0, publish("a")), (0, claim()), (0, acknowledge(message(2)))],
        (100, DUE),
        None,
    ),
)
def test_delays_and_claims_end_at_their_moment(row: Row) -> None:
    holds(row)


@each(
    Row(
        "with tries left it is ready again",
        [A_QUEUE, (0, publish("a", tries=2)), (0, claim())],
        (100, DUE),
        None,
        [MessageReadied(1, message(2), 1, 100, "lapsed")],
    ),
    Row(
        "with its tries used up it is a dead letter of its own queue",
        [A_QUEUE, (0, publish("a", tries=2)), (0, claim()), (100, DUE), (100, claim())],
        (200, DUE),
        None,
        [MessageBuried(1, message(2), 2, "tries")],
    ),
    Row(
        "a dead letter has no time to live",
        [A_QUEUE, (0, publish("a", tries=1, ttl_ms=500)), (0, claim()), (100, DUE)],
        (500, DUE),
        None,
    ),
    Row(
        "a dead letter outlives the retention of its queue",
        [(0, create(retention_ms=500)), (0, publish("a", tries=1)), (0, claim()), (100, DUE)],
        (500, DUE),
        None,
    ),
    Row(
        "a respawned one has one try",
        [
            A_QUEUE,
            (0, publish("a", tries=5)),
            *[(at_ms, step) for at_ms in range(0, 500, 100) for step in (DUE, claim())],
            (500, DUE),
            (500, Respawn(Q, 1, None)),
            (500, claim()),
        ],
        (600, DUE),
        None,
        [MessageBuried(1, message(2), 6, "tries")],
    ),
    Row(
        "where both run out the redrive policy wins over the tries",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(redrive=redrive(1))),
            (0, publish("a", tries=1)),
            (0, claim()),
        ],
        (100, DUE),
        None,
        [MessageMoved(2, message(3), 1, 1, 0, "max_receives")],
    ),
    Row(
        "where only the tries run out it is buried",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(redrive=redrive(2))),
            (0, publish("a", tries=1)),
            (0, claim()),
        ],
        (100, DUE),
        None,
        [MessageBuried(2, message(3), 1, "tries")],
    ),
)
def test_a_message_out_of_tries_is_buried_in_its_own_queue(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a ready message at the end of its own time",
        [A_QUEUE, (0, publish("a", ttl_ms=50))],
        (50, DUE),
        None,
        [MessageExpired(1, message(2), 0, "ttl")],
    ),
    Row(
        "nothing a millisecond before",
        [A_QUEUE, (0, publish("a", ttl_ms=50))],
        (49, DUE),
        None,
    ),
    Row(
        "a message at the end of the queue's retention",
        [(0, create(retention_ms=50)), (7, publish("a"))],
        (57, DUE),
        None,
        [MessageExpired(1, message(2, 7), 0, "retention")],
    ),
    Row(
        "whichever of the two comes first",
        [(0, create(retention_ms=50)), (0, publish("a", ttl_ms=20)), (0, publish("b", ttl_ms=80))],
        (50, DUE),
        None,
        [MessageExpired(1, message(2), 0, "ttl"), MessageExpired(1, message(3), 0, "retention")],
    ),
    Row(
        "a delayed message, which never becomes ready",
        [A_QUEUE, (0, publish("a", ttl_ms=50, delay_ms=50))],
        (50, DUE),
        None,
        [MessageExpired(1, message(2), 0, "ttl")],
    ),
    Row(
        "a copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, publish("1", name=COLLAPSING)),
            (0, publish("1", name=COLLAPSING, ttl_ms=50)),
        ],
        (50, DUE),
        None,
        [MessageExpired(1, message(3), 0, "ttl")],
    ),
    Row(
        "a claimed message not before its claim ends",
        [A_QUEUE, (0, publish("a", ttl_ms=50)), (0, claim())],
        (99, DUE),
        None,
    ),
    Row(
        "a claimed message instead of becoming ready again",
        [A_QUEUE, (0, publish("a", ttl_ms=50, tries=1)), (0, claim())],
        (100, DUE),
        None,
        [MessageExpired(1, message(2), 1, "ttl")],
    ),
    Row(
        "a claimed message as it was when its claim ended, however late that is seen",
        [A_QUEUE, (0, publish("a", ttl_ms=101, tries=1)), (0, claim())],
        (999, DUE),
        None,
        [MessageBuried(1, message(2), 1, "tries")],
    ),
    Row(
        "a claimed message instead of being redriven",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(redrive=redrive(1), retention_ms=50)),
            (0, publish("a")),
            (0, claim()),
        ],
        (100, DUE),
        None,
        [MessageExpired(2, message(3), 1, "retention")],
    ),
    Row(
        "at once where the retention was made shorter",
        [A_QUEUE, (0, publish("a")), (80, update(retention_ms=50))],
        (80, DUE),
        None,
        [MessageExpired(1, message(2), 0, "retention")],
    ),
    Row(
        "not where the retention was made longer",
        [(0, create(retention_ms=50)), (0, publish("a")), (40, update(retention_ms=500))],
        (80, DUE),
        None,
    ),
    Row(
        "a respawned message at the end of the time it was given then",
        [
            A_QUEUE,
            (0, publish("a", tries=1)),
            (0, claim()),
            (100, DUE),
            (100, Respawn(Q, 1, 70)),
        ],
        (170, DUE),
        None,
        [MessageExpired(1, message(2), 1, "ttl")],
    ),
)
def test_what_has_outlived_its_time_expires(row: Row) -> None:
    holds(row)


@each(
    Row(
        "a delayed message that equals an unread one becomes a copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, publish("1", name=COLLAPSING, delay_ms=50)),
            (10, publish("1", name=COLLAPSING)),
        ],
        (50, DUE),
        None,
        [MessageReadied(1, message(2), 0, 50, "due", COPY)],
    ),
    Row(
        "of two equal ones due at once the second becomes a copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, publish("1", "1", name=COLLAPSING, delay_ms=50)),
        ],
        (50, DUE),
        None,
        [
            MessageReadied(1, message(2), 0, 50, "due"),
            MessageReadied(1, message(3), 0, 50, "due", COPY),
        ],
    ),
    Row(
        "a lapsed message that equals an unread one becomes a copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, publish("1", name=COLLAPSING)),
            (0, claim(COLLAPSING)),
            (10, publish("1", name=COLLAPSING)),
        ],
        (100, DUE),
        None,
        [MessageReadied(1, message(2), 1, 100, "lapsed", COPY)],
    ),
    Row(
        "the rest of a deleted queue is purged",
        [A_QUEUE, (0, publish("a", "b")), (0, claim()), (5, DeleteQueue(Q))],
        (5, DUE),
        None,
        [
            MessagePurged(1, message(2), 1, "queue deleted"),
            MessagePurged(1, message(3), 0, "queue deleted"),
        ],
    ),
    Row(
        "a claim in a deleted queue does not lapse but ends",
        [A_QUEUE, (0, publish("a")), (0, claim()), (5, DeleteQueue(Q))],
        (100, DUE),
        None,
        [MessagePurged(1, message(2), 1, "queue deleted")],
    ),
)
def test_what_falls_due_finds_its_place(row: Row) -> None:
    holds(row)
