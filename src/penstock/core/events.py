"""What happened. Every change of the queue is one of these, and all of them are in the journal.

An event says everything a store needs to follow it: stores apply events and decide nothing, so that
the journal, applied in order to an empty store, gives the same contents again.
When it happened, its number and who asked for it are not in the event but in its journal record.

To change an event: add a field with a default, teach `journal.records` to write and read it, and raise
`journal.records.VERSION` if an old reader would misunderstand the new record.
"""

from __future__ import annotations

import msgspec

from penstock.core.ids import MessageId
from penstock.core.model import Content, Phase, QueueName, Settings


class QueueCreated(msgspec.Struct, frozen=True):
    """A queue began its life."""

    queue: int
    name: QueueName
    settings: Settings


class QueueChanged(msgspec.Struct, frozen=True):
    """A queue has other settings from now on."""

    queue: int
    settings: Settings


class QueueDeleted(msgspec.Struct, frozen=True):
    """A queue is gone for its clients; each of its messages is purged by an event of its own."""

    queue: int


class MessagePublished(msgspec.Struct, frozen=True, gc=False):
    """A message entered a queue."""

    queue: int
    id: MessageId
    content: Content
    phase: Phase  # READY, DELAYED or COPY
    available_at_ms: int
    expires_at_ms: int | None = None
    tries: int | None = None
    match_key: bytes | None = None


class MessageClaimed(msgspec.Struct, frozen=True, gc=False):
    """A consumer has it until `hidden_until_ms`."""

    queue: int
    id: MessageId
    attempt: int
    hidden_until_ms: int
    is_last_receive: bool = False


class MessageRenewed(msgspec.Struct, frozen=True, gc=False):
    """A claim was prolonged, or a lapsed one begun again."""

    queue: int
    id: MessageId
    attempt: int
    hidden_until_ms: int
    is_last_receive: bool = False


class MessageReadied(msgspec.Struct, frozen=True, gc=False):
    """A message can be claimed: its delay is over, or its claim lapsed or was released."""

    queue: int
    id: MessageId
    attempt: int
    available_at_ms: int
    reason: str  # due · lapsed · released · sole copy
    phase: Phase = Phase.READY  # or COPY
    gives_try_back: bool = False


class MessageAcknowledged(msgspec.Struct, frozen=True, gc=False):
    """A message is done with."""

    queue: int
    id: MessageId
    attempt: int
    reason: str = ""  # "unclaimed" if nobody held it, "republished" if another took its place


class MessageExpired(msgspec.Struct, frozen=True, gc=False):
    """A message outlived its time."""

    queue: int
    id: MessageId
    attempt: int
    reason: str  # ttl · retention


class MessageBuried(msgspec.Struct, frozen=True, gc=False):
    """A message is in its queue's own dead letter sink, where it does not expire."""

    queue: int
    id: MessageId
    attempt: int
    reason: str  # tries


class MessageRespawned(msgspec.Struct, frozen=True, gc=False):
    """A dead letter is ready again, with one try."""

    queue: int
    id: MessageId
    attempt: int
    expires_at_ms: int | None
    phase: Phase = Phase.READY


class MessageMoved(msgspec.Struct, frozen=True, gc=False):
    """A message is ready in another queue; its id and publish time are kept."""

    queue: int
    id: MessageId
    attempt: int
    target: int
    tries_used: int
    reason: str  # max_receives · move
    phase: Phase = Phase.READY
    match_key: bytes | None = None


class MessagePurged(msgspec.Struct, frozen=True, gc=False):
    """A message was ended by no consumer of it."""

    queue: int
    id: MessageId
    attempt: int
    reason: str  # purge · queue deleted · collapsed · dead letter deleted


class KeyRemembered(msgspec.Struct, frozen=True):
    """A publish with an idempotency key was done; its ids answer the next one with that key."""

    queue: int
    key: str
    ids: tuple[MessageId, ...]


class MoveStarted(msgspec.Struct, frozen=True):
    """All messages up to `last_sequence` are to go from one queue to another."""

    queue: int
    target: int
    reference: str
    last_sequence: int


class MoveEnded(msgspec.Struct, frozen=True):
    """A move is over."""

    queue: int
    reference: str
    status: str  # COMPLETE · ERROR


MessageEvent = (
    MessagePublished
    | MessageClaimed
    | MessageAcknowledged
    | MessageReadied
    | MessageRenewed
    | MessageExpired
    | MessageBuried
    | MessageRespawned
    | MessageMoved
    | MessagePurged
)
QueueEvent = QueueCreated | QueueChanged | QueueDeleted | KeyRemembered | MoveStarted | MoveEnded
Event = MessageEvent | QueueEvent
