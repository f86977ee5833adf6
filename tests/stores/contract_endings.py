"""How messages end: expired, purged, dead, or equal to another."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.commands import (
    Acknowledge,
    Draft,
    DropDead,
    Publish,
    Purge,
    Respawn,
    UpdateQueue,
)
from penstock.core.model import Content, Counts, Phase, Redrive, Settings
from penstock.core.outcomes import (
    Counted,
    Ended,
    Published,
)
from tests.engine.driving import START_MS
from tests.stores.bench import DEDUP, MANY, OTHER, Bench, Q, StoreTests


class EndingContract(StoreTests):
    """Part of the contract of every store."""

    # The end of messages

    def test_an_expired_message_is_gone_by_itself(self, bench: Bench) -> None:
        bench.publish("ready", ttl_ms=100)
        bench.publish("delayed", delay_ms=500, ttl_ms=100)
        bench.publish("stays")
        bench.advance(99)
        assert bench.counts() == Counts(ready=2, delayed=1)
        bench.advance(1)
        assert bench.counts() == Counts(ready=1)
        assert bench.claimed_bodies() == ["stays"]

    def test_retention_counts_from_the_publish_under_the_setting_of_now(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create(settings=Settings(retention_ms=1000))
        bench.publish("a")
        bench.advance(600)
        bench.publish("b")
        restart()
        bench.advance(400)
        assert bench.peeked_bodies(Phase.READY) == ["b"]
        bench.ask(UpdateQueue(Q, Settings(retention_ms=100)))
        assert bench.peeked_bodies(Phase.READY) == []
        assert bench.shown().oldest_published_at_ms is None

    def test_more_expire_at_once_than_one_slice_holds(self, bench: Bench) -> None:
        bench.publish(*["old"] * MANY, ttl_ms=100)
        bench.publish("new")
        bench.jump(100)
        assert bench.counts() == Counts(ready=1)

    def test_what_expires_behind_many_claims_is_gone_by_itself_too(self, bench: Bench) -> None:
        bench.create(settings=Settings(retention_ms=100))
        bench.publish(*["claimed"] * MANY)
        bench.claim(limit=MANY, hidden_ms=5000)
        bench.publish("waiting")
        bench.advance(100)
        assert bench.peeked_bodies(Phase.READY) == []
        assert bench.counts() == Counts(claimed=MANY)

    def test_expired_while_claimed_a_message_can_be_acknowledged_but_is_not_delivered_again(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        (acknowledged, _) = bench.publish("acknowledged", "forgotten", ttl_ms=100)
        bench.claim(limit=2, hidden_ms=500)
        bench.advance(200)
        restart()
        assert bench.counts() == Counts(claimed=2)
        assert bench.ask(Acknowledge("default", "q", (acknowledged,), 1)) == Ended((True,))
        bench.advance(300)
        assert bench.claimed_bodies() == []
        assert bench.counts() == Counts()

    def test_a_purge_ends_what_is_in_the_phases_asked_for(self, bench: Bench) -> None:
        bench.publish("claimed", tries=1)
        bench.claim(hidden_ms=500)
        bench.publish("delayed", delay_ms=500)
        bench.publish("ready")
        assert bench.ask(Purge(Q, (Phase.READY, Phase.DELAYED))) == Counted(2)
        assert bench.counts() == Counts(claimed=1)

    def test_a_purge_of_many_ends_all_that_was_there_when_it_was_asked_for(self, bench: Bench) -> None:
        bench.publish(*["old"] * MANY * 2)
        purge = bench.submit(Purge(Q, (Phase.READY,)))
        bench.engine.run()
        bench.publish("new")
        assert purge.outcome == Counted(MANY * 2)
        assert bench.claimed_bodies() == ["new"]

    # Dead letters

    def test_a_message_out_of_tries_is_in_the_sink_of_its_queue(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        (message_id,) = bench.publish("a", tries=2, ttl_ms=10_000)
        for _ in range(2):
            bench.claim(hidden_ms=100)
            bench.advance(100)
        assert bench.counts() == Counts(dead=1)
        restart()
        bench.advance(20_000)
        assert bench.claimed_bodies() == []
        assert bench.peeked_bodies(Phase.DEAD) == ["a"]
        assert bench.inspect(message_id).expires_at_ms is None
        assert bench.shown().oldest_published_at_ms is None

    def test_dead_letters_come_back_oldest_first_with_one_try(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("a", "b", "c", tries=1)
        for _ in range(3):
            bench.claim(hidden_ms=100)
            bench.advance(100)
        assert bench.ask(Respawn(Q, 2, 5000)) == Counted(2)
        restart()
        deliveries = bench.claim(limit=9, hidden_ms=100)
        assert [d.content.body for d in deliveries] == [b"a", b"b"]
        assert [d.tries_left for d in deliveries] == [0, 0]
        assert bench.counts() == Counts(claimed=2, dead=1)
        bench.advance(100)
        assert bench.counts() == Counts(dead=3)

    def test_many_dead_letters_are_dropped_and_respawned_slice_by_slice(self, bench: Bench) -> None:
        bodies = [str(number) for number in range(MANY * 2)]
        bench.publish(*bodies, tries=1)
        bench.claim(limit=MANY * 2, hidden_ms=100)
        bench.jump(100)
        assert bench.ask(DropDead(Q, MANY)) == Counted(MANY)
        assert bench.peeked_bodies(Phase.DEAD) == bodies[MANY:]
        assert bench.ask(Respawn(Q, 10_000, None)) == Counted(MANY)
        assert bench.claimed_bodies() == bodies[MANY:]

    def test_a_message_received_too_often_is_in_the_dead_letter_queue(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create(OTHER)
        bench.create(settings=Settings(redrive=Redrive(2, "other")))
        (message_id,) = bench.publish("a")
        for _ in range(2):
            bench.claim(hidden_ms=100)
            restart()
            bench.advance(100)
        assert bench.counts() == Counts()
        assert bench.counts(OTHER) == Counts(ready=1)
        restart()
        (delivery,) = bench.claim(OTHER)
        assert (delivery.id, delivery.receives, delivery.attempt) == (message_id, 1, 3)
        assert delivery.published_at_ms == START_MS
        assert bench.ask(Acknowledge("default", "q", (message_id,))) == Ended((False,))
        assert bench.ask(Acknowledge("default", "other", (message_id,))) == Ended((True,))

    # Equal messages

    def test_a_body_that_is_in_the_queue_is_not_published_twice(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create(settings=Settings(deduplicate=True))
        (first,) = bench.publish("a")
        assert bench.publish("a", "b", "a")[::2] == [first, first]
        restart()
        assert bench.publish("a") == [first]
        bench.claim()
        assert bench.publish("a") == [first]
        bench.ask(Acknowledge("default", "q", (first,)))
        assert bench.publish("a") != [first]

    def test_unread_copies_become_one_at_the_next_claim(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("[1]", "2", "[ 1 ]", name=DEDUP)
        assert bench.counts(DEDUP) == Counts(ready=3)
        assert bench.peeked_bodies(Phase.READY, Phase.COPY, name=DEDUP) == ["[1]", "2", "[ 1 ]"]
        restart()
        assert bench.claimed_bodies(DEDUP) == ["[1]", "2"]
        bench.publish("[1]", name=DEDUP)
        assert bench.claimed_bodies(DEDUP) == ["[1]"]

    def test_a_copy_is_handed_out_when_its_original_is_gone(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        original, _ = bench.publish("1", "1", name=DEDUP)
        bench.ask(Acknowledge("dedup", "q", (original,)))
        restart()
        assert bench.claimed_bodies(DEDUP) == ["1"]

    def test_more_copies_than_one_slice_holds_become_one(self, bench: Bench) -> None:
        bench.publish(*["1"] * MANY * 6, name=DEDUP)
        assert bench.claimed_bodies(DEDUP) == ["1"]
        assert bench.counts(DEDUP) == Counts(claimed=1)

    def test_a_key_answers_with_the_same_ids_for_ever(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create()
        publish = Publish(Q, (Draft(Content(b"a")), Draft(Content(b"b"))), idempotency_key="k")
        first = bench.ask(publish)
        assert isinstance(first, Published)
        restart()
        bench.claim(limit=2)
        again = bench.ask(publish)
        assert isinstance(again, Published)
        assert [receipt.id for receipt in again.receipts] == [receipt.id for receipt in first.receipts]
        assert bench.counts() == Counts(claimed=2)

    def test_of_very_many_keys_the_oldest_is_forgotten(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create()
        for number in range(4097):
            bench.submit(Publish(Q, (), idempotency_key=str(number)))
        bench.settle()
        restart()
        queue = bench.store.queue(Q)
        assert queue is not None
        assert bench.store.remembered(queue, "0") is None
        assert bench.store.remembered(queue, "1") == ()
        assert bench.store.remembered(queue, "4096") == ()
