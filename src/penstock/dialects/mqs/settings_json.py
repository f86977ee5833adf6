"""The JSON of mqs: a queue as a client sends it, and as it is told of one. Spans are whole seconds."""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.core.commands import Malformed
from penstock.core.model import QueueName, Redrive, Settings
from penstock.core.outcomes import QueueShown, QueuesListed
from penstock.dialects.wire import decode_json

INT32_MAX = 2**31 - 1

Positive = Annotated[int, msgspec.Meta(ge=1, le=INT32_MAX)]
NotNegative = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]


class RedrivePolicy(msgspec.Struct, frozen=True):
    """Both members are needed."""

    max_receives: Positive
    dead_letter_queue: str


class QueueConfig(msgspec.Struct, frozen=True):
    """What a client says of a queue. Members of other names are ignored."""

    retention_timeout: Positive
    visibility_timeout: NotNegative
    redrive_policy: RedrivePolicy | None = None
    message_delay: NotNegative = 0
    message_deduplication: bool = False


class QueueStatus(msgspec.Struct, frozen=True):
    """What is in a queue."""

    messages: int
    visible_messages: int
    oldest_message_age: int


class QueueDescription(msgspec.Struct, frozen=True):
    """What a client is told of a queue, in the document's order."""

    name: str
    redrive_policy: RedrivePolicy | None
    retention_timeout: int
    visibility_timeout: int
    message_delay: int
    message_deduplication: bool
    status: QueueStatus | msgspec.UnsetType = msgspec.UNSET  # only where one queue is asked for


class QueueList(msgspec.Struct, frozen=True):
    """One page of queues, and how many there are on all pages."""

    total: int
    queues: list[QueueDescription]


_config_decoder = msgspec.json.Decoder(QueueConfig)


def read_settings(body: bytes) -> Settings | Malformed:
    """The settings in the body of a create or update."""
    config = decode_json(_config_decoder, body)
    if isinstance(config, Malformed):
        return config
    policy = config.redrive_policy
    return Settings(
        visibility_ms=config.visibility_timeout * 1000,
        delay_ms=config.message_delay * 1000,
        retention_ms=config.retention_timeout * 1000,
        deduplicate=config.message_deduplication,
        redrive=None if policy is None else Redrive(policy.max_receives, policy.dead_letter_queue),
    )


def describe(name: QueueName, settings: Settings) -> QueueDescription:
    """A queue without what is in it."""
    redrive = settings.redrive
    return QueueDescription(
        name.name,
        None if redrive is None else RedrivePolicy(redrive.max_receives, redrive.dead_letter_queue),
        # A queue made on the go by another dialect keeps its messages for ever; mqs has no word for that.
        INT32_MAX if settings.retention_ms is None else settings.retention_ms // 1000,
        settings.visibility_ms // 1000,
        settings.delay_ms // 1000,
        settings.deduplicate,
    )


def describe_with_status(shown: QueueShown, now_ms: int) -> QueueDescription:
    """A queue and what is in it."""
    oldest_ms = now_ms if shown.oldest_published_at_ms is None else shown.oldest_published_at_ms
    status = QueueStatus(shown.counts.waiting, shown.counts.ready, max(now_ms - oldest_ms, 0) // 1000)
    return msgspec.structs.replace(describe(shown.name, shown.settings), status=status)


def describe_all(listed: QueuesListed) -> QueueList:
    """One page of queues."""
    return QueueList(listed.total, [describe(name, settings) for name, settings in listed.queues])
