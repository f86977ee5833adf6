"""What the rules may ask of a store. Reading changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Message, MoveState, Phase, Queue, QueueName
from penstock.core.traits import Traits


class View(Protocol):
    """The contents of a store at the moment of a decision."""

    @property
    def traits(self) -> Traits:
        """What the store can keep."""
        ...

    @property
    def last_sequence(self) -> int:
        """The journal number of the newest event, 0 before the first."""
        ...

    @property
    def last_queue_number(self) -> int:
        """The highest number any queue ever had, 0 before the first."""
        ...

    def queue(self, name: QueueName) -> Queue | None:
        """The queue of that name, unless there is none or it was deleted."""
        ...

    def queue_by_number(self, number: int) -> Queue | None:
        """The same by number."""
        ...

    def queues(self, namespace: str) -> Sequence[Queue]:
        """The queues of a namespace in the order of their creation."""
        ...

    def counts(self, queue: Queue) -> Counts:
        """How many messages are in each phase, kept rather than counted."""
        ...

    def oldest_published_at_ms(self, queue: Queue) -> int | None:
        """The publish time of the oldest message that is not a dead letter."""
        ...

    def message(self, message_id: MessageId) -> Message | None:
        """The message of that id in any phase, unless its queue was deleted."""
        ...

    def content(self, message: Message) -> Content:
        """The body of a message and what came with it."""
        ...

    def listed(self, queue: Queue, phase: Phase, limit: int) -> Sequence[Message]:
        """The first messages in a phase, by `at_ms` and then by sequence.

        For READY this is the line in which consumers get them.
        """
        ...

    def by_sequence(self, queue: Queue, after: int, last: int, limit: int) -> Sequence[Message]:
        """The first messages in any phase with `after` < sequence <= `last`, by sequence."""
        ...

    def expired(self, queue: Queue, now_ms: int, limit: int) -> Sequence[Message]:
        """The first READY, DELAYED or COPY messages whose time is over.

        First those whose own time is, by that moment and then by sequence; then those past the queue's
        retention, by sequence.
        """
        ...

    def twin(self, queue: Queue, match_key: bytes) -> MessageId | None:
        """The message that a new one with this key would equal.

        In a queue that collapses: the first unread one. In any other: one in any phase.
        """
        ...

    def remembered(self, queue: Queue, key: str) -> tuple[MessageId, ...] | None:
        """The ids that a publish with this idempotency key gave, if it is still known."""
        ...

    def move(self, reference: str) -> MoveState | None:
        """The move of that reference, if it is still known."""
        ...
