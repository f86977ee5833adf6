"""How long a message lives, and where it goes when a claim of it ends unanswered."""

from __future__ import annotations

from penstock.core.events import Event, MessageBuried, MessageExpired, MessageMoved, MessageReadied
from penstock.core.landing import Landings
from penstock.core.model import Message, Queue, QueueName
from penstock.core.view import View


def ends_at_ms(message: Message) -> int | None:
    """When a message expires: by its own time or by its queue's retention, whichever comes first."""
    own = message.expires_at_ms
    retention_ms = message.queue.settings.retention_ms
    if retention_ms is None:
        return own
    end = message.published_at_ms + retention_ms
    return end if own is None else min(own, end)


def expiry_of(message: Message, now_ms: int) -> MessageExpired | None:
    """The end of a message whose time is over, None before that."""
    end = ends_at_ms(message)
    if end is None or end > now_ms:
        return None
    reason = "ttl" if end == message.expires_at_ms else "retention"
    return MessageExpired(message.queue.number, message.id, message.attempt, reason)


def end_of_claim(view: View, landings: Landings, message: Message) -> Event:
    """What becomes of a message whose consumer did not answer in time.

    It is judged at the moment at which the claim ended, however late anybody comes to look.
    """
    expiry = expiry_of(message, message.at_ms)
    if expiry is not None:
        return expiry
    queue = message.queue
    if message.is_last_receive and queue.settings.redrive is not None:
        return redriven(view, landings, message)
    if message.tries is not None and message.tries_used >= message.tries:
        return MessageBuried(queue.number, message.id, message.attempt, "tries")
    phase = landings.of(queue).phase_of_arrival(message.match_key, message.id)
    return MessageReadied(queue.number, message.id, message.attempt, message.at_ms, "lapsed", phase)


def is_fit_to_deliver(message: Message, end_ms: int | None, now_ms: int) -> bool:
    """Whether a message is within its time and its receives; `end_ms` is what `ends_at_ms` says of it."""
    if end_ms is not None and end_ms <= now_ms:
        return False
    redrive = message.queue.settings.redrive
    return redrive is None or message.tries_used < redrive.max_receives


def instead_of_delivery(view: View, landings: Landings, message: Message, now_ms: int) -> Event:
    """What happens to a message that is not fit to be delivered.

    A redrive policy that came while the message was hidden acts here, at its next receive.
    """
    return expiry_of(message, now_ms) or redriven(view, landings, message)


def is_last_receive(queue: Queue, receives: int) -> bool:
    """Whether the redrive policy has a message go after this many receives."""
    redrive = queue.settings.redrive
    return redrive is not None and receives >= redrive.max_receives


def redriven(view: View, landings: Landings, message: Message) -> MessageMoved:
    """A message on its way to the dead letter queue, where its receives start over."""
    redrive = message.queue.settings.redrive
    assert redrive is not None, "only a queue with a redrive policy redrives"
    target = view.queue(QueueName(message.queue.name.namespace, redrive.dead_letter_queue))
    assert target is not None, "deleting a dead letter queue removes the policies that name it"
    return moved(landings, message, target, "max_receives", tries_used=0)


def released(landings: Landings, message: Message, now_ms: int) -> MessageReadied:
    """A message given back by its consumer, with the try it took."""
    phase = landings.of(message.queue).phase_of_arrival(message.match_key, message.id)
    return MessageReadied(
        message.queue.number,
        message.id,
        message.attempt,
        now_ms,
        "released",
        phase,
        gives_try_back=message.tries_used > 0,
    )


def moved(landings: Landings, message: Message, target: Queue, reason: str, tries_used: int) -> MessageMoved:
    """One message into another queue."""
    # A key of one queue means nothing in another, unless both compare in the same way.
    both_collapse = message.queue.settings.collapse and target.settings.collapse
    key = message.match_key if both_collapse else None
    phase = landings.of(target).phase_of_arrival(key, message.id)
    return MessageMoved(
        message.queue.number, message.id, message.attempt, target.number, tries_used, reason, phase, key
    )
