"""Moves: everything of one queue into another, slice by slice, while both are in use."""

from __future__ import annotations

from hashlib import sha256

from penstock.core.commands import Acknowledge, DeleteQueue, DescribeMove, StartMove
from penstock.core.events import MessageMoved, MoveEnded, MoveStarted, QueueCreated
from penstock.core.ids import to_uuid
from penstock.core.limits import SLICE
from penstock.core.model import Counts, MoveState, Settings
from penstock.core.outcomes import Ended, MoveShown, NoSuchMove, Refused
from penstock.stores.memory import MemoryStore
from tests.core.table import (
    COLLAPSING,
    COPY,
    DUE,
    OTHER,
    Q,
    Row,
    Step,
    claim,
    create,
    decided,
    delivered,
    delivery,
    done,
    each,
    given,
    holds,
    message,
    publish,
)

# Queue 1 is the source, queue 2 the target.
QUEUES: list[Step] = [(0, create()), (0, create(OTHER))]
MOVE = StartMove(Q, OTHER)
ALSO_COLLAPSING = COLLAPSING._replace(name="other")
ONE = sha256(b"1").digest()


def move(sequence: int, last_sequence: int, status: str = "IN_PROGRESS", at_ms: int = 0) -> MoveState:
    return MoveState(to_uuid(message(sequence, at_ms)), Q, OTHER, 1, 2, last_sequence, status)


@each(
    Row(
        "a move is noted and told by its reference",
        [*QUEUES, (0, publish("a"))],
        (9, MOVE),
        MoveShown(move(4, 3, at_ms=9)),
        [MoveStarted(1, 2, to_uuid(message(4, 9)), 3)],
    ),
    Row(
        "queues that are not there are made on the go",
        [],
        (9, MOVE),
        MoveShown(move(3, 0, at_ms=9)),
        [
            QueueCreated(1, Q, Settings()),
            QueueCreated(2, OTHER, Settings()),
            MoveStarted(1, 2, to_uuid(message(3, 9)), 0),
        ],
    ),
    Row(
        "a queue cannot be moved to itself",
        QUEUES,
        (0, StartMove(Q, Q)),
        Refused("cannot move queue to itself"),
    ),
    Row("a move that is not known", QUEUES, (0, DescribeMove("nonsense")), NoSuchMove("nonsense")),
    Row(
        "a move under way",
        [*QUEUES, (0, MOVE)],
        (0, DescribeMove(move(3, 2).reference)),
        MoveShown(move(3, 2)),
    ),
    Row(
        "a move that is over",
        [*QUEUES, (0, MOVE), (0, DUE)],
        (0, DescribeMove(move(3, 2).reference)),
        MoveShown(move(3, 2, "COMPLETE")),
    ),
    Row(
        "a move whose queue was deleted",
        [*QUEUES, (0, MOVE), (0, DeleteQueue(OTHER)), (0, DUE)],
        (0, DescribeMove(move(3, 2).reference)),
        MoveShown(move(3, 2, "ERROR")),
    ),
)
def test_a_move_is_started_and_told_of(row: Row) -> None:
    holds(row)


@each(
    Row(
        "with nothing to carry it is complete",
        [*QUEUES, (0, MOVE)],
        (0, DUE),
        None,
        [MoveEnded(1, move(3, 2).reference, "COMPLETE")],
    ),
    Row(
        "a queue deleted meanwhile ends it",
        [*QUEUES, (0, MOVE), (0, DeleteQueue(Q))],
        (0, DUE),
        None,
        [MoveEnded(1, move(3, 2).reference, "ERROR")],
    ),
    Row(
        "ready and delayed messages are carried",
        [*QUEUES, (0, publish("a")), (0, publish("b", delay_ms=50)), (0, MOVE)],
        (9, DUE),
        None,
        [MessageMoved(1, message(3), 0, 2, 0, "move"), MessageMoved(1, message(4), 0, 2, 0, "move")],
    ),
    Row(
        "a claimed message is carried and its try given back",
        [*QUEUES, (0, publish("a")), (0, claim()), (100, DUE), (100, claim()), (100, MOVE)],
        (150, DUE),
        None,
        [MessageMoved(1, message(3), 2, 2, 1, "move")],
    ),
    Row(
        "dead letters stay",
        [*QUEUES, (0, publish("a", tries=1)), (0, claim()), (100, DUE), (100, MOVE)],
        (100, DUE),
        None,
        [MoveEnded(1, move(6, 5, at_ms=100).reference, "COMPLETE")],
    ),
    Row(
        "what was published after the call stays",
        [*QUEUES, (0, MOVE), (0, publish("late"))],
        (0, DUE),
        None,
        [MoveEnded(1, move(3, 2).reference, "COMPLETE")],
    ),
    Row(
        "a key means nothing in a queue that compares otherwise",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, create(OTHER, deduplicate=True)),
            (0, publish("1", name=COLLAPSING)),
            (0, StartMove(COLLAPSING, OTHER)),
        ],
        (0, DUE),
        None,
        [MessageMoved(1, message(3), 0, 2, 0, "move")],
    ),
    Row(
        "where both collapse copies a message that equals an unread one arrives as its copy",
        [
            (0, create(COLLAPSING, collapse=True)),
            (0, create(ALSO_COLLAPSING, collapse=True)),
            (0, publish("1", name=COLLAPSING)),
            (0, publish("1", name=ALSO_COLLAPSING)),
            (0, StartMove(COLLAPSING, ALSO_COLLAPSING)),
        ],
        (0, DUE),
        None,
        [MessageMoved(1, message(3), 0, 2, 0, "move", COPY, ONE)],
    ),
)
def test_a_move_carries_everything_but_dead_letters(row: Row) -> None:
    holds(row)


def test_a_moved_message_arrives_unclaimed_with_its_id_and_publish_time() -> None:
    store = given([*QUEUES, (0, publish("a")), (0, claim()), (10, MOVE), (20, DUE)])
    late = Acknowledge("default", "other", (message(3),), attempt=1)
    assert done(store, 20, late) == Ended((False,))
    assert done(store, 20, claim(OTHER)) == delivered(
        delivery(message(3), "a", at_ms=120, name=OTHER, attempt=2)
    )


def carried_in_slices(store: MemoryStore) -> list[int]:
    sizes = []
    while events := decided(store, 0, DUE)[1]:
        store.apply(events, 0, "")
        sizes.append(len(events))
    return sizes


def counts(store: MemoryStore) -> tuple[Counts, Counts]:
    source, target = store.queue(Q), store.queue(OTHER)
    assert source is not None
    assert target is not None
    return store.counts(source), store.counts(target)


def test_a_long_move_is_done_in_slices() -> None:
    store = given([*QUEUES, (0, publish(*["x"] * (2 * SLICE + 10))), (0, MOVE)])
    assert carried_in_slices(store) == [SLICE, SLICE, 10, 1]
    assert counts(store) == (Counts(), Counts(ready=2 * SLICE + 10))


def test_a_move_gets_past_slices_of_dead_letters() -> None:
    dead = ["x"] * (2 * SLICE)
    store = given(
        [*QUEUES, (0, publish(*dead, tries=1)), (0, claim(limit=len(dead), hidden_ms=0)), *[(0, DUE)] * 2]
    )
    done(store, 0, publish("alive"))
    done(store, 0, MOVE)
    assert carried_in_slices(store) == [1, 1]
    assert counts(store) == (Counts(dead=2 * SLICE), Counts(ready=1))


def test_messages_published_during_a_long_move_stay() -> None:
    store = given([*QUEUES, (0, publish(*["x"] * (SLICE + 1))), (0, MOVE), (0, DUE), (0, publish("late"))])
    assert carried_in_slices(store) == [1, 1]
    assert counts(store) == (Counts(ready=1), Counts(ready=SLICE + 1))
