"""Decisions about what a consumer says of the messages it was handed."""

from __future__ import annotations

import msgspec

from penstock.core.administration import counted_or_unfinished
from penstock.core.commands import Acknowledge, ReleaseAll, Renew
from penstock.core.events import Event, MessageAcknowledged, MessageRenewed
from penstock.core.ids import MessageId
from penstock.core.landing import Landings
from penstock.core.lifetime import is_last_receive, released
from penstock.core.limits import SLICE
from penstock.core.model import Message, Phase
from penstock.core.outcomes import Ended, NoSuchQueue, Outcome, Renewed
from penstock.core.view import View


def acknowledge(view: View, command: Acknowledge) -> tuple[Outcome, list[Event]]:
    """End messages for good. Under another queue's name an id is unknown."""
    found: list[bool] = []
    events: list[Event] = []
    ended: set[MessageId] = set()
    for message_id in command.ids:
        message = view.message(message_id)
        if message is None or message_id in ended or not _is_meant(command, message):
            found.append(False)
            continue
        found.append(True)
        ended.add(message_id)
        reason = "" if message.phase is Phase.CLAIMED else "unclaimed"
        events.append(MessageAcknowledged(message.queue.number, message_id, message.attempt, reason))
    return Ended(tuple(found)), events


def _is_meant(command: Acknowledge, message: Message) -> bool:
    name = message.queue.name
    return (
        name.namespace == command.namespace
        and (command.queue is None or name.name == command.queue)
        and (command.only is None or command.only.covers(name))
        and _is_current(message, command.attempt)
    )


def _is_current(message: Message, attempt: int | None) -> bool:
    """Whether an answer to this delivery still counts; one without a number always does."""
    return attempt is None or (message.attempt == attempt and message.phase is Phase.CLAIMED)


def renew(view: View, command: Renew, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Prolong claims, begin lapsed ones again, or give messages back."""
    landings = Landings(view)
    found: dict[MessageId, bool] = {}
    events: list[Event] = []
    for message_id in command.ids:
        if message_id in found:
            continue
        message = view.message(message_id)
        is_meant = (
            message is not None
            and message.queue.name == command.name
            and message.phase in (Phase.CLAIMED, Phase.READY)  # nobody can have been handed any other
            and _is_current(message, command.attempt)
        )
        found[message_id] = is_meant
        event = _renewal(landings, message, command.hidden_ms, now_ms) if message and is_meant else None
        if event is not None:
            events.append(event)
    return Renewed(tuple(found[message_id] for message_id in command.ids)), events


def _renewal(landings: Landings, message: Message, hidden_ms: int, now_ms: int) -> Event | None:
    number = message.queue.number
    until_ms = now_ms + hidden_ms
    if message.phase is Phase.CLAIMED:
        if hidden_ms == 0:
            return released(landings, message, now_ms)
        if until_ms <= message.at_ms:
            return None  # a claim is never shortened
        return MessageRenewed(number, message.id, message.attempt, until_ms, message.is_last_receive)
    if hidden_ms == 0:
        return None
    is_last = is_last_receive(message.queue, message.tries_used)
    return MessageRenewed(number, message.id, message.attempt, until_ms, is_last)


def release_all(view: View, command: ReleaseAll, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Give back every claimed message of a queue, a slice at a time."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    left = view.counts(queue).claimed if command.left is None else command.left
    landings = Landings(view)
    claimed = view.listed(queue, Phase.CLAIMED, min(left, SLICE))
    events: list[Event] = [released(landings, message, now_ms) for message in claimed]
    rest = msgspec.structs.replace(command, left=left - len(events), done=command.done + len(events))
    return counted_or_unfinished(rest, rest.done, has_more=bool(events) and rest.left != 0), events
