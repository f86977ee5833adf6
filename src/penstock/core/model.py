"""The things the queue is made of.

A store owns its `Queue` and `Message` objects and is the only one to change them; the rules read them.
All times are unix milliseconds, all spans milliseconds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import msgspec

from penstock.core.ids import MessageId

DEFAULT_CONTENT_TYPE = "application/octet-stream"
DEDUP_NAMESPACE = "dedup"  # queues made on the go in here collapse unread copies


class QueueName(NamedTuple):
    """What a client calls a queue."""

    namespace: str
    name: str


class Redrive(msgspec.Struct, frozen=True, gc=False):
    """Where a message goes that was received too often."""

    max_receives: int  # the last receive that is still answered with the message
    dead_letter_queue: str  # in the same namespace


class Settings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a queue does with its messages. The defaults are those of a queue made on the go."""

    visibility_ms: int = 30_000  # how long a claim hides a message, unless the claim says
    delay_ms: int = 0  # how long a new message is held back, unless its publish says
    retention_ms: int | None = None  # from publish; None: for ever
    deduplicate: bool = False  # a publish of a body that is in the queue already does nothing
    collapse: bool = False  # unread copies become one at the next claim
    redrive: Redrive | None = None


class Queue(msgspec.Struct, eq=False, gc=False):
    """One life of a queue. Deleted and made again, it is another queue with another number."""

    number: int  # never used twice
    name: QueueName
    settings: Settings
    created_at_ms: int


class Counts(msgspec.Struct, gc=False):
    """How many messages of a queue are in each phase; copies are counted with the ready ones."""

    ready: int = 0
    delayed: int = 0
    claimed: int = 0
    dead: int = 0

    @property
    def waiting(self) -> int:
        """All that a consumer may still get: everything but dead letters."""
        return self.ready + self.delayed + self.claimed


class Phase(IntEnum):
    """Where a message is in its life. The picture is at the top of `rules`."""

    READY = 0
    DELAYED = 1
    CLAIMED = 2
    DEAD = 3  # in the queue's own dead letter sink
    COPY = 4  # unread, equal to an earlier unread message: the next claim ends it


class Content(msgspec.Struct, frozen=True, gc=False):
    """What a producer sent and a consumer gets back untouched."""

    body: bytes
    content_type: str = DEFAULT_CONTENT_TYPE
    content_encoding: str | None = None
    trace_id: str | None = None


class Message(msgspec.Struct, eq=False, gc=False):
    """One message in one queue, without its body."""

    id: MessageId
    sequence: int  # the journal number of its publish, also within the id
    queue: Queue
    phase: Phase
    at_ms: int  # READY, COPY: since when · DELAYED, CLAIMED: until when · DEAD: since when
    published_at_ms: int
    size: int  # bytes of the body
    expires_at_ms: int | None = None  # its own time to live; None: only the queue's retention
    tries: int | None = None  # how often it may be claimed; None: no limit of its own
    tries_used: int = 0
    attempt: int = 0  # deliveries so far, never reset: fences off answers to old ones
    is_last_receive: bool = False  # CLAIMED: the redrive policy at its claim says it was the last
    match_key: bytes | None = None  # what equal messages share, where the queue compares them
    content: Content | None = None  # a store may keep it at hand; ask `View.content`


class MoveState(msgspec.Struct, frozen=True):
    """A move of everything in one queue to another, done in slices."""

    reference: str
    source: QueueName
    target: QueueName
    source_number: int
    target_number: int
    last_sequence: int  # what was published later stays
    status: str = "IN_PROGRESS"  # then "COMPLETE" or "ERROR"

    def ended(self, status: str) -> MoveState:
        """The same move, over."""
        return msgspec.structs.replace(self, status=status)
