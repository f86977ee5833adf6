"""Decisions about handing messages out, and about looking at them."""

from __future__ import annotations

from penstock.core.commands import Claim, IfMissing, Inspect, Peek
from penstock.core.events import Event, MessageClaimed, MessageExpired, MessagePurged, MessageReadied
from penstock.core.ids import Ids
from penstock.core.landing import Landing, Landings
from penstock.core.lifetime import (
    ends_at_ms,
    expiry_of,
    instead_of_delivery,
    is_fit_to_deliver,
    is_last_receive,
)
from penstock.core.limits import DELIVERED_BYTES_MAX, SLICE
from penstock.core.model import Message, Phase, Queue
from penstock.core.outcomes import Delivered, Delivery, NoSuchQueue, Outcome, Unfinished
from penstock.core.view import View

_MAY_EXPIRE = (Phase.READY, Phase.DELAYED, Phase.COPY)


def claim(view: View, command: Claim, now_ms: int, ids: Ids) -> tuple[Outcome, list[Event]]:
    """Hand out the first messages of the first queue that has any."""
    for name in command.names:
        queue = view.queue(name)
        if queue is None:
            if command.if_missing is IfMissing.REFUSE:
                return NoSuchQueue(name), []
            continue
        if queue.settings.collapse:
            tidied = _collapse_copies(view, queue, now_ms)
            if tidied:
                return Unfinished(command), tidied
        decision = _take_from(view, queue, command, now_ms, ids)
        if decision is not None:
            return decision
    return Delivered(()), []


def _take_from(
    view: View, queue: Queue, command: Claim, now_ms: int, ids: Ids
) -> tuple[Outcome, list[Event]] | None:
    """Hand out the first messages in line, or clear away those that can no longer be handed out."""
    line = view.listed(queue, Phase.READY, max(command.limit, command.among))
    if not line:
        return None
    if command.among > 1:
        line = [line[_lot(ids, now_ms) % len(line)]]
    hidden_ms = queue.settings.visibility_ms if command.hidden_ms is None else command.hidden_ms
    until_ms = now_ms + hidden_ms
    deliveries: list[Delivery] = []
    events: list[Event] = []
    bytes_left = DELIVERED_BYTES_MAX
    for message in line:
        end_ms = ends_at_ms(message)
        if not is_fit_to_deliver(message, end_ms, now_ms):
            return _clear_unfit(view, queue, command, now_ms)
        bytes_left -= message.size
        if bytes_left < 0 and deliveries:
            break
        if command.only_looks:
            deliveries.append(delivery_of(view, message))
            continue
        is_last = is_last_receive(queue, message.tries_used + 1)
        events.append(MessageClaimed(queue.number, message.id, message.attempt + 1, until_ms, is_last))
        deliveries.append(_claimed_delivery(view, message, until_ms, end_ms))
    return Delivered(tuple(deliveries)), events


def _lot(ids: Ids, now_ms: int) -> int:
    """A number that nobody can foretell: the part of an id that is drawn at random."""
    return int.from_bytes(ids(now_ms, 0)[-4:], "big")


def _clear_unfit(view: View, queue: Queue, command: Claim, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Take what must not be delivered out of the line, and look again."""
    landings = Landings(view)
    line = view.listed(queue, Phase.READY, max(SLICE, command.limit, command.among))
    unfit = [message for message in line if not is_fit_to_deliver(message, ends_at_ms(message), now_ms)]
    return Unfinished(command), [instead_of_delivery(view, landings, message, now_ms) for message in unfit]


def _collapse_copies(view: View, queue: Queue, now_ms: int) -> list[Event]:
    """End every unread copy of an unread message; one whose original is gone takes its place."""
    landing = Landing(view, queue)
    events: list[Event] = []
    for copy in view.listed(queue, Phase.COPY, SLICE):
        assert copy.match_key is not None, "only compared messages become copies"
        twin = landing.twin(copy.match_key)
        original = None if twin is None else view.message(twin)
        expiry = None if original is None else expiry_of(original, now_ms)
        if expiry is not None:
            events.append(expiry)
        if twin is None or expiry is not None:
            landing.take(copy.match_key, copy.id)
            events.append(MessageReadied(queue.number, copy.id, copy.attempt, copy.at_ms, "sole copy"))
        else:
            events.append(MessagePurged(queue.number, copy.id, copy.attempt, "collapsed"))
    return events


def peek(view: View, command: Peek, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Show messages without claiming them. What has expired meanwhile is ended first, never shown."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    seen: list[Delivery] = []
    bytes_left = DELIVERED_BYTES_MAX
    for phase in command.phases:
        for message in view.listed(queue, phase, command.limit - len(seen)):
            if phase in _MAY_EXPIRE and expiry_of(message, now_ms) is not None:
                return Unfinished(command), [*expiries(view, queue, now_ms)]
            bytes_left -= message.size
            if bytes_left < 0 and seen:
                return Delivered(tuple(seen)), []
            seen.append(delivery_of(view, message))
        if len(seen) >= command.limit:
            break
    return Delivered(tuple(seen)), []


def inspect(view: View, command: Inspect, now_ms: int) -> Outcome:
    """Show one message."""
    message = view.message(command.id)
    if message is None or message.queue.name != command.name:
        return Delivered(())
    if message.phase is not Phase.DEAD and expiry_of(message, now_ms) is not None:
        return Delivered(())
    return Delivered((delivery_of(view, message),))


def expiries(view: View, queue: Queue, now_ms: int) -> list[MessageExpired]:
    """The ends of a slice of the messages that have outlived their time."""
    endings = [expiry_of(message, now_ms) for message in view.expired(queue, now_ms, SLICE)]
    return [ending for ending in endings if ending is not None]


def delivery_of(view: View, message: Message) -> Delivery:
    """The message as it is, for an onlooker."""
    left = None if message.tries is None else message.tries - message.tries_used
    return Delivery(
        message.id,
        message.queue.name,
        view.content(message),
        message.phase,
        message.at_ms,
        message.published_at_ms,
        message.expires_at_ms if message.phase is Phase.DEAD else ends_at_ms(message),
        left,
        message.tries_used,
        message.attempt,
    )


def _claimed_delivery(view: View, message: Message, until_ms: int, end_ms: int | None) -> Delivery:
    """The message as it will be once it is claimed."""
    left = None if message.tries is None else message.tries - message.tries_used - 1
    return Delivery(
        message.id,
        message.queue.name,
        view.content(message),
        Phase.CLAIMED,
        until_ms,
        message.published_at_ms,
        end_ms,
        left,
        message.tries_used + 1,
        message.attempt + 1,
    )
