"""How a command went. A refusal that a caller can expect is an outcome like any other."""

from __future__ import annotations

import msgspec

from penstock.core.commands import Command
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, MoveState, Phase, QueueName, Settings


class NoSuchQueue(msgspec.Struct, frozen=True):
    """There is no queue of that name."""

    name: QueueName


class QueueExists(msgspec.Struct, frozen=True):
    """There is a queue of that name already."""

    name: QueueName


class Refused(msgspec.Struct, frozen=True):
    """The command is not one that can be done; nothing was changed."""

    reason: str


class Unavailable(msgspec.Struct, frozen=True):
    """The store can no longer promise anything; nothing is known of the command's effect."""


class Crashed(msgspec.Struct, frozen=True):
    """A fault of ours in deciding this one command; nothing was changed."""


class QueueShown(msgspec.Struct, frozen=True):
    """A queue as it is, or as it was when it was deleted."""

    name: QueueName
    settings: Settings
    counts: Counts
    oldest_published_at_ms: int | None  # of the messages that are not dead letters
    dead_head: MessageId | None = None  # the oldest dead letter, if that was asked for
    was_created: bool = False


class QueuesListed(msgspec.Struct, frozen=True):
    """One page of a namespace's queues."""

    total: int
    queues: tuple[tuple[QueueName, Settings], ...]


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What became of one draft."""

    id: MessageId  # of the message that was in the queue already where `is_new` is False
    is_new: bool


class Published(msgspec.Struct, frozen=True, gc=False):
    """The drafts are in the queue; one receipt each, in order."""

    receipts: tuple[Receipt, ...]


class PublishedAll(msgspec.Struct, frozen=True):
    """One outcome for each part."""

    parts: tuple[Published, ...]


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message as it was at one moment, for a consumer or an onlooker."""

    id: MessageId
    queue: QueueName
    content: Content
    phase: Phase
    at_ms: int  # as in `Message`: for a claimed one, the end of the claim
    published_at_ms: int
    expires_at_ms: int | None  # by its own time or its queue's retention; None: never
    tries_left: int | None  # after this delivery; None: no limit
    receives: int  # deliveries that count, this one included
    attempt: int  # the fencing number to give back with an answer to this delivery


class Delivered(msgspec.Struct, frozen=True, gc=False):
    """The messages claimed or looked at; none if there were none."""

    messages: tuple[Delivery, ...]


class Ended(msgspec.Struct, frozen=True, gc=False):
    """For each id asked for, in order: whether there was such a message, now ended."""

    found: tuple[bool, ...]


class Renewed(msgspec.Struct, frozen=True):
    """For each id asked for, in order: whether its claim now is what was asked for."""

    found: tuple[bool, ...]


class Counted(msgspec.Struct, frozen=True):
    """How many messages were purged, respawned or released."""

    count: int


class MoveShown(msgspec.Struct, frozen=True):
    """A move as it is now."""

    move: MoveState


class NoSuchMove(msgspec.Struct, frozen=True):
    """There is no move of that reference."""

    reference: str


class Unfinished(msgspec.Struct, frozen=True):
    """One slice is done. The engine comes back with `rest`; no client ever sees this."""

    rest: Command


Outcome = (
    Published
    | Delivered
    | Ended
    | PublishedAll
    | Renewed
    | Counted
    | QueueShown
    | QueuesListed
    | MoveShown
    | NoSuchQueue
    | QueueExists
    | NoSuchMove
    | Refused
    | Unavailable
    | Crashed
    | Unfinished
)
