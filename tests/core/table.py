"""Rules as tables. One row: what is there, what is asked of it and when; how it goes, what happens by it.

Every event takes one number of the journal, and a message is named by the number of its publish. The
first step of most rows creates a queue, which takes number 1 and is queue 1; then `message(2)` is the first
message published at 0 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest

from penstock.core import administration, rules
from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    Draft,
    IfMissing,
    Publish,
    Renew,
    UpdateQueue,
)
from penstock.core.events import Event
from penstock.core.ids import MessageId, make_id
from penstock.core.model import Content, Phase, QueueName, Redrive, Settings
from penstock.core.outcomes import (
    Delivered,
    Delivery,
    NoSuchQueue,
    Outcome,
    Published,
    QueueExists,
    Receipt,
    Refused,
    Unfinished,
)
from penstock.stores.memory import MemoryStore

Q = QueueName("default", "q")
OTHER = QueueName("default", "other")
DEAD_LETTERS = QueueName("default", "dead")
COLLAPSING = QueueName("dedup", "q")

READY, DELAYED, CLAIMED, DEAD, COPY = Phase.READY, Phase.DELAYED, Phase.CLAIMED, Phase.DEAD, Phase.COPY
REFUSALS = (NoSuchQueue, QueueExists, Refused)


class Due(NamedTuple):
    """In place of a command: the moment at which everything that is due happens by itself."""


DUE: Final = Due()
Step = tuple[int, Command | Due]


class Row(NamedTuple):
    """One line of a table."""

    says: str
    given: Sequence[Step]
    when: Step
    outcome: Outcome | None  # None where nobody asked
    events: Sequence[Event] = ()


def each(*rows: Row) -> pytest.MarkDecorator:
    """Run a test for each row."""
    TOLD.extend(rows)
    return pytest.mark.parametrize("row", rows, ids=[row.says.replace(" ", "_") for row in rows])


TOLD: list[Row] = []  # all rows of all tables that were imported


def holds(row: Row) -> None:
    """Decide, compare, and see that the events can be followed."""
    store = given(row.given)
    at_ms, command = row.when
    outcome, events = decided(store, at_ms, command)
    assert outcome == row.outcome
    assert events == list(row.events)
    store.apply(events, at_ms, "")
    store.check()


def given(steps: Sequence[Step]) -> MemoryStore:
    """A store in which some commands were done, each to its end."""
    store = MemoryStore()
    for at_ms, command in steps:
        outcome = done(store, at_ms, command)
        assert not isinstance(outcome, REFUSALS), f"given {command}: {outcome}"
    return store


def done(store: MemoryStore, at_ms: int, command: Command | Due) -> Outcome | None:
    """Do a command slice by slice until it is finished."""
    while True:
        outcome, events = decided(store, at_ms, command)
        store.apply(events, at_ms, "")
        if not isinstance(outcome, Unfinished):
            return outcome
        assert events, f"{command} is unfinished, and nothing happens by it"
        command = outcome.rest


def decided(store: MemoryStore, at_ms: int, command: Command | Due) -> tuple[Outcome | None, list[Event]]:
    """What the rules say, not yet applied."""
    if not isinstance(command, Due):
        return rules.decide(store, command, at_ms, new_id)
    events = [event for queue in store.due_queues(at_ms) for event in rules.tend(store, queue, at_ms)]
    for move in store.moves_under_way():
        events += administration.carry_on_move(store, move)
    for queue in store.deleted_queues():
        events += administration.clear_deleted(store, queue)
    return None, events


# What rows are written with


def new_id(at_ms: int, sequence: int) -> MessageId:
    return make_id(at_ms, sequence, sequence)


def message(sequence: int, at_ms: int = 0) -> MessageId:
    """The id of the message whose publish has this number."""
    return new_id(at_ms, sequence)


def create(name: QueueName = Q, **settings: object) -> CreateQueue:
    return CreateQueue(name, _settings(settings))


def update(name: QueueName = Q, **settings: object) -> UpdateQueue:
    return UpdateQueue(name, _settings(settings))


def _settings(settings: dict[str, object]) -> Settings:
    return Settings(**settings)  # type: ignore[arg-type]


def redrive(max_receives: int, target: QueueName = DEAD_LETTERS) -> Redrive:
    return Redrive(max_receives, target.name)


def draft(
    body: str, *, delay_ms: int | None = None, ttl_ms: int | None = None, tries: int | None = None
) -> Draft:
    return Draft(Content(body.encode()), delay_ms, ttl_ms, tries)


def publish(
    *bodies: str,
    name: QueueName = Q,
    delay_ms: int | None = None,
    ttl_ms: int | None = None,
    tries: int | None = None,
    if_missing: IfMissing = IfMissing.REFUSE,
    key: str | None = None,
) -> Publish:
    drafts = tuple(draft(body, delay_ms=delay_ms, ttl_ms=ttl_ms, tries=tries) for body in bodies)
    return Publish(name, drafts, if_missing, key)


def published(*ids: MessageId) -> Published:
    return Published(tuple(Receipt(message_id, is_new=True) for message_id in ids))


def known(*ids: MessageId) -> Published:
    return Published(tuple(Receipt(message_id, is_new=False) for message_id in ids))


def claim(
    *names: QueueName,
    limit: int = 1,
    hidden_ms: int | None = 100,
    if_missing: IfMissing = IfMissing.REFUSE,
    only_looks: bool = False,
) -> Claim:
    return Claim(names or (Q,), limit, hidden_ms, 0, if_missing, only_looks)


def acknowledge(*ids: MessageId, queue: str | None = "q", attempt: int | None = None) -> Acknowledge:
    return Acknowledge("default", queue, ids, attempt)


def renew(*ids: MessageId, hidden_ms: int, name: QueueName = Q, attempt: int | None = None) -> Renew:
    return Renew(name, ids, hidden_ms, attempt)


def release(*ids: MessageId, name: QueueName = Q, attempt: int | None = None) -> Renew:
    return Renew(name, ids, 0, attempt)


def delivered(*messages: Delivery) -> Delivered:
    return Delivered(messages)


NOTHING = Delivered(())


def delivery(
    message_id: MessageId,
    body: str,
    phase: Phase = CLAIMED,
    at_ms: int = 100,
    *,
    name: QueueName = Q,
    published_at_ms: int = 0,
    expires_at_ms: int | None = None,
    tries_left: int | None = None,
    receives: int = 1,
    attempt: int = 1,
) -> Delivery:
    """A delivery; unless it says otherwise, of a message claimed for the first time at 0 ms for 100 ms."""
    return Delivery(
        message_id,
        name,
        Content(body.encode()),
        phase,
        at_ms,
        published_at_ms,
        expires_at_ms,
        tries_left,
        receives,
        attempt,
    )
