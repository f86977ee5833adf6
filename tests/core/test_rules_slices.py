"""What touches very many messages is done in slices, so that no command holds up the others."""

from __future__ import annotations

from penstock.core.commands import DropDead, Peek, Purge, ReleaseAll, Respawn
from penstock.core.limits import DELIVERED_BYTES_MAX, SLICE
from penstock.core.model import Counts
from penstock.core.outcomes import Counted, Delivered, Unfinished
from penstock.stores.memory import MemoryStore
from tests.core.table import (
    CLAIMED,
    DEAD_LETTERS,
    DUE,
    READY,
    Q,
    Step,
    claim,
    create,
    decided,
    done,
    given,
    publish,
    redrive,
    update,
)

A_QUEUE: Step = (0, create())
BODIES = [str(number) for number in range(2 * SLICE + 10)]
LONG: list[Step] = [A_QUEUE, (0, publish(*BODIES))]
LONG_CLAIMED: list[Step] = [*LONG, (0, claim(limit=len(BODIES)))]
LONG_DEAD: list[Step] = [
    A_QUEUE,
    (0, publish(*BODIES, tries=1)),
    (0, claim(limit=len(BODIES))),
    *[(100, DUE)] * 3,
]


def counts(store: MemoryStore) -> Counts:
    queue = store.queue(Q)
    assert queue is not None
    return store.counts(queue)


def slices_of(store: MemoryStore, command: Purge | DropDead | Respawn | ReleaseAll) -> list[int]:
    """How many events each slice of a command has."""
    sizes = []
    while True:
        outcome, events = decided(store, 200, command)
        store.apply(events, 200, "")
        sizes.append(len(events))
        if not isinstance(outcome, Unfinished):
            assert outcome == Counted(sum(sizes))
            return sizes
        assert isinstance(outcome.rest, type(command))
        command = outcome.rest


def test_a_long_purge_is_done_in_slices() -> None:
    store = given(LONG)
    assert slices_of(store, Purge(Q, (READY,))) == [SLICE, SLICE, 10]
    assert counts(store) == Counts()


def test_a_purge_goes_on_past_slices_in_which_there_is_nothing_for_it() -> None:
    store = given([*LONG_CLAIMED, (0, publish("ready"))])
    assert slices_of(store, Purge(Q, (READY,))) == [0, 0, 1]
    assert counts(store) == Counts(claimed=len(BODIES))


def test_a_purge_spares_what_is_published_while_it_goes_on() -> None:
    store = given(LONG)
    outcome, events = decided(store, 0, Purge(Q, (READY,)))
    store.apply(events, 0, "")
    done(store, 0, publish("late"))
    assert isinstance(outcome, Unfinished)
    assert done(store, 0, outcome.rest) == Counted(len(BODIES))
    assert counts(store) == Counts(ready=1)


def test_dead_letters_are_dropped_in_slices() -> None:
    store = given(LONG_DEAD)
    assert slices_of(store, DropDead(Q, SLICE + 1)) == [SLICE, 1]
    assert counts(store) == Counts(dead=SLICE + 9)


def test_dead_letters_are_respawned_in_slices() -> None:
    store = given(LONG_DEAD)
    assert slices_of(store, Respawn(Q, 10_000, None)) == [SLICE, SLICE, 10]
    assert counts(store) == Counts(ready=len(BODIES))


def test_claims_are_released_in_slices_but_none_that_was_claimed_meanwhile() -> None:
    store = given(LONG_CLAIMED)
    assert slices_of(store, ReleaseAll(Q)) == [SLICE, SLICE, 10]
    store = given(LONG_CLAIMED)
    outcome, events = decided(store, 200, ReleaseAll(Q))
    store.apply(events, 200, "")
    done(store, 200, claim(limit=SLICE, hidden_ms=10_000))
    assert isinstance(outcome, Unfinished)
    assert done(store, 200, outcome.rest) == Counted(len(BODIES))
    assert counts(store) == Counts(ready=SLICE + 10, claimed=SLICE)


def test_everything_that_is_due_is_done_in_slices_of_each_kind() -> None:
    store = given([A_QUEUE, (0, publish(*BODIES, delay_ms=50)), (0, publish(*BODIES, ttl_ms=50))])
    sizes = []
    while events := decided(store, 50, DUE)[1]:
        store.apply(events, 50, "")
        sizes.append(len(events))
    assert sizes == [2 * SLICE, 2 * SLICE, 20]
    assert counts(store) == Counts(ready=len(BODIES))


def test_a_claim_gets_past_any_number_of_expired_messages() -> None:
    store = given([A_QUEUE, (0, publish(*BODIES, ttl_ms=50)), (0, publish("alive"))])
    found = done(store, 50, claim())
    assert isinstance(found, Delivered)
    assert [one.content.body for one in found.messages] == [b"alive"]


def test_a_large_claim_gets_past_an_unfit_message_far_down_the_line() -> None:
    store = given(
        [
            (0, create(DEAD_LETTERS)),
            A_QUEUE,
            (0, publish("received")),
            (0, claim(hidden_ms=10)),
            (0, publish(*BODIES)),
            (10, DUE),
            (10, update(redrive=redrive(1))),
        ]
    )
    found = done(store, 20, claim(limit=1000))
    assert isinstance(found, Delivered)
    assert [one.content.body.decode() for one in found.messages] == BODIES


def test_the_bodies_of_one_answer_are_bounded_but_a_single_one_is_handed_out_whatever_its_size() -> None:
    large, small = "x" * (DELIVERED_BYTES_MAX + 1), "y" * (DELIVERED_BYTES_MAX // 2)
    store = given([A_QUEUE, (0, publish(large, small, small, small))])
    sizes = []
    for _ in range(3):
        found = done(store, 0, claim(limit=10))
        assert isinstance(found, Delivered)
        sizes.append([len(one.content.body) for one in found.messages])
    assert sizes == [[len(large)], [len(small)] * 2, [len(small)]]
    seen = done(store, 0, Peek(Q, 10, (CLAIMED,)))
    assert isinstance(seen, Delivered)
    assert len(seen.messages) == 1
