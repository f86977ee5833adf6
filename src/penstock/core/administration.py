"""Decisions about whole queues: their settings, purges, moves and dead letters."""

from __future__ import annotations

import msgspec

from penstock.core.commands import (
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeMove,
    DropDead,
    ListQueues,
    Malformed,
    Purge,
    Respawn,
    StartMove,
    UpdateQueue,
)
from penstock.core.events import (
    Event,
    MessagePurged,
    MessageRespawned,
    MoveEnded,
    MoveStarted,
    QueueChanged,
    QueueCreated,
    QueueDeleted,
)
from penstock.core.ids import Ids, to_uuid
from penstock.core.landing import Landing, Landings
from penstock.core.lifetime import moved
from penstock.core.limits import SLICE
from penstock.core.model import (
    DEDUP_NAMESPACE,
    Counts,
    Message,
    MoveState,
    Phase,
    Queue,
    QueueName,
    Settings,
)
from penstock.core.outcomes import (
    Counted,
    MoveShown,
    NoSuchMove,
    NoSuchQueue,
    Outcome,
    QueueExists,
    QueueShown,
    QueuesListed,
    Refused,
    Unfinished,
)
from penstock.core.view import View


def create_queue(view: View, command: CreateQueue) -> tuple[Outcome, list[Event]]:
    """Make a queue with the settings given."""
    existing = view.queue(command.name)
    if existing is not None:
        return (shown(view, existing) if command.keeps_existing else QueueExists(command.name)), []
    settings = command.settings or settings_on_the_go(view, command.name)
    refusal = _refusal_of_settings(view, command.name, settings)
    if refusal is not None or isinstance(settings, Malformed):
        return refusal or Refused(""), []
    number = view.last_queue_number + 1
    made = QueueShown(command.name, settings, Counts(), None, was_created=True)
    return made, [QueueCreated(number, command.name, settings)]


def update_queue(view: View, command: UpdateQueue) -> tuple[Outcome, list[Event]]:
    """Replace a queue's settings."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    settings = command.settings
    refusal = _refusal_of_settings(view, command.name, settings)
    if refusal is not None or isinstance(settings, Malformed):
        return refusal or Refused(""), []
    # Whether unread copies collapse is settled at a queue's creation: copies may be waiting for it.
    settings = msgspec.structs.replace(settings, collapse=queue.settings.collapse)
    changed = msgspec.structs.replace(shown(view, queue), settings=settings)
    return changed, [QueueChanged(queue.number, settings)]


def _refusal_of_settings(view: View, name: QueueName, settings: Settings | Malformed) -> Refused | None:
    if isinstance(settings, Malformed):
        return Refused(settings.reason)
    if settings.redrive is None:
        return None
    target = QueueName(name.namespace, settings.redrive.dead_letter_queue)
    if view.queue(target) is None:
        return Refused(f"redrive_policy.dead_letter_queue: there is no queue {target.name!r}")
    return None


def delete_queue(view: View, command: DeleteQueue) -> tuple[Outcome, list[Event]]:
    """Delete a queue, and the redrive policies that lead to it."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    events: list[Event] = [
        QueueChanged(other.number, msgspec.structs.replace(other.settings, redrive=None))
        for other in view.queues(command.name.namespace)
        if other is not queue
        and other.settings.redrive is not None
        and other.settings.redrive.dead_letter_queue == command.name.name
    ]
    events.append(QueueDeleted(queue.number))
    return shown(view, queue), events


def shown(view: View, queue: Queue, *, with_dead_head: bool = False) -> QueueShown:
    """A queue as it is now, in a copy that stays so."""
    counts = msgspec.structs.replace(view.counts(queue))
    dead = view.listed(queue, Phase.DEAD, 1) if with_dead_head else ()
    head = dead[0].id if dead else None
    return QueueShown(queue.name, queue.settings, counts, view.oldest_published_at_ms(queue), head)


def list_queues(view: View, command: ListQueues) -> Outcome:
    """Tell one page of a namespace's queues."""
    queues = view.queues(command.namespace)
    if command.only is not None:
        queues = [queue for queue in queues if command.only.covers(queue.name)]
    end = None if command.limit is None else command.offset + command.limit
    page = tuple((queue.name, queue.settings) for queue in queues[command.offset : end])
    return QueuesListed(len(queues), page)


def settings_on_the_go(view: View, name: QueueName) -> Settings:
    """What a queue has for which nobody asked for anything."""
    return view.traits.settings or Settings(collapse=name.namespace == DEDUP_NAMESPACE)


def queue_on_the_go(view: View, name: QueueName, now_ms: int, events: list[Event]) -> Queue:
    """The queue that a first use makes; one that these events have just made is found again."""
    number = view.last_queue_number
    for event in events:
        if isinstance(event, QueueCreated):
            if event.name == name:
                return Queue(event.queue, name, event.settings, now_ms)
            number = event.queue
    settings = settings_on_the_go(view, name)
    events.append(QueueCreated(number + 1, name, settings))
    return Queue(number + 1, name, settings, now_ms)


# Ending many messages


def purge(view: View, command: Purge) -> tuple[Outcome, list[Event]]:
    """End the messages in some phases, a slice at a time, in the order of their publish."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    last = view.last_sequence if command.last_sequence is None else command.last_sequence
    seen = view.by_sequence(queue, command.after_sequence, last, SLICE)
    events: list[Event] = [_purged(m, "purge") for m in seen if m.phase in command.phases]
    rest = msgspec.structs.replace(
        command,
        after_sequence=seen[-1].sequence if seen else last,
        last_sequence=last,
        done=command.done + len(events),
    )
    return counted_or_unfinished(rest, rest.done, has_more=len(seen) == SLICE), events


def drop_dead(view: View, command: DropDead) -> tuple[Outcome, list[Event]]:
    """End dead letters, oldest first."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    wanted = min(command.limit, SLICE)
    dead = view.listed(queue, Phase.DEAD, wanted)
    rest = msgspec.structs.replace(command, limit=command.limit - len(dead), done=command.done + len(dead))
    outcome = counted_or_unfinished(rest, rest.done, has_more=len(dead) == wanted and rest.limit > 0)
    return outcome, [_purged(message, "dead letter deleted") for message in dead]


def respawn(view: View, command: Respawn, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Bring dead letters back, oldest first, behind all that is ready."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    wanted = min(command.limit, SLICE)
    dead = view.listed(queue, Phase.DEAD, wanted)
    landing = Landing(view, queue)
    expires_at_ms = None if command.ttl_ms is None else now_ms + command.ttl_ms
    events: list[Event] = [
        MessageRespawned(
            queue.number, m.id, m.attempt, expires_at_ms, landing.phase_of_arrival(m.match_key, m.id)
        )
        for m in dead
    ]
    rest = msgspec.structs.replace(command, limit=command.limit - len(dead), done=command.done + len(dead))
    return counted_or_unfinished(rest, rest.done, has_more=len(dead) == wanted and rest.limit > 0), events


def counted_or_unfinished(rest: Command, done: int, *, has_more: bool) -> Outcome:
    """How a command went that does a slice at a time."""
    return Unfinished(rest) if has_more else Counted(done)


def clear_deleted(view: View, queue: Queue) -> list[Event]:
    """Purge a slice of what a deleted queue left behind."""
    left = view.by_sequence(queue, 0, view.last_sequence, SLICE)
    return [_purged(message, "queue deleted") for message in left]


def _purged(message: Message, reason: str) -> Event:
    return MessagePurged(message.queue.number, message.id, message.attempt, reason)


# Moving


def start_move(view: View, command: StartMove, now_ms: int, ids: Ids) -> tuple[Outcome, list[Event]]:
    """Note a move; `carry_on_move` does it."""
    if command.source == command.target:
        return Refused("cannot move queue to itself"), []
    events: list[Event] = []
    source = view.queue(command.source) or queue_on_the_go(view, command.source, now_ms, events)
    target = view.queue(command.target) or queue_on_the_go(view, command.target, now_ms, events)
    last = view.last_sequence
    reference = to_uuid(ids(now_ms, last + 1 + len(events)))
    events.append(MoveStarted(source.number, target.number, reference, last))
    move = MoveState(reference, command.source, command.target, source.number, target.number, last)
    return MoveShown(move), events


def describe_move(view: View, command: DescribeMove) -> Outcome:
    """Tell how far a move is."""
    move = view.move(command.reference)
    if move is None or (command.only is not None and not command.only.covers(move.source)):
        return NoSuchMove(command.reference)
    return MoveShown(move)


def carry_on_move(view: View, move: MoveState) -> list[Event]:
    """Move a slice of what is left, dead letters excepted; with nothing left the move is over."""
    source = view.queue_by_number(move.source_number)
    target = view.queue_by_number(move.target_number)
    if source is None or target is None:
        return [MoveEnded(move.source_number, move.reference, "ERROR")]
    landings = Landings(view)
    after = 0
    while True:
        seen = view.by_sequence(source, after, move.last_sequence, SLICE)
        movable = [message for message in seen if message.phase is not Phase.DEAD]
        if movable:
            return [_carried(landings, message, target) for message in movable]
        if len(seen) < SLICE:
            return [MoveEnded(move.source_number, move.reference, "COMPLETE")]
        after = seen[-1].sequence


def _carried(landings: Landings, message: Message, target: Queue) -> Event:
    """One message of a move. It arrives unclaimed, and the try of a claim under way is given back."""
    was_claimed = message.phase is Phase.CLAIMED
    return moved(landings, message, target, "move", max(0, message.tries_used - was_claimed))
