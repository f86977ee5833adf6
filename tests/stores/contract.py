"""What every store has to do, told in commands and outcomes.

A store's test class derives from `StoreContract` and says how the store is opened. Each test ends with the
store's own check, with the journal followed anew in an empty store, and with the store opened once more:
neither may change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.core.commands import (
    Acknowledge,
    Claim,
    CreateQueue,
    DeleteQueue,
    DescribeMove,
    DescribeQueue,
    Draft,
    DropDead,
    IfMissing,
    Inspect,
    ListQueues,
    Peek,
    Publish,
    Purge,
    ReleaseAll,
    Renew,
    Republish,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.events import MessagePurged, MoveEnded
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Phase, QueueName, Redrive, Settings
from penstock.core.outcomes import (
    Counted,
    Delivered,
    Delivery,
    Ended,
    MoveShown,
    NoSuchQueue,
    Published,
    QueueShown,
    QueuesListed,
    Renewed,
)
from penstock.core.store import Store
from tests.engine.driving import START_MS, Driver, lasting_id
from tests.stores.folding import contents, fold, records_of

Q = QueueName("default", "q")
OTHER = QueueName("default", "other")
DEDUP = QueueName("dedup", "q")
MANY = 300  # more than one slice


class Bench(Driver):
    """Short ways to say what most tests do."""

    def create(self, name: QueueName = Q, settings: Settings | None = None) -> None:
        assert isinstance(self.ask(CreateQueue(name, settings or Settings())), QueueShown)

    def publish(
        self,
        *bodies: str,
        name: QueueName = Q,
        delay_ms: int = 0,
        ttl_ms: int | None = None,
        tries: int | None = None,
    ) -> list[MessageId]:
        drafts = tuple(Draft(Content(body.encode()), delay_ms, ttl_ms, tries) for body in bodies)
        outcome = self.ask(Publish(name, drafts, IfMissing.CREATE))
        assert isinstance(outcome, Published)
        return [receipt.id for receipt in outcome.receipts]

    def claim(
        self, name: QueueName = Q, limit: int = 1, hidden_ms: int | None = 1000
    ) -> tuple[Delivery, ...]:
        outcome = self.ask(Claim((name,), limit, hidden_ms))
        assert isinstance(outcome, Delivered)
        return outcome.messages

    def claimed_bodies(self, name: QueueName = Q, limit: int = 1000) -> list[str]:
        return [delivery.content.body.decode() for delivery in self.claim(name, limit)]

    def peeked_bodies(self, *phases: Phase, name: QueueName = Q) -> list[str]:
        outcome = self.ask(Peek(name, 1000, phases))
        assert isinstance(outcome, Delivered)
        return [delivery.content.body.decode() for delivery in outcome.messages]

    def shown(self, name: QueueName = Q) -> QueueShown:
        outcome = self.ask(DescribeQueue(name))
        assert isinstance(outcome, QueueShown)
        return outcome

    def counts(self, name: QueueName = Q) -> Counts:
        return self.shown(name).counts

    def inspect(self, message_id: MessageId, name: QueueName = Q) -> Delivery:
        outcome = self.ask(Inspect(name, message_id))
        assert isinstance(outcome, Delivered)
        return outcome.messages[0]

    def move(self, source: QueueName, target: QueueName) -> str:
        outcome = self.ask(StartMove(source, target))
        assert isinstance(outcome, MoveShown)
        return outcome.move.reference


class StoreContract:
    """Every store passes all of this."""

    def open_store(self, directory: Path, opened_before: Store | None) -> Store:
        """Open the store in a directory; with `opened_before`, close that one and open the same again."""
        raise NotImplementedError

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = Bench(self.open_store(tmp_path, None))
        yield bench
        store = bench.store
        store.check()
        records = records_of(store)
        kept = contents(store, records)
        assert contents(fold(records), records) == kept
        store = self.open_store(tmp_path, store)
        store.check()
        assert contents(store, records_of(store)) == kept
        store.close()

    @pytest.fixture
    def restart(self, bench: Bench, tmp_path: Path) -> Callable[[], None]:
        """Stop and start in the middle of a test."""

        return lambda: bench.start(self.open_store(tmp_path, bench.store))

    # Publishing and claiming

    def test_messages_are_handed_out_in_the_order_of_their_publish(self, bench: Bench) -> None:
        bench.publish("a", "b")
        bench.advance(5)
        bench.publish("c")
        assert bench.claimed_bodies(limit=2) == ["a", "b"]
        assert bench.claimed_bodies(limit=2) == ["c"]
        assert bench.claimed_bodies() == []

    def test_a_backlog_longer_than_any_window_keeps_its_order(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bodies = [str(number) for number in range(2600)]
        for start in range(0, 2600, 200):
            bench.publish(*bodies[start : start + 200])
            bench.advance(1)
        assert bench.claimed_bodies(limit=700) == bodies[:700]
        restart()
        assert bench.claimed_bodies(limit=700) == bodies[700:1400]
        assert bench.counts() == Counts(ready=1200, claimed=1400)
        bench.ask(ReleaseAll(Q))
        assert bench.claimed_bodies(limit=1000) == bodies[1400:2400]
        assert bench.claimed_bodies(limit=1000) == bodies[2400:] + bodies[:800]
        assert bench.claimed_bodies(limit=1000) == bodies[800:1400]

    @pytest.mark.parametrize(
        "content",
        [
            Content(b""),
            Content(bytes(range(256)), "text/plain; charset=utf-8", "gzip", "0123"),
            Content(b"x" * 1_048_576),
        ],
        ids=["empty", "binary", "large"],
    )
    def test_a_content_comes_back_as_it_was_sent(
        self, bench: Bench, restart: Callable[[], None], content: Content
    ) -> None:
        outcome = bench.ask(Publish(Q, (Draft(content),), IfMissing.CREATE))
        assert isinstance(outcome, Published)
        message_id = outcome.receipts[0].id
        assert bench.inspect(message_id).content == content
        restart()
        assert bench.claim()[0].content == content
        assert bench.inspect(message_id).content == content

    def test_a_delayed_message_is_ready_at_its_moment(self, bench: Bench) -> None:
        bench.publish("late", delay_ms=100)
        bench.publish("later", delay_ms=200)
        bench.advance(99)
        assert bench.claimed_bodies() == []
        assert bench.counts() == Counts(delayed=2)
        bench.advance(1)
        assert bench.claimed_bodies() == ["late"]
        bench.advance(100)
        assert bench.claimed_bodies() == ["later"]

    def test_delays_and_claims_run_on_through_a_restart(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("claimed")
        bench.claim(hidden_ms=100)
        bench.publish("delayed", delay_ms=100)
        restart()
        assert bench.counts() == Counts(delayed=1, claimed=1)
        bench.advance(99)
        assert bench.claimed_bodies() == []
        bench.advance(1)
        assert bench.claimed_bodies() == ["claimed", "delayed"]

    def test_what_fell_due_while_nobody_looked_is_done_at_the_start(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("claimed", "ready")
        bench.claim(hidden_ms=100)
        bench.publish("expired", ttl_ms=100)
        bench.wall_ms += 100_000
        restart()
        assert bench.counts() == Counts(ready=2)
        assert bench.claimed_bodies() == ["ready", "claimed"]

    def test_many_due_in_the_same_millisecond_are_all_ready_in_order(self, bench: Bench) -> None:
        bodies = [str(number) for number in range(MANY * 2)]
        bench.publish(*bodies, delay_ms=100)
        bench.advance(100)
        assert bench.claimed_bodies() == bodies

    def test_a_lapsed_claim_makes_a_message_ready_again_behind_the_others(self, bench: Bench) -> None:
        bench.publish("a")
        (first,) = bench.claim(hidden_ms=100)
        bench.publish("b")
        bench.advance(100)
        (b, again) = bench.claim(limit=2)
        assert b.content.body == b"b"
        assert (again.id, again.attempt, again.receives) == (first.id, 2, 2)

    def test_an_unknown_tag_makes_an_unknown_id(self, bench: Bench) -> None:
        (message_id,) = bench.publish("a")
        guessed = message_id[:-1] + bytes([message_id[-1] ^ 1])
        assert bench.ask(Acknowledge("default", None, (guessed,))) == Ended((False,))
        assert bench.ask(Inspect(Q, guessed)) == Delivered(())

    def test_an_id_of_an_event_that_is_no_publish_is_unknown(self, bench: Bench) -> None:
        bench.publish("a")
        bench.claim()
        for sequence in (1, 3, 999):
            message_id = self.id_of(sequence)
            assert bench.ask(Acknowledge("default", None, (message_id,))) == Ended((False,))

    @staticmethod
    def id_of(sequence: int) -> MessageId:
        return lasting_id(START_MS, sequence)

    # Answers

    def test_an_acknowledged_message_is_gone_for_good(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("a", "b", "c")
        deliveries = bench.claim(limit=2)
        assert bench.ask(Acknowledge("default", "q", (deliveries[0].id,), 1)) == Ended((True,))
        restart()
        assert bench.ask(Acknowledge("default", "q", (deliveries[0].id,))) == Ended((False,))
        assert bench.counts() == Counts(ready=1, claimed=1)
        bench.advance(1000)
        assert bench.claimed_bodies() == ["c", "b"]

    def test_the_number_of_a_delivery_fences_off_old_ones_across_a_restart(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("a")
        (first,) = bench.claim(hidden_ms=100)
        bench.advance(100)
        (second,) = bench.claim(hidden_ms=100)
        restart()
        assert bench.ask(Acknowledge("default", "q", (first.id,), first.attempt)) == Ended((False,))
        assert bench.ask(Acknowledge("default", "q", (second.id,), second.attempt)) == Ended((True,))

    def test_a_renewed_claim_lasts_as_long_as_it_was_renewed_for(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        (message_id,) = bench.publish("a")
        bench.claim(hidden_ms=100)
        assert bench.ask(Renew(Q, (message_id,), 500)) == Renewed((True,))
        restart()
        bench.advance(499)
        assert bench.counts() == Counts(claimed=1)
        bench.advance(1)
        assert bench.counts() == Counts(ready=1)

    def test_a_release_makes_a_message_ready_and_gives_its_try_back(self, bench: Bench) -> None:
        (message_id,) = bench.publish("a", tries=1)
        bench.claim()
        assert bench.ask(Renew(Q, (message_id,), 0)) == Renewed((True,))
        (again,) = bench.claim()
        assert (again.tries_left, again.receives, again.attempt) == (0, 1, 2)

    def test_all_claims_are_released_slice_by_slice(self, bench: Bench) -> None:
        bench.publish(*["x"] * MANY)
        bench.claim(limit=MANY)
        assert bench.ask(ReleaseAll(Q)) == Counted(MANY)
        assert bench.counts() == Counts(ready=MANY)

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

    # Queues

    def test_queues_are_listed_in_the_order_of_their_creation(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        names = [QueueName("default", name) for name in ("z", "a", "m")]
        for name in names:
            bench.create(name, Settings(visibility_ms=len(name.name)))
        bench.create(DEDUP)
        bench.ask(DeleteQueue(names[0]))
        bench.create(names[0])
        restart()
        listed = bench.ask(ListQueues("default"))
        assert isinstance(listed, QueuesListed)
        assert [name for name, _ in listed.queues] == [names[1], names[2], names[0]]

    def test_settings_are_kept_as_they_were_given(self, bench: Bench, restart: Callable[[], None]) -> None:
        settings = Settings(1, 2, 3_000, deduplicate=True, redrive=Redrive(4, "other"))
        bench.create(OTHER)
        bench.create(settings=settings)
        restart()
        assert bench.shown().settings == settings
        bench.ask(UpdateQueue(Q, Settings()))
        restart()
        assert bench.shown().settings == Settings()

    def test_a_deleted_queue_is_gone_at_once_and_its_messages_follow(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        ids = bench.publish(*["x"] * MANY * 2)
        bench.submit(DeleteQueue(Q))
        bench.engine.run()
        assert len(bench.store.deleted_queues()) == 1
        restart()
        outcome = bench.submit(Acknowledge("default", None, (ids[-1],)))
        bench.engine.run()
        assert outcome.outcome == Ended((False,))
        assert bench.ask(DescribeQueue(Q)) == NoSuchQueue(Q)
        bench.settle()
        assert list(bench.store.deleted_queues()) == []
        purged = [r.event for r in records_of(bench.store) if isinstance(r.event, MessagePurged)]
        assert [event.id for event in purged] == ids

    def test_claims_of_a_deleted_queue_end_with_it(self, bench: Bench) -> None:
        bench.create(OTHER)
        bench.create(settings=Settings(redrive=Redrive(1, "other")))
        bench.publish(*["x"] * MANY * 2)
        bench.claim(limit=MANY * 2, hidden_ms=100)
        bench.submit(DeleteQueue(Q))
        bench.engine.run()
        bench.jump(100)
        assert bench.counts(OTHER) == Counts()

    def test_a_queue_made_again_under_its_name_knows_nothing_of_the_old_one(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.create(settings=Settings(deduplicate=True))
        old = bench.publish("x", *map(str, range(MANY)))
        bench.claim(hidden_ms=100)
        bench.submit(DeleteQueue(Q))
        bench.submit(CreateQueue(Q, Settings(deduplicate=True)))
        bench.engine.run()
        restart()
        (new,) = bench.publish("x")
        assert new != old[0]
        assert bench.ask(Acknowledge("default", "q", tuple(old[:2]))) == Ended((False, False))
        assert bench.ask(Renew(Q, (old[0],), 1000)) == Renewed((False,))
        bench.advance(100)
        assert bench.counts() == Counts(ready=1)

    def test_a_number_of_a_queue_is_never_used_again(self, bench: Bench, restart: Callable[[], None]) -> None:
        bench.create()
        bench.create(OTHER)
        bench.ask(DeleteQueue(OTHER))
        restart()
        bench.create(OTHER)
        queue = bench.store.queue(OTHER)
        assert queue is not None
        assert queue.number == 3

    def test_the_oldest_message_is_the_one_published_first_that_is_not_dead(self, bench: Bench) -> None:
        bench.publish("dead", tries=1)
        bench.claim(hidden_ms=10)
        bench.advance(10)
        bench.publish("a")
        bench.advance(10)
        bench.publish("b")
        assert bench.shown().oldest_published_at_ms == START_MS + 10
        bench.ask(Respawn(Q, 1, None))
        assert bench.shown().oldest_published_at_ms == START_MS

    # Moves

    def test_a_move_takes_everything_but_what_comes_later(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("claimed", "ready")
        bench.claim(hidden_ms=500)
        bench.publish("delayed", delay_ms=500)
        reference = bench.submit(StartMove(Q, OTHER))
        late = bench.submit(Publish(Q, (Draft(Content(b"late")),)))
        bench.settle()
        assert isinstance(reference.outcome, MoveShown)
        assert isinstance(late.outcome, Published)
        restart()
        shown = bench.ask(DescribeMove(reference.outcome.move.reference))
        assert isinstance(shown, MoveShown)
        assert shown.move.status == "COMPLETE"
        assert bench.claimed_bodies(OTHER) == ["claimed", "ready", "delayed"]
        assert bench.claimed_bodies() == ["late"]

    def test_a_move_under_way_goes_on_after_a_restart(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bodies = [str(number) for number in range(MANY * 3)]
        bench.publish(*bodies)
        bench.submit(StartMove(Q, OTHER))
        bench.engine.run()
        bench.engine.run()
        (move,) = bench.store.moves_under_way()
        queue = bench.store.queue(Q)
        assert queue is not None
        assert 0 < bench.store.counts(queue).ready < len(bodies)
        restart()
        assert bench.ask(DescribeMove(move.reference)) == MoveShown(move)
        bench.settle()
        assert bench.claimed_bodies(OTHER) == bodies
        assert bench.counts() == Counts()

    def test_two_moves_in_opposite_directions_both_end(self, bench: Bench) -> None:
        bench.publish(*["x"] * MANY)
        bench.publish(*["y"] * MANY, name=OTHER)
        moves = [bench.submit(StartMove(Q, OTHER)), bench.submit(StartMove(OTHER, Q))]
        bench.settle()
        for move in moves:
            assert isinstance(move.outcome, MoveShown)
            shown = bench.ask(DescribeMove(move.outcome.move.reference))
            assert isinstance(shown, MoveShown)
            assert shown.move.status == "COMPLETE"
        assert bench.counts().ready + bench.counts(OTHER).ready == MANY * 2

    def test_a_move_whose_queue_is_deleted_is_an_error(self, bench: Bench) -> None:
        bench.publish(*["x"] * MANY * 2)
        bench.submit(StartMove(Q, OTHER))
        bench.submit(DeleteQueue(OTHER))
        bench.settle()
        (move,) = [r.event for r in records_of(bench.store) if isinstance(r.event, MoveEnded)]
        assert move.status == "ERROR"
        assert bench.counts() == Counts(ready=MANY * 2)

    def test_a_moved_message_can_be_moved_and_republished_on(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        (message_id,) = bench.publish("a")
        bench.move(Q, OTHER)
        bench.move(OTHER, DEDUP)
        restart()
        bench.ask(Republish(DEDUP, message_id, Draft(Content(b"b"))))
        assert bench.claimed_bodies(DEDUP) == ["b"]

    # The clock and the journal

    def test_the_clock_never_shows_less_than_the_newest_event_after_a_restart(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.advance(5000)
        bench.publish("a")
        bench.wall_ms -= 3000
        restart()
        assert bench.engine.now_ms() == START_MS + 5000
        bench.publish("b")
        assert bench.claimed_bodies() == ["a", "b"]

    def test_the_journal_has_every_event_under_its_number(
        self, bench: Bench, restart: Callable[[], None]
    ) -> None:
        bench.publish("a")
        bench.claim()
        restart()
        bench.ask(DeleteQueue(Q))
        bench.settle()
        records = records_of(bench.store)
        assert [record.sequence for record in records] == list(range(1, len(records) + 1))
        assert {record.queue_name for record in records} == {Q}
        kinds = [type(record.event).__name__ for record in records]
        assert kinds == [
            "QueueCreated",
            "MessagePublished",
            "MessageClaimed",
            "QueueDeleted",
            "MessagePurged",
        ]

    def test_the_journal_is_read_from_any_number_on(self, bench: Bench) -> None:
        bench.publish(*["x"] * 10)
        reader = bench.store.journal_reader()
        assert reader.bounds() == (0, 11)
        read = [record.sequence for piece in reader.records(4, 3) for record in piece]
        assert read == [5, 6, 7]
        assert list(reader.records(11, 3)) == []
