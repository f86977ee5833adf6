"""What each command needs of whoever asks for it.

A dialect says what a request needs by its head alone, so that nobody without a key can send a body. What
binds is this: it is asked once the command is known, and is the same for every dialect.
"""

from __future__ import annotations

from typing import assert_never

from penstock.core import commands as c
from penstock.core.model import QueueName, Settings
from penstock.keys.grants import Action, Need, Needs

_PUBLISH, _CONSUME, _INSPECT, _ADMINISTER = (
    Action.PUBLISH,
    Action.CONSUME,
    Action.INSPECT,
    Action.ADMINISTER,
)


def needs_of(command: c.Command) -> Needs:  # noqa: C901 - one branch for each command
    """Everything that has to be allowed for a command to be done."""
    match command:
        case c.Publish():
            return (Need(_PUBLISH, command.name),)
        case c.Claim():
            return tuple([Need(_CONSUME, name) for name in command.names])
        case c.Acknowledge():
            return (_need_of_acknowledge(command),)
        case c.PublishAll():
            return tuple([Need(_PUBLISH, part.name) for part in command.parts])
        case c.Republish():
            return (Need(_PUBLISH, command.name), Need(_CONSUME, command.name, is_answer=True))
        case c.Renew() | c.ReleaseAll():
            return (Need(_CONSUME, command.name, is_answer=True),)
        case c.Peek() | c.Inspect() | c.DescribeQueue():
            return (Need(_INSPECT, command.name),)
        case c.Purge() | c.DropDead() | c.Respawn() | c.DeleteQueue():
            return (Need(_ADMINISTER, command.name),)
        case c.CreateQueue() | c.UpdateQueue():
            return (Need(_ADMINISTER, command.name), *_needs_of_settings(command.name, command.settings))
        case c.ListQueues():
            return (Need(_INSPECT, namespace=command.namespace),)
        case c.StartMove():
            return (Need(_CONSUME, command.source), Need(_PUBLISH, command.target))
        case c.DescribeMove():
            return ()  # kept by `Holder.narrowed` to moves out of queues that may be inspected
        case _:
            assert_never(command)


def _need_of_acknowledge(command: c.Acknowledge) -> Need:
    if command.queue is None:
        return Need(_CONSUME, namespace=command.namespace, is_answer=True)
    return Need(_CONSUME, QueueName(command.namespace, command.queue), is_answer=True)


def _needs_of_settings(name: QueueName, settings: Settings | c.Malformed | None) -> Needs:
    """A redrive policy puts messages into another queue."""
    if not isinstance(settings, Settings) or settings.redrive is None:
        return ()
    return (Need(_PUBLISH, QueueName(name.namespace, settings.redrive.dead_letter_queue)),)
