"""Commands over many messages: purges, and dead letters dropped or brought back."""

from __future__ import annotations

from penstock.core.commands import DropDead, Purge, Respawn
from penstock.core.events import MessagePurged, MessageRespawned
from penstock.core.outcomes import Counted, NoSuchQueue
from tests.core.table import (
    CLAIMED,
    COLLAPSING,
    COPY,
    DEAD,
    DELAYED,
    DUE,
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
EVERY_PHASE: list[Step] = [
    A_QUEUE,
    (0, publish("dead", tries=1)),
    (0, claim()),
    (100, DUE),
    (100, publish("claimed", "ready")),
    (100, claim()),
    (100, publish("delayed", delay_ms=500)),
]
TWO_DEAD: list[Step] = [
    A_QUEUE,
    (0, publish("a", "b", tries=1)),
    (0, claim(hidden_ms=60)),
    (0, claim(hidden_ms=30)),
    (30, DUE),
    (60, DUE),
]


@each(
    Row("a missing queue", [], (0, Purge(Q, (READY,))), NoSuchQueue(Q)),
    Row("an empty queue", [A_QUEUE], (0, Purge(Q, (READY,))), Counted(0)),
    Row(
        "the ready ones alone",
        EVERY_PHASE,
        (150, Purge(Q, (READY,))),
        Counted(1),
        [MessagePurged(1, message(6, 100), 0, "purge")],
    ),
    Row(
        "all but dead letters, in the order of their publish",
        EVERY_PHASE,
        (150, Purge(Q, (READY, DELAYED, CLAIMED, COPY))),
        Counted(3),
        [
            MessagePurged(1, message(5, 100), 1, "purge"),
            MessagePurged(1, message(6, 100), 0, "purge"),
            MessagePurged(1, message(8, 100), 0, "purge"),
        ],
    ),
    Row(
        "dead letters too if they are asked for",
        EVERY_PHASE,
        (150, Purge(Q, (DEAD,))),
        Counted(1),
        [MessagePurged(1, message(2), 1, "purge")],
    ),
    Row(
        "no message of another queue",
        [A_QUEUE, (0, create(OTHER)), (0, publish("a", name=OTHER))],
        (0, Purge(Q, (READY,))),
        Counted(0),
    ),
)
def test_a_purge_ends_what_is_in_the_phases_it_names(row: Row) -> None:
    holds(row)


@each(
    Row("no queue to drop from", [], (0, DropDead(Q, 5)), NoSuchQueue(Q)),
    Row("nothing to drop", [A_QUEUE, (0, publish("a"))], (0, DropDead(Q, 5)), Counted(0)),
    Row(
        "the one that died first is dropped first",
        TWO_DEAD,
        (70, DropDead(Q, 1)),
        Counted(1),
        [MessagePurged(1, message(3), 1, "dead letter deleted")],
    ),
    Row(
        "all are dropped if as many are asked for",
        TWO_DEAD,
        (70, DropDead(Q, 2)),
        Counted(2),
        [
            MessagePurged(1, message(3), 1, "dead letter deleted"),
            MessagePurged(1, message(2), 1, "dead letter deleted"),
        ],
    ),
    Row("no queue to respawn in", [], (0, Respawn(Q, 5, None)), NoSuchQueue(Q)),
    Row("nothing to respawn", [A_QUEUE], (0, Respawn(Q, 5, None)), Counted(0)),
    Row(
        "the one that died first comes back first",
        TWO_DEAD,
        (70, Respawn(Q, 1, None)),
        Counted(1),
        [MessageRespawned(1, message(3), 1, None)],
    ),
    Row(
        "all come back with the time to live that is given",
        TWO_DEAD,
        (70, Respawn(Q, 9, 30)),
        Counted(2),
        [MessageRespawned(1, message(3), 1, 100), MessageRespawned(1, message(2), 1, 100)],
    ),
    Row(
        "one that equals an unread message comes back as its copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, publish("1", name=COLLAPSING, tries=1)),
            (0, claim(COLLAPSING)),
            (100, DUE),
            (100, publish("1", name=COLLAPSING)),
        ],
        (100, Respawn(COLLAPSING, 1, None)),
        Counted(1),
        [MessageRespawned(1, message(2), 1, None, COPY)],
    ),
)
def test_dead_letters_are_dropped_or_brought_back_oldest_first(row: Row) -> None:
    holds(row)


def test_a_respawned_message_stands_behind_what_is_ready_with_its_id_and_one_try() -> None:
    store = given([*TWO_DEAD, (70, publish("c")), (80, Respawn(Q, 1, None))])
    assert done(store, 80, claim(limit=9)) == delivered(
        delivery(message(8, 70), "c", at_ms=180, published_at_ms=70),
        delivery(message(3), "b", at_ms=180, tries_left=0, attempt=2),
    )
