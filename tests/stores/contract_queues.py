"""Whole queues: their settings, deletion and moves; the clock and the journal."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.commands import (
    Acknowledge,
    CreateQueue,
    DeleteQueue,
    DescribeMove,
    DescribeQueue,
    Draft,
    ListQueues,
    Publish,
    Renew,
    Republish,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.events import (
    MessagePurged,
    MoveEnded,
)
from penstock.core.model import Content, Counts, QueueName, Redrive, Settings
from penstock.core.outcomes import (
    Ended,
    MoveShown,
    NoSuchQueue,
    Published,
    QueuesListed,
    Renewed,
)
from tests.engine.driving import START_MS
from tests.stores.bench import DEDUP, MANY, OTHER, Bench, Q, StoreTests
from tests.stores.folding import records_of


class QueueContract(StoreTests):
    """Part of the contract of every store."""

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
