"""All that a store holds as plain values, and a journal followed from its beginning.

The journal is the whole truth: applied in order to an empty store it gives the same contents again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from penstock.core.events import KeyRemembered, MessagePublished, MoveStarted
from penstock.core.model import Message, Phase, Queue
from penstock.core.record import Record
from penstock.core.store import Store
from penstock.stores.memory import MemoryStore

NAMESPACES = ("default", "dedup", "elsewhere")  # that tests put queues into
EVERYTHING = 1_000_000


def records_of(store: Store, after: int = 0) -> list[Record]:
    """The journal of a store after a number."""
    return [record for piece in store.journal_reader().records(after, EVERYTHING) for record in piece]


def fold(records: Iterable[Record]) -> MemoryStore:
    """A fresh store that has followed the records."""
    store = MemoryStore()
    for record in records:
        store.apply([record.event], record.at_ms, record.dialect)
        assert store.last_sequence == record.sequence, "a number is missing"
    return store


def contents(store: Store, records: Sequence[Record]) -> dict[str, Any]:
    """Everything that can be asked of a store about the queues, keys and moves that the records name."""
    queues = [queue for namespace in NAMESPACES for queue in store.queues(namespace)]
    keys = {(r.event.queue, r.event.key) for r in records if isinstance(r.event, KeyRemembered)}
    match_keys = {r.event.match_key for r in records if isinstance(r.event, MessagePublished)}
    references = [r.event.reference for r in records if isinstance(r.event, MoveStarted)]
    return {
        "last sequence": store.last_sequence,
        "last queue number": store.last_queue_number,
        "last moment": store.last_moment_ms(),
        "queues": {queue.name: _queue(store, queue) for queue in queues},
        "messages": [_message(store, message) for message in store.all_messages()],
        "twins": {
            (queue.number, key.hex()): store.twin(queue, key)
            for queue in queues
            for key in match_keys
            if key is not None
        },
        "keys": {
            (number, key): store.remembered(queue, key)
            for number, key in keys
            if (queue := store.queue_by_number(number)) is not None
        },
        "moves": [store.move(reference) for reference in references],
        "moves under way": list(store.moves_under_way()),
        "deleted": {queue.number: _left_behind(store, queue) for queue in store.deleted_queues()},
    }


def _queue(store: Store, queue: Queue) -> dict[str, Any]:
    return {
        "number": queue.number,
        "settings": queue.settings,
        "created": queue.created_at_ms,
        "counts": msgspec.structs.astuple(store.counts(queue)),
        "oldest": store.oldest_published_at_ms(queue),
        "lines": {
            phase.name: [m.sequence for m in store.listed(queue, phase, EVERYTHING)] for phase in Phase
        },
    }


def _message(store: Store, message: Message) -> dict[str, Any]:
    assert store.message(message.id) is not None, "a message is found by its id"
    plain = {name: getattr(message, name) for name in message.__struct_fields__}
    return plain | {"queue": message.queue.number, "content": store.content(message)}


def _left_behind(store: Store, queue: Queue) -> list[int]:
    return [m.sequence for m in store.by_sequence(queue, 0, store.last_sequence, EVERYTHING)]
