"""What is true: every decision about every command, and nothing else.

The life of a message:

    publish ──▶ DELAYED ──due──▶ READY ◀──────────── respawn ─────────┐
       │                          │  ▲                                │
       ├──────── no delay ───────▶│  ├─ lapsed, tries left ─┐         │
       │                        claim│                     │         │
       │                          ▼  └─ released ──────────┤         │
       │                       CLAIMED ──── lapsed ────────┴─▶ DEAD ──┘   (tries used up)
       │                          │  └──── lapsed ──────────▶ READY in the dead letter queue
       └─ equal to an unread ─▶ COPY                          (received max_receives times)

    From every phase: acknowledged or purged. From READY, DELAYED and COPY: expired. A claimed message
    whose time is over stays until it is acknowledged, or expires when its claim ends. The dead do not expire.

`decide` is a pure function: the same view, command, time and ids give the same outcome and the same
events. It changes nothing; the store applies the events. Where one command would touch very many
messages it does a slice of them and says `Unfinished`, so that no command holds up the others.

`decide` answers clients, `tend` does what falls due by itself. The decisions, by what they are about:

    publishing       new messages, and the three ways in which one may be a message that is there already
    claiming         handing messages out, and looking at them
    answering        what consumers say of what they were handed
    lifetime         when a message ends, and where it goes when its claim runs out
    administration   whole queues: settings, purges, moves, dead letters
"""

from __future__ import annotations

from typing import assert_never

from penstock.core import administration, answering, claiming, publishing
from penstock.core import commands as c
from penstock.core.events import Event, MessageReadied
from penstock.core.ids import Ids
from penstock.core.landing import Landings
from penstock.core.lifetime import end_of_claim, expiry_of
from penstock.core.limits import SLICE
from penstock.core.model import Phase, Queue
from penstock.core.outcomes import NoSuchQueue, Outcome, Unfinished
from penstock.core.view import View


def decide(  # noqa: C901 - one case each
    view: View, command: c.Command, now_ms: int, ids: Ids
) -> tuple[Outcome, list[Event]]:
    """Say how a command goes and what happens by it."""
    match command:
        case c.Publish():
            return publishing.publish(view, command, now_ms, ids)
        case c.Claim():
            return claiming.claim(view, command, now_ms, ids)
        case c.Acknowledge():
            return answering.acknowledge(view, command)
        case c.PublishAll():
            return publishing.publish_all(view, command, now_ms, ids)
        case c.Republish():
            return publishing.republish(view, command, now_ms, ids)
        case c.Renew():
            return answering.renew(view, command, now_ms)
        case c.ReleaseAll():
            return answering.release_all(view, command, now_ms)
        case c.Peek():
            return claiming.peek(view, command, now_ms)
        case c.Inspect():
            return claiming.inspect(view, command, now_ms), []
        case c.Purge():
            return administration.purge(view, command)
        case c.DropDead():
            return administration.drop_dead(view, command)
        case c.Respawn():
            return administration.respawn(view, command, now_ms)
        case c.CreateQueue():
            return administration.create_queue(view, command)
        case c.UpdateQueue():
            return administration.update_queue(view, command)
        case c.DeleteQueue():
            return administration.delete_queue(view, command)
        case c.DescribeQueue():
            return _describe_queue(view, command, now_ms)
        case c.ListQueues():
            return administration.list_queues(view, command), []
        case c.StartMove():
            return administration.start_move(view, command, now_ms, ids)
        case c.DescribeMove():
            return administration.describe_move(view, command), []
        case _:
            assert_never(command)


def tend(view: View, queue: Queue, now_ms: int) -> list[Event]:
    """Expire, ready and bury what is due in a queue: a slice of each."""
    events: list[Event] = [*claiming.expiries(view, queue, now_ms)]
    landings = Landings(view)
    for message in view.listed(queue, Phase.DELAYED, SLICE):
        if message.at_ms > now_ms:
            break
        if expiry_of(message, now_ms) is None:  # or else it expires, in this slice or in a later one
            phase = landings.of(queue).phase_of_arrival(message.match_key, message.id)
            events.append(
                MessageReadied(queue.number, message.id, message.attempt, message.at_ms, "due", phase)
            )
    for message in view.listed(queue, Phase.CLAIMED, SLICE):
        if message.at_ms > now_ms:
            break
        events.append(end_of_claim(view, landings, message))
    return events


def _describe_queue(view: View, command: c.DescribeQueue, now_ms: int) -> tuple[Outcome, list[Event]]:
    """Tell a queue's settings and counts. What has expired meanwhile is ended first, never counted."""
    queue = view.queue(command.name)
    if queue is None:
        return NoSuchQueue(command.name), []
    expired = claiming.expiries(view, queue, now_ms)
    if expired:
        return Unfinished(command), [*expired]
    return administration.shown(view, queue, with_dead_head=command.with_dead_head), []
