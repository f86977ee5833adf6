"""Whoever shows a key, while it is in force."""

from __future__ import annotations

from typing import assert_never

import msgspec

from penstock.core.commands import Acknowledge, Command, DescribeMove, ListQueues
from penstock.core.model import QueueName
from penstock.core.scope import Scope
from penstock.keys.grants import Action, Need, Needs
from penstock.keys.rates import UNLIMITED, Meter
from penstock.keys.ring import Key, KeyRing

ANSWERS_KEPT_MAX = 128  # for each key, of which there may be thousands

Place = QueueName | str | None  # a queue, some queue of a namespace, or everything, as in `Need`

_MAY_NAME_NO_QUEUE = (Acknowledge, ListQueues, DescribeMove)


class Holder:
    """One key, made ready to be asked about."""

    __slots__ = ("_answers", "_scopes", "key", "meter")

    def __init__(self, key: Key, before: Holder | None = None) -> None:
        """`before` is who held the same key until now."""
        self.key = key
        self.meter: Meter | None = None  # None: no limits
        if key.rates != UNLIMITED:
            self.meter = Meter(key.rates, before.meter if before else None)
        self._scopes: dict[Action, Scope] = {}  # made when first asked for: there may be thousands of keys
        # Every request asks twice, and most ask for the same few queues.
        self._answers: dict[tuple[Action, Place], bool] = {}

    def may(self, needs: Needs) -> bool:
        """Whether the key allows all of it."""
        for need in needs:  # noqa: SIM110 - a generator takes twice as long
            if not self._may(need):
                return False
        return True

    def _may(self, need: Need) -> bool:
        known = self._answers.get((need.action, need.queue or need.namespace))
        return self._find_out(need.action, need.queue or need.namespace) if known is None else known

    def _find_out(self, action: Action, place: Place) -> bool:
        scope = self._scope(action)
        match place:
            case None:
                answer = scope.is_everything()
            case str():
                answer = scope.reaches(place)
            case QueueName():
                answer = scope.covers(place)
            case _:
                assert_never(place)
        if len(self._answers) >= ANSWERS_KEPT_MAX:
            self._answers.clear()
        self._answers[action, place] = answer
        return answer

    def narrowed(self, command: Command) -> Command:
        """A command that names no queue, kept to the queues that the key allows it for."""
        if not isinstance(command, _MAY_NAME_NO_QUEUE):
            return command
        if isinstance(command, Acknowledge):
            if command.queue is not None:
                return command
            scope = self._scope(Action.CONSUME)
        else:
            scope = self._scope(Action.INSPECT)
        return command if scope.is_everything() else msgspec.structs.replace(command, only=scope)

    def _scope(self, action: Action) -> Scope:
        scope = self._scopes.get(action)
        if scope is None:
            grants = [grant for grant in self.key.grants if action in grant.actions]
            scope = Scope(tuple(QueueName(grant.namespace, grant.queue) for grant in grants))
            self._scopes[action] = scope
        return scope

    def take_turn(self, needs: Needs, now: float) -> float:
        """Use up one turn of each limit that counts this; else, and then of none, the seconds to wait."""
        if self.meter is None:
            return 0.0
        publishes = consumes = False
        for need in needs:
            publishes = publishes or need.action is Action.PUBLISH
            consumes = consumes or (need.action is Action.CONSUME and not need.is_answer)
        return self.meter.take_turn(now, publishes=publishes, consumes=consumes)


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
