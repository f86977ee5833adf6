"""What can be asked of the queue. One request of a client is one command.

A command is what the client meant, in our words; whether it is done, and with what result, is decided
by `rules.decide`. Fields that a client could get wrong in a way that only matters once the queue is
known to exist carry a `Malformed` in place of a value.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from penstock.core.ids import MessageId
from penstock.core.model import Content, Phase, QueueName, Settings
from penstock.core.scope import Scope


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """A value that could not be read, and why."""

    reason: str


class IfMissing(Enum):
    """What becomes of a command for a queue that does not exist."""

    REFUSE = 1
    CREATE = 2  # make it on the go, with the default settings
    EMPTY = 3  # answer as for an empty queue


class CreateQueue(msgspec.Struct, frozen=True):
    """Make a queue; refused if there is one of that name, unless `keeps_existing`."""

    name: QueueName
    settings: Settings | Malformed | None  # None: those of a queue made on the go
    keeps_existing: bool = False
    dialect: str = ""


class UpdateQueue(msgspec.Struct, frozen=True):
    """Replace all settings of a queue."""

    name: QueueName
    settings: Settings | Malformed
    dialect: str = ""


class DeleteQueue(msgspec.Struct, frozen=True):
    """Delete a queue with all its messages; it is gone at once, its messages follow in slices."""

    name: QueueName
    dialect: str = ""


class DescribeQueue(msgspec.Struct, frozen=True):
    """Tell a queue's settings and counts."""

    name: QueueName
    with_dead_head: bool = False  # also the id of the oldest dead letter
    dialect: str = ""


class ListQueues(msgspec.Struct, frozen=True):
    """Tell the queues of a namespace in the order of their creation."""

    namespace: str
    offset: int = 0
    limit: int | None = None
    dialect: str = ""
    only: Scope | None = None  # those of these queues; None: all


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A message to be."""

    content: Content
    delay_ms: int | None = None  # None: the queue's
    ttl_ms: int | None = None  # None: no time to live of its own
    tries: int | None = None  # None: no limit of its own
    is_typed: bool = False  # consumers are promised its type, encoding and trace id as they were sent


class Publish(msgspec.Struct, frozen=True, gc=False):
    """Add messages to a queue, all or none."""

    name: QueueName
    drafts: tuple[Draft, ...] | Malformed
    if_missing: IfMissing = IfMissing.REFUSE
    idempotency_key: str | None = None  # the same key again publishes nothing and answers the same ids
    dialect: str = ""


class PublishAll(msgspec.Struct, frozen=True):
    """Publish to several queues in one go."""

    parts: tuple[Publish, ...]
    dialect: str = ""


class Republish(msgspec.Struct, frozen=True):
    """Publish a new message and end an old one, both or neither."""

    name: QueueName
    old_id: MessageId
    draft: Draft
    dialect: str = ""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """Take up to `limit` messages from the first of `names` that has any, hiding them for a while."""

    names: tuple[QueueName, ...]
    limit: int = 1
    hidden_ms: int | None = None  # None: as the queue says
    wait_ms: int = 0  # how long to wait for the first message if there is none
    if_missing: IfMissing = IfMissing.REFUSE
    only_looks: bool = False  # hand out without claiming; counts as nothing
    among: int = 1  # more than 1: take one message, drawn by lot from so many at the head of the line
    dialect: str = ""


class Acknowledge(msgspec.Struct, frozen=True, gc=False):
    """End messages for good, in whatever phase they are."""

    namespace: str
    queue: str | None  # None: in whichever queue of the namespace each of them is
    ids: tuple[MessageId, ...]
    attempt: int | None = None  # only if this delivery is the current one; None: in any case
    dialect: str = ""
    only: Scope | None = None  # in other queues an id is unknown; None: in none


class Renew(msgspec.Struct, frozen=True):
    """Hide messages for longer from now on, never for shorter; zero gives them back at once."""

    name: QueueName
    ids: tuple[MessageId, ...]
    hidden_ms: int
    attempt: int | None = None  # only if this delivery is the current one; None: in any case
    dialect: str = ""


class ReleaseAll(msgspec.Struct, frozen=True):
    """Give back every claimed message of a queue."""

    name: QueueName
    dialect: str = ""
    # Set by the rules when it goes on in a further slice:
    left: int | None = None  # no more than were claimed at the call, whoever claims meanwhile
    done: int = 0


class Peek(msgspec.Struct, frozen=True):
    """Look at messages in some phases without claiming them."""

    name: QueueName
    limit: int = 1
    phases: tuple[Phase, ...] = (Phase.READY,)
    dialect: str = ""


class Inspect(msgspec.Struct, frozen=True):
    """Look at one message."""

    name: QueueName
    id: MessageId
    dialect: str = ""


class Purge(msgspec.Struct, frozen=True):
    """End the messages that are in some phases now, in the order of their publish."""

    name: QueueName
    phases: tuple[Phase, ...]
    dialect: str = ""
    # Set by the rules when a purge goes on in a further slice:
    after_sequence: int = 0
    last_sequence: int | None = None  # what is published after the call stays
    done: int = 0


class DropDead(msgspec.Struct, frozen=True):
    """End dead letters, oldest first."""

    name: QueueName
    limit: int
    dialect: str = ""
    done: int = 0  # set by the rules when it goes on in a further slice


class Respawn(msgspec.Struct, frozen=True):
    """Bring dead letters back to the end of their queue, oldest first, each with one try."""

    name: QueueName
    limit: int
    ttl_ms: int | None
    dialect: str = ""
    done: int = 0  # set by the rules when it goes on in a further slice


class StartMove(msgspec.Struct, frozen=True):
    """Begin to move all messages of a queue to another."""

    source: QueueName
    target: QueueName
    dialect: str = ""


class DescribeMove(msgspec.Struct, frozen=True):
    """Tell how far a move is."""

    reference: str
    dialect: str = ""
    only: Scope | None = None  # a move out of any other queue is unknown; None: of none


Command = (
    Publish
    | Claim
    | Acknowledge
    | PublishAll
    | Republish
    | Renew
    | ReleaseAll
    | Peek
    | Inspect
    | Purge
    | DropDead
    | Respawn
    | CreateQueue
    | UpdateQueue
    | DeleteQueue
    | DescribeQueue
    | ListQueues
    | StartMove
    | DescribeMove
)
