"""A store under test: what most tests do with it, and what each of them ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.core.commands import (
    Claim,
    CreateQueue,
    DescribeQueue,
    Draft,
    IfMissing,
    Inspect,
    Peek,
    Publish,
    StartMove,
)
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Phase, QueueName, Settings
from penstock.core.outcomes import (
    Delivered,
    Delivery,
    MoveShown,
    Published,
    QueueShown,
)
from penstock.core.store import Store
from tests.engine.driving import Driver
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


class StoreTests:
    """Tests of a store that says how it is opened."""

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
