"""What the engine asks of a store, beyond the rules' `View` of it.

A store applies events at once, so that the next decision sees them, and keeps them for good at `commit`.
It decides nothing. A fault in `apply` or `commit` is final: what was not committed is not kept, and the
engine never acknowledges anything on that store again. The one exception is `StoreFull` from `apply`, which
says that nothing was changed.

Where others change the same files, a decision may count on a message that is theirs by the time it is
applied. `apply` then leaves that message out, and the engine leaves it out of the answer: see `sharing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from penstock.core.commands import Command
from penstock.core.events import Event
from penstock.core.ids import MessageId
from penstock.core.model import Message, MoveState, Queue, QueueName
from penstock.core.record import Record
from penstock.core.view import View


class JournalReader(Protocol):
    """Reads committed events, from any thread."""

    def bounds(self) -> tuple[int, int]:
        """The sequence up to which the journal was trimmed, and the newest; 0 before the first."""
        ...

    def records(self, after: int, limit: int) -> Iterator[Sequence[Record]]:
        """Events with a sequence above `after`, in order, in pieces of moderate size."""
        ...


class Others(Protocol):
    """Whoever else changes what a store keeps: other servers and programs on the same files."""

    def follow(self, now_ms: int) -> Sequence[QueueName]:
        """Take in what they did since the last call; the queues in which messages became ready by it."""
        ...

    def look_for(self, command: Command) -> None:
        """Before a decision: look whether they made what the command names, if that could be unknown."""
        ...

    def taken(self) -> AbstractSet[MessageId]:
        """The messages that decisions since the last call counted on, and that they had taken first."""
        ...


class Store(View, Protocol):
    """One place where everything is kept."""

    @property
    def others(self) -> Others | None:
        """Who else may change it; None: nobody."""
        ...

    def apply(self, events: Sequence[Event], now_ms: int, dialect: str) -> None:
        """Follow events and write them down, not yet for good."""
        ...

    def commit(self) -> None:
        """Make everything applied so far stay, whatever happens to the machine."""
        ...

    def due_queues(self, now_ms: int) -> Sequence[Queue]:
        """The queues in which something is due to expire, become ready or be buried, by number."""
        ...

    def next_due_ms(self) -> int | None:
        """A moment before which `due_queues` has nothing; None: nothing is due ever."""
        ...

    def moves_under_way(self) -> Sequence[MoveState]:
        """The moves that are not over."""
        ...

    def deleted_queues(self) -> Sequence[Queue]:
        """The deleted queues that still have messages, by number."""
        ...

    def last_moment_ms(self) -> int:
        """The time of the newest event: the clock never shows less, also after a restart."""
        ...

    def trim_journal(self, now_ms: int) -> bool:
        """Forget a slice of old events; True if there may be more to forget."""
        ...

    def journal_reader(self) -> JournalReader:
        """A reader of the journal that does not disturb the store."""
        ...

    def check(self) -> None:
        """Assert that everything kept agrees with everything else."""
        ...

    def all_messages(self) -> Sequence[Message]:
        """Every message of every queue that was not deleted, by sequence; for tests and checks."""
        ...

    def close(self) -> None:
        """Commit nothing more and let go of the store."""
        ...
