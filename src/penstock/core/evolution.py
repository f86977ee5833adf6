"""What an event does to a message that goes on living. Every store follows events through here."""

from __future__ import annotations

from typing import assert_never

from penstock.core.events import (
    MessageBuried,
    MessageClaimed,
    MessageMoved,
    MessagePublished,
    MessageReadied,
    MessageRenewed,
    MessageRespawned,
)
from penstock.core.model import Message, Phase, Queue

LastingEvent = (
    MessageClaimed | MessageReadied | MessageRenewed | MessageBuried | MessageRespawned | MessageMoved
)


def born(event: MessagePublished, queue: Queue, sequence: int, now_ms: int) -> Message:
    """The message that a publish makes; `sequence` is the publish's own in the journal."""
    return Message(
        event.id,
        sequence,
        queue,
        event.phase,
        event.available_at_ms,
        now_ms,
        len(event.content.body),
        event.expires_at_ms,
        event.tries,
        match_key=event.match_key,
    )


def evolve(message: Message, event: LastingEvent, queue: Queue, now_ms: int) -> None:
    """Change a message as the event says; `queue` is where it is afterwards."""
    match event:
        case MessageClaimed():
            message.phase = Phase.CLAIMED
            message.at_ms = event.hidden_until_ms
            message.attempt = event.attempt
            message.tries_used += 1
            message.is_last_receive = event.is_last_receive
        case MessageReadied():
            message.phase = event.phase
            message.at_ms = event.available_at_ms
            message.tries_used -= event.gives_try_back
            message.is_last_receive = False
        case MessageRenewed():
            message.phase = Phase.CLAIMED
            message.at_ms = event.hidden_until_ms
            message.is_last_receive = event.is_last_receive
        case MessageBuried():
            message.phase = Phase.DEAD
            message.at_ms = now_ms
            message.expires_at_ms = None
            message.is_last_receive = False
        case MessageRespawned():
            message.phase = event.phase
            message.at_ms = now_ms
            message.expires_at_ms = event.expires_at_ms
            message.tries = 1
            message.tries_used = 0
        case MessageMoved():
            message.queue = queue
            message.phase = event.phase
            message.at_ms = now_ms
            message.tries_used = event.tries_used
            message.match_key = event.match_key
            message.is_last_receive = False
        case _:
            assert_never(event)
