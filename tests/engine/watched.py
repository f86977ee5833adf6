"""A memory store that can be watched, and made to fail like a disk."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.errors import StoreFailed
from penstock.core.events import Event
from penstock.core.ids import MessageId
from penstock.core.model import Content, Message, Queue, QueueName
from penstock.core.outcomes import Outcome
from penstock.stores.memory import MemoryStore


class WatchedStore(MemoryStore):
    """Notes its commits in a diary, and counts how often it is asked for a queue."""

    def __init__(self) -> None:
        super().__init__()
        self.diary: list[str] = []
        self.lookups = 0
        self.trims = 0
        self.trims_left = 0  # how many times trimming says that there is more
        self.fails_in = ""  # the name of the method that fails from now on

    def queue(self, name: QueueName) -> Queue | None:
        self.lookups += 1
        return super().queue(name)

    def apply(self, events: Sequence[Event], now_ms: int, dialect: str) -> None:
        self._may_fail("apply")
        super().apply(events, now_ms, dialect)

    def commit(self) -> None:
        self.diary.append("commit")
        self._may_fail("commit")

    def content(self, message: Message) -> Content:
        self._may_fail("content")
        return super().content(message)

    def due_queues(self, now_ms: int) -> Sequence[Queue]:
        self._may_fail("due_queues")
        return super().due_queues(now_ms)

    def trim_journal(self, now_ms: int) -> bool:  # noqa: ARG002 - there is nothing old in here
        self.trims += 1
        self.trims_left -= 1
        return self.trims_left >= 0

    def _may_fail(self, method: str) -> None:
        if self.fails_in == method:
            raise StoreFailed(f"the disk failed in {method}")

    @property
    def commits(self) -> int:
        return self.diary.count("commit")


class DiaryKeeper:
    """Somebody who asked, and who notes in the store's diary when the answer came."""

    def __init__(self, store: WatchedStore, name: str) -> None:
        self._store = store
        self._name = name
        self.outcome: Outcome | None = None

    def answer(self, outcome: Outcome) -> bool:
        self._store.diary.append(self._name)
        self.outcome = outcome
        return True


def failing_id(now_ms: int, sequence: int) -> MessageId:  # noqa: ARG001 - it never gets that far
    """A maker of ids with a bug."""
    raise ZeroDivisionError("a bug in deciding")
