"""The folders keep that part of the contract that they have a place for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    Draft,
    IfMissing,
    Publish,
    PublishAll,
    Purge,
    Renew,
    Republish,
    StartMove,
    UpdateQueue,
)
from penstock.core.model import Content, Counts, Phase, QueueName, Redrive, Settings
from penstock.core.outcomes import Ended, NoSuchQueue, QueueShown, Refused
from penstock.core.store import Store
from penstock.core.traits import FOR_EVER_MS
from penstock.engine.engine import Engine
from penstock.stores.spool import SpoolStore
from tests.engine.driving import START_MS
from tests.stores.bench import DEDUP, MANY, Bench, Q
from tests.stores.contract import StoreContract

DELAY_MS = 1000
MADE = QueueName("default", "made")
CREATE = IfMissing.CREATE


class SpoolBench(Bench):
    """A bench whose ids are those of the store."""

    def start(self, store: Store) -> None:
        assert isinstance(store, SpoolStore)
        self.store = store
        self.engine = Engine(store, lambda: self.wall_ms, store.ids)


def contents(store: Store) -> dict[str, Any]:
    """What is in the folders. Queues have numbers and messages an attempt only while a process lives."""
    return {
        queue.name.name: (store.counts(queue), store.oldest_published_at_ms(queue))
        for queue in sorted(store.queues("default"), key=lambda queue: queue.name)
    } | {message.id.hex(): store.content(message) for message in store.all_messages()}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[SpoolBench]:
    """Each test ends with the store's own check, and with the same contents after a restart."""
    bench = SpoolBench(SpoolStore(tmp_path, DELAY_MS, reaps=False, now_ms=START_MS))
    yield bench
    bench.store.check()
    kept = contents(bench.store)
    bench.store.close()
    store = SpoolStore(tmp_path, DELAY_MS, reaps=False, now_ms=bench.wall_ms)
    assert contents(store) == kept
    store.close()


@pytest.fixture
def restart(bench: SpoolBench, tmp_path: Path) -> Callable[[], None]:
    def start_again() -> None:
        bench.store.close()
        bench.start(SpoolStore(tmp_path, DELAY_MS, reaps=False, now_ms=bench.wall_ms))

    return start_again


KEPT = [
    StoreContract.test_messages_are_handed_out_in_the_order_of_their_publish,
    StoreContract.test_an_unknown_tag_makes_an_unknown_id,
    StoreContract.test_all_claims_are_released_slice_by_slice,
    StoreContract.test_a_purge_of_many_ends_all_that_was_there_when_it_was_asked_for,
]


@pytest.mark.parametrize("clause", KEPT, ids=lambda clause: clause.__name__.removeprefix("test_"))
def test_the_spool_keeps_this_clause_of_the_contract(clause: Callable[..., None], bench: SpoolBench) -> None:
    clause(None, bench)


def test_a_queue_made_again_knows_nothing_of_the_messages_of_the_old_one(
    bench: SpoolBench, restart: Callable[[], None]
) -> None:
    old = bench.publish("a", "b", *map(str, range(MANY)))
    bench.claim()
    bench.ask(DeleteQueue(Q))
    bench.ask(CreateQueue(Q, None))
    restart()
    assert bench.ask(Acknowledge("default", "q", tuple(old[:2]))) == Ended((False, False))
    bench.advance(DELAY_MS)
    assert bench.claimed_bodies() == []


def test_the_oldest_message_is_the_one_published_first_claimed_or_not(bench: SpoolBench) -> None:
    bench.publish("a")
    bench.advance(10)
    ids = bench.publish("b")
    bench.claim(limit=2)
    assert bench.shown().oldest_published_at_ms == START_MS
    bench.advance(10)
    bench.publish("c")
    assert bench.shown().oldest_published_at_ms == START_MS
    bench.ask(Purge(Q, (Phase.READY,)))
    assert bench.shown().counts == Counts(claimed=2)
    bench.ask(Acknowledge("default", "q", tuple(ids)))
    assert bench.shown().oldest_published_at_ms == START_MS


def test_a_message_that_comes_back_is_in_its_old_place_in_line(bench: SpoolBench) -> None:
    bench.publish("a", "b")
    assert bench.claimed_bodies(limit=1) == ["a"]
    bench.advance(DELAY_MS)
    assert bench.claimed_bodies(limit=2) == ["a", "b"]


def test_a_long_line_keeps_its_order_through_a_restart(
    bench: SpoolBench, restart: Callable[[], None]
) -> None:
    bodies = [str(number) for number in range(1200)]
    for start in range(0, 1200, 200):
        bench.publish(*bodies[start : start + 200])
    assert bench.claimed_bodies(limit=500) == bodies[:500]
    restart()
    assert bench.claimed_bodies(limit=1000) == bodies[500:]


KEEPS_ONE_DAY = Settings(visibility_ms=DELAY_MS, retention_ms=86_400_000)
TYPED = Content(b"", "text/plain")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (CreateQueue(Q, Settings()), "another visibility timeout"),
        (CreateQueue(Q, KEEPS_ONE_DAY), "a retention timeout"),
        (CreateQueue(Q, Settings(DELAY_MS, delay_ms=5)), "a delay"),
        (CreateQueue(Q, Settings(DELAY_MS, deduplicate=True)), "de-duplication"),
        (CreateQueue(Q, Settings(DELAY_MS, redrive=Redrive(3, "made"))), "a redrive policy"),
        (UpdateQueue(MADE, Settings(DELAY_MS, redrive=Redrive(3, "made"))), "a redrive policy"),
        (CreateQueue(QueueName("elsewhere", "q"), None), "namespace 'default' only"),
        (CreateQueue(QueueName("default", "a.b"), None), "cannot have a queue of that name"),
        (Publish(MADE, (Draft(Content(b""), delay_ms=5),)), "delay"),
        (Publish(MADE, (Draft(Content(b""), ttl_ms=5),)), "time to live"),
        (Publish(MADE, (Draft(Content(b""), tries=1),)), "number of tries"),
        (Publish(MADE, (Draft(TYPED, is_typed=True),)), "content type"),
        (Publish(MADE, (Draft(Content(b"", content_encoding="gzip"), is_typed=True),)), "encoding"),
        (Publish(MADE, (Draft(Content(b"", trace_id="1"), is_typed=True),)), "trace id"),
        (Publish(MADE, (Draft(Content(b"")),), idempotency_key="k"), "idempotency key"),
        (PublishAll((Publish(MADE, (Draft(Content(b"")),)), Publish(DEDUP, (), CREATE))), "namespace"),
        (Republish(MADE, bytes(16), Draft(Content(b""))), "replace one message"),
        (Claim((MADE,), hidden_ms=DELAY_MS + 1), "hides a message for 1 s, for no other time"),
        (Renew(MADE, (bytes(16),), DELAY_MS), "cannot prolong a claim"),
        (StartMove(MADE, Q), "cannot move messages"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_the_folders_have_no_place_for_is_refused_in_a_sentence(
    bench: SpoolBench, tmp_path: Path, command: Command, words: str
) -> None:
    bench.ask(CreateQueue(MADE, None))
    before = sorted(tmp_path.rglob("*"))
    outcome = bench.ask(command)
    assert isinstance(outcome, Refused)
    assert words in outcome.reason
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_queue_is_told_before_what_it_could_not_keep(bench: SpoolBench) -> None:
    assert bench.ask(UpdateQueue(Q, KEEPS_ONE_DAY)) == NoSuchQueue(Q)
    assert bench.ask(Publish(Q, (Draft(TYPED, is_typed=True),))) == NoSuchQueue(Q)


def test_settings_that_every_queue_has_are_accepted(bench: SpoolBench) -> None:
    for_ever = Settings(DELAY_MS, retention_ms=FOR_EVER_MS)
    outcome = bench.ask(CreateQueue(Q, for_ever))
    assert isinstance(outcome, QueueShown)
    assert outcome.settings == Settings(DELAY_MS)
    assert isinstance(bench.ask(UpdateQueue(Q, for_ever)), QueueShown)


def test_a_type_that_nobody_was_promised_is_left_out(bench: SpoolBench) -> None:
    bench.ask(Publish(Q, (Draft(TYPED),), CREATE))
    assert bench.claim()[0].content == Content(b"")


def test_the_journal_says_that_nothing_is_remembered(bench: SpoolBench) -> None:
    bench.publish("a")
    trimmed_to, newest = bench.store.journal_reader().bounds()
    assert trimmed_to == newest == bench.store.last_sequence
    assert list(bench.store.journal_reader().records(0, 10)) == []
