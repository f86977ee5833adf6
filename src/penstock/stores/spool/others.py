"""Whoever else changes the folders, as the engine asks after them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from penstock.core import commands as c
from penstock.core.ids import MessageId, to_uuid
from penstock.core.model import QueueName
from penstock.stores.spool.following import Follower
from penstock.stores.spool.index import NAMESPACE, Index
from penstock.stores.spool.names import is_queue_name
from penstock.stores.spool.survey import Survey
from penstock.stores.spool.transitions import Transitions


class SpoolOthers:
    """Other servers and programs on the same root."""

    def __init__(
        self, index: Index, follower: Follower, survey: Survey, transitions: Transitions, *, is_told: bool
    ) -> None:
        """`is_told`: whether the kernel tells of all that they do."""
        self._index = index
        self._follower = follower
        self._survey = survey
        self._transitions = transitions
        self._is_told = is_told
        self._now_ms = 0

    def follow(self, now_ms: int) -> Sequence[QueueName]:
        self._now_ms = now_ms
        self._transitions.taken = set()  # what an earlier batch lost may be there for this one
        readied = self._follower.follow(now_ms)
        survey = self._survey
        if survey.queues or survey.messages:
            while survey.queues:
                self._follower.look_at_queue(survey.queues.popleft(), now_ms)
            while survey.messages:
                self._follower.look_at_message(*survey.messages.popleft(), now_ms)
            readied += self._follower.readied()
        return readied

    def taken(self) -> AbstractSet[MessageId]:
        taken = self._transitions.taken
        if taken:
            self._transitions.taken = set()
        return taken

    def look_for(self, command: c.Command) -> None:
        if self._is_told and self._follower.is_told_everything:
            return
        match command:
            case c.Claim():
                for name in command.names:
                    self._look_in(name, is_hungry=True)
            case c.Acknowledge():
                if command.queue is not None:
                    self._look_in(QueueName(command.namespace, command.queue), command.ids)
            case c.Inspect():
                self._look_in(command.name, (command.id,))
            case c.Publish() | c.Peek() | c.Purge() | c.DescribeQueue() | c.CreateQueue() | c.DeleteQueue():
                self._look_in(command.name)
            case _:
                pass  # it speaks of whole namespaces, or of what a spool does not have

    def _look_in(self, name: QueueName, ids: tuple[MessageId, ...] = (), *, is_hungry: bool = False) -> None:
        queue = name.name
        if name.namespace != NAMESPACE or not is_queue_name(queue):
            return
        shelf = self._index.by_name.get(queue)
        if shelf is None:
            self._follower.look_at_queue(queue, self._now_ms)
        elif is_hungry and not shelf.ready:
            self._follower.look_into_queue(queue, self._now_ms)
        for message_id in ids:
            if message_id not in self._index.messages:
                self._follower.look_at_message(queue, to_uuid(message_id), self._now_ms)
