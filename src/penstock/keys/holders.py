"""Whoever shows a key, while it is in force."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.core.commands import Acknowledge, Command, DescribeMove, ListQueues
from penstock.core.model import QueueName
from penstock.core.scope import Scope
from penstock.keys.grants import Action, Need, Needs
from penstock.keys.rates import UNLIMITED, Meter
from penstock.keys.ring import Key, KeyRing


class Holder:
    """One key, made ready to be asked about."""

    __slots__ = ("_scopes", "key", "meter")

    def __init__(self, key: Key, before: Holder | None = None) -> None:
        """`before` is who held the same key until now."""
        self.key = key
        self.meter: Meter | None = None  # None: no limits
        if key.rates != UNLIMITED:
            self.meter = Meter(key.rates, before.meter if before else None)
        self._scopes = {action: _scope(key, action) for action in Action}

    def may(self, needs: Needs) -> bool:
        """Whether the key allows all of it."""
        for need in needs:  # noqa: SIM110 - as a generator it takes twice as long, and every request asks
            if not self._may(need):
                return False
        return True

    def _may(self, need: Need) -> bool:
        scope = self._scopes[need.action]
        if need.queue is not None:
            return scope.covers(need.queue)
        if need.namespace is not None:
            return scope.reaches(need.namespace)
        return scope.is_everything()

    def narrowed(self, command: Command) -> Command:
        """A command that names no queue, kept to the queues that the key allows it for."""
        match command:
            case Acknowledge(queue=None):
                scope = self._scopes[Action.CONSUME]
            case ListQueues() | DescribeMove():
                scope = self._scopes[Action.INSPECT]
            case _:
                return command
        return command if scope.is_everything() else msgspec.structs.replace(command, only=scope)

    def take_turn(self, needs: Needs, now: float) -> float:
        """Use up one turn of each limit that counts this; else the seconds until there is one."""
        return 0.0 if self.meter is None else self.meter.take_turn(_kinds(needs), now)


def _scope(key: Key, action: Action) -> Scope:
    grants = [grant for grant in key.grants if action in grant.actions]
    return Scope(tuple(QueueName(grant.namespace, grant.queue) for grant in grants))


def _kinds(needs: Needs) -> Iterator[str]:
    """The fields of `Rates` that count a request."""
    yield "requests"
    if any(need.action is Action.PUBLISH for need in needs):
        yield "publishes"
    if any(need.action is Action.CONSUME and not need.is_answer for need in needs):
        yield "consumes"


class Holders:
    """Everybody who holds a key of one ring."""

    __slots__ = ("_by_id", "by_digest")

    def __init__(self, ring: KeyRing, before: Holders | None = None) -> None:
        """Limits on keys that were in force `before` go on from where they were."""
        self._by_id = {key.id: Holder(key, before.of(key.id) if before else None) for key in ring.keys}
        self.by_digest = {holder.key.text_sha256: holder for holder in self._by_id.values()}

    def of(self, key_id: str) -> Holder | None:
        """Who holds the key of that id."""
        return self._by_id.get(key_id)
