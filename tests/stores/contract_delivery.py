"""Handing messages out, and what consumers say of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.commands import (
    Acknowledge,
    Draft,
    IfMissing,
    Inspect,
    Publish,
    ReleaseAll,
    Renew,
)
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts
from penstock.core.outcomes import (
    Counted,
    Delivered,
    Ended,
    Published,
    Renewed,
)
from tests.engine.driving import START_MS, lasting_id
from tests.stores.bench import MANY, Bench, Q, StoreTests


class DeliveryContract(StoreTests):
    """Part of the contract of every store."""

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
