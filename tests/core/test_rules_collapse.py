"""Queues that collapse copies: what is unread and equal becomes one at the next claim."""

from __future__ import annotations

from hashlib import sha256

import pytest

from penstock.core.commands import Acknowledge, Purge
from penstock.core.events import (
    MessageClaimed,
    MessageExpired,
    MessagePublished,
    MessagePurged,
    MessageReadied,
)
from penstock.core.model import Content
from penstock.core.outcomes import Delivered, Renewed, Unfinished
from tests.core.table import (
    COLLAPSING,
    COPY,
    DELAYED,
    DUE,
    READY,
    Row,
    Step,
    claim,
    create,
    delivered,
    delivery,
    done,
    each,
    given,
    holds,
    message,
    publish,
    published,
    release,
    update,
)

A_QUEUE: Step = (0, create(COLLAPSING, collapse=True))
M1 = publish("1", name=COLLAPSING)
POLL = claim(COLLAPSING, limit=10)
ONE = sha256(b"1").digest()


def acknowledged(sequence: int) -> Acknowledge:
    return Acknowledge("dedup", "q", (message(sequence),))


@each(
    Row(
        "the first of its kind is in line",
        [A_QUEUE],
        (0, M1),
        published(message(2)),
        [MessagePublished(1, message(2), Content(b"1"), READY, 0, match_key=ONE)],
    ),
    Row(
        "an equal one is a copy beside the line, with an id of its own",
        [A_QUEUE, (0, M1)],
        (9, M1),
        published(message(3, 9)),
        [MessagePublished(1, message(3, 9), Content(b"1"), COPY, 9, match_key=ONE)],
    ),
    Row(
        "a delayed one is not compared yet",
        [A_QUEUE, (0, M1)],
        (9, publish("1", name=COLLAPSING, delay_ms=50)),
        published(message(3, 9)),
        [MessagePublished(1, message(3, 9), Content(b"1"), DELAYED, 59, match_key=ONE)],
    ),
    Row(
        "one that was handed to a reader does not absorb a later equal one",
        [A_QUEUE, (0, M1), (0, POLL)],
        (9, M1),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), Content(b"1"), READY, 9, match_key=ONE)],
    ),
    Row(
        "a claim first ends the copies",
        [A_QUEUE, (0, M1), (0, M1)],
        (9, POLL),
        Unfinished(POLL),
        [MessagePurged(1, message(3), 0, "collapsed")],
    ),
    Row(
        "and then hands out the one that is left",
        [A_QUEUE, (0, M1), (0, M1), (0, Purge(COLLAPSING, (COPY,)))],
        (0, POLL),
        delivered(delivery(message(2), "1", name=COLLAPSING)),
        [MessageClaimed(1, message(2), 1, 100)],
    ),
    Row(
        "a copy whose original was acknowledged takes its place",
        [A_QUEUE, (0, M1), (0, M1), (0, acknowledged(2))],
        (9, POLL),
        Unfinished(POLL),
        [MessageReadied(1, message(3), 0, 0, "sole copy")],
    ),
    Row(
        "of two such copies the first takes its place",
        [A_QUEUE, (0, M1), (0, M1), (0, M1), (0, acknowledged(2))],
        (9, POLL),
        Unfinished(POLL),
        [
            MessageReadied(1, message(3), 0, 0, "sole copy"),
            MessagePurged(1, message(4), 0, "collapsed"),
        ],
    ),
    Row(
        "a copy does not collapse into an original whose time is over",
        [A_QUEUE, (0, publish("1", name=COLLAPSING, ttl_ms=50)), (0, M1)],
        (50, POLL),
        Unfinished(POLL),
        [
            MessageExpired(1, message(2), 0, "ttl"),
            MessageReadied(1, message(3), 0, 0, "sole copy"),
        ],
    ),
    Row(
        "a released message that equals an unread one becomes its copy",
        [A_QUEUE, (0, M1), (0, POLL), (9, M1)],
        (9, release(message(2), name=COLLAPSING)),
        Renewed((True,)),
        [MessageReadied(1, message(2), 1, 9, "released", COPY, gives_try_back=True)],
    ),
)
def test_copies_stand_beside_the_line_until_a_claim(row: Row) -> None:
    holds(row)


def polled(steps: list[Step], at_ms: int = 0) -> list[bytes]:
    outcome = done(given(steps), at_ms, POLL)
    assert isinstance(outcome, Delivered)
    return [found.content.body for found in outcome.messages]


def test_one_reader_gets_one_of_two_equal_messages() -> None:
    assert polled([A_QUEUE, (0, M1), (0, M1)]) == [b"1"]


def test_both_readers_get_one_of_two_equal_messages_with_a_poll_between() -> None:
    assert polled([A_QUEUE, (0, M1), (0, POLL), (0, M1)]) == [b"1"]


def test_a_copy_is_delivered_when_its_original_was_acknowledged_before_the_poll() -> None:
    assert polled([A_QUEUE, (0, M1), (0, M1), (0, acknowledged(2))]) == [b"1"]


def test_a_poll_collapses_the_whole_unread_set() -> None:
    three = publish("1", "2", "1", "2", "1", name=COLLAPSING)
    assert polled([A_QUEUE, (0, three)]) == [b"1", b"2"]


def test_a_lapsed_message_collapses_with_an_equal_one_sent_meanwhile() -> None:
    assert polled([A_QUEUE, (0, M1), (0, POLL), (50, M1), (100, DUE)], 100) == [b"1"]


def test_a_released_message_collapses_with_an_equal_one_sent_meanwhile() -> None:
    steps: list[Step] = [A_QUEUE, (0, M1), (0, POLL), (50, M1), (60, release(message(2), name=COLLAPSING))]
    assert polled(steps, 60) == [b"1"]


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ('{"a": [1, 2]}', '{"a":[1,2]}', 1),
        ("1", " 1 ", 1),
        ('"a b"', '"a  b"', 2),  # white space within a string is not white space
        ('{"a":1,"b":2}', '{"b":2,"a":1}', 2),  # compared as it is written
        ("not JSON", "not JSON", 1),
        ("not JSON", "not  JSON", 2),
        ("", "", 1),
        ("[" * 5000, "[" * 5000, 1),  # too deep to be read as JSON
    ],
)
def test_messages_are_equal_if_their_json_is_but_for_white_space(first: str, second: str, count: int) -> None:
    assert len(polled([A_QUEUE, (0, publish(first, second, name=COLLAPSING))])) == count


def test_an_update_neither_begins_nor_ends_collapsing() -> None:
    assert polled([A_QUEUE, (0, M1), (0, M1), (0, update(COLLAPSING))]) == [b"1"]
    plain: list[Step] = [(0, create(COLLAPSING)), (0, update(COLLAPSING, collapse=True)), (0, M1), (0, M1)]
    assert polled(plain) == [b"1", b"1"]
