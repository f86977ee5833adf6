"""Events of every kind, at random, and as the journal of version 1 has them written down."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.core import events as ev
from penstock.core.ids import make_id
from penstock.core.model import Content, Phase, QueueName, Redrive, Settings
from penstock.core.record import Record
from penstock.journal.records import Row

numbers = st.integers(0, 2**42 - 1)
moments_ms = st.integers(0, 2**48 - 1)
words = st.text(min_size=1, max_size=20)
ids = st.builds(make_id, moments_ms, numbers, st.integers(0, 2**32 - 1))
keys = st.binary(min_size=32, max_size=32)
names = st.builds(QueueName, words, words)
settings = st.builds(
    Settings,
    numbers,
    numbers,
    st.none() | numbers,
    deduplicate=st.booleans(),
    collapse=st.booleans(),
    redrive=st.none() | st.builds(Redrive, numbers, words),
)

# What each field of an event may hold; a new field has to be added here.
FIELDS: dict[str, SearchStrategy[object]] = {
    "queue": numbers,
    "id": ids,
    "name": names,
    "settings": settings,
    "content": st.builds(Content, st.binary(max_size=50), words, st.none() | words, st.none() | words),
    "phase": st.sampled_from(Phase),
    "available_at_ms": moments_ms,
    "hidden_until_ms": moments_ms,
    "expires_at_ms": st.none() | moments_ms,
    "tries": st.none() | numbers,
    "tries_used": numbers,
    "match_key": st.none() | keys,
    "attempt": numbers,
    "is_last_receive": st.booleans(),
    "gives_try_back": st.booleans(),
    "reason": words,
    "target": numbers,
    "key": words,
    "ids": st.lists(ids, max_size=3).map(tuple),
    "reference": words,
    "last_sequence": numbers,
    "status": words,
}
KINDS_OF_EVENT: tuple[type[ev.Event], ...] = get_args(ev.Event)


def events_of(kind: type[ev.Event]) -> SearchStrategy[ev.Event]:
    return st.builds(kind, **{name: FIELDS[name] for name in kind.__struct_fields__})


any_events: SearchStrategy[ev.Event] = st.one_of([events_of(kind) for kind in KINDS_OF_EVENT])


def records_of(events: list[ev.Event], first: int = 1) -> list[Record]:
    """A journal of these events."""
    return [
        Record(number, 1000 + number, "mqs" if number % 2 else "", QueueName("default", "q"), event)
        for number, event in enumerate(events, start=first)
    ]


ID = make_id(1_700_000_000_000, 7, 0xDEADBEEF)
KEY = b"\xff" * 32
KEY_TEXT = b"/" * 42 + b"8="
# One of each kind as version 1 writes it. Such rows are in files: there may be more of them, never others.
VERSION_1: list[tuple[ev.Event, Row]] = [
    (
        ev.MessagePublished(3, ID, Content(b"hi", "text/plain"), Phase.READY, 5),
        Row(1, 3, ID, 0, None, 2, "text/plain", 5, None, b"hi"),
    ),
    (
        ev.MessagePublished(3, ID, Content(b"", "text/plain", "gzip", "t"), Phase.DELAYED, 5, 9, 2, KEY),
        Row(
            1,
            3,
            ID,
            0,
            None,
            0,
            "text/plain",
            5,
            b'{"phase":1,"expires_at_ms":9,"tries":2,"match_key":"%s",'
            b'"content_encoding":"gzip","trace_id":"t"}' % KEY_TEXT,
            b"",
        ),
    ),
    (ev.MessageClaimed(3, ID, 1, 5), Row(2, 3, ID, 1, until_ms=5)),
    (
        ev.MessageClaimed(3, ID, 1, 5, is_last_receive=True),
        Row(2, 3, ID, 1, until_ms=5, detail=b'{"is_last_receive":true}'),
    ),
    (ev.MessageAcknowledged(3, ID, 1), Row(3, 3, ID, 1)),
    (ev.MessageAcknowledged(3, ID, 1, "unclaimed"), Row(3, 3, ID, 1, "unclaimed")),
    (
        ev.MessageReadied(3, ID, 1, 5, "released", Phase.COPY, gives_try_back=True),
        Row(4, 3, ID, 1, "released", until_ms=5, detail=b'{"phase":4,"gives_try_back":true}'),
    ),
    (
        ev.MessageRenewed(3, ID, 1, 5, is_last_receive=True),
        Row(5, 3, ID, 1, until_ms=5, detail=b'{"is_last_receive":true}'),
    ),
    (ev.MessageExpired(3, ID, 1, "ttl"), Row(6, 3, ID, 1, "ttl")),
    (ev.MessageBuried(3, ID, 1, "tries"), Row(7, 3, ID, 1, "tries")),
    (
        ev.MessageRespawned(3, ID, 1, 9, Phase.COPY),
        Row(8, 3, ID, 1, detail=b'{"phase":4,"expires_at_ms":9}'),
    ),
    (
        ev.MessageMoved(3, ID, 1, 4, 2, "move", Phase.COPY, KEY),
        Row(
            9,
            3,
            ID,
            1,
            "move",
            detail=b'{"phase":4,"match_key":"%s","target":4,"tries_used":2}' % KEY_TEXT,
        ),
    ),
    (ev.MessagePurged(3, ID, 1, "purge"), Row(10, 3, ID, 1, "purge")),
    (
        ev.QueueCreated(3, QueueName("default", "q"), Settings(delay_ms=6)),
        Row(20, 3, detail=b'{"name":["default","q"],"settings":{"delay_ms":6}}'),
    ),
    (
        ev.QueueChanged(3, Settings(redrive=Redrive(4, "dead"))),
        Row(21, 3, detail=b'{"settings":{"redrive":{"max_receives":4,"dead_letter_queue":"dead"}}}'),
    ),
    (ev.QueueDeleted(3), Row(22, 3)),
    (
        ev.KeyRemembered(3, "k", (ID,)),
        Row(23, 3, detail=b'{"key":"k","ids":["AYvP5WgAcACAAAAH3q2+7w=="]}'),
    ),
    (
        ev.MoveStarted(3, 4, "ref", 6),
        Row(24, 3, detail=b'{"target":4,"reference":"ref","last_sequence":6}'),
    ),
    (ev.MoveEnded(3, "ref", "ERROR"), Row(25, 3, detail=b'{"reference":"ref","status":"ERROR"}')),
]
