"""What is not published twice: a body that is there already, and a publish that was done before."""

from __future__ import annotations

from penstock.core.commands import Malformed
from penstock.core.events import KeyRemembered, MessagePublished
from penstock.core.model import Content
from penstock.core.outcomes import Published, Receipt
from tests.core.table import (
    DEAD_LETTERS,
    DUE,
    OTHER,
    READY,
    Row,
    acknowledge,
    claim,
    create,
    each,
    holds,
    known,
    message,
    publish,
    published,
    redrive,
    update,
)

A, B = Content(b"a"), Content(b"b")
A_QUEUE = (0, create())
NO_DOUBLES = (0, create(deduplicate=True))
UNREADABLE = Malformed("the body is not JSON")
# What `a` is in a queue that compares bodies: their SHA-256.
A_KEY = bytes.fromhex("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
B_KEY = bytes.fromhex("3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d")


@each(
    Row(
        "the first of its kind is new",
        [NO_DOUBLES],
        (0, publish("a")),
        published(message(2)),
        [MessagePublished(1, message(2), A, READY, 0, match_key=A_KEY)],
    ),
    Row(
        "a body that is ready is there already",
        [NO_DOUBLES, (0, publish("a"))],
        (9, publish("a")),
        known(message(2)),
    ),
    Row(
        "a body that is claimed is there already",
        [NO_DOUBLES, (0, publish("a")), (0, claim())],
        (9, publish("a")),
        known(message(2)),
    ),
    Row(
        "a body that is delayed is there already",
        [NO_DOUBLES, (0, publish("a", delay_ms=50))],
        (9, publish("a")),
        known(message(2)),
    ),
    Row(
        "a body that is a dead letter here is there already",
        [NO_DOUBLES, (0, publish("a", tries=1)), (0, claim()), (100, DUE)],
        (100, publish("a")),
        known(message(2)),
    ),
    Row(
        "within one publish the second is not new",
        [NO_DOUBLES],
        (0, publish("a", "b", "a")),
        Published(
            (
                Receipt(message(2), is_new=True),
                Receipt(message(3), is_new=True),
                Receipt(message(2), is_new=False),
            )
        ),
        [
            MessagePublished(1, message(2), A, READY, 0, match_key=A_KEY),
            MessagePublished(1, message(3), B, READY, 0, match_key=B_KEY),
        ],
    ),
    Row(
        "once it is acknowledged the same body is new",
        [NO_DOUBLES, (0, publish("a")), (0, acknowledge(message(2)))],
        (9, publish("a")),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), A, READY, 9, match_key=A_KEY)],
    ),
    Row(
        "once it was moved away the same body is new",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(deduplicate=True, redrive=redrive(1))),
            (0, publish("a")),
            (0, claim()),
            (100, DUE),
        ],
        (100, publish("a")),
        published(message(6, 100)),
        [MessagePublished(2, message(6, 100), A, READY, 100, match_key=A_KEY)],
    ),
    Row(
        "a message published while it was off never matches",
        [A_QUEUE, (0, publish("a")), (0, update(deduplicate=True))],
        (9, publish("a")),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), A, READY, 9, match_key=A_KEY)],
    ),
    Row(
        "a message published while it was on still matches when it is on again",
        [NO_DOUBLES, (0, publish("a")), (0, update()), (0, update(deduplicate=True))],
        (9, publish("a")),
        known(message(2)),
    ),
    Row(
        "while it is off doubles are published",
        [NO_DOUBLES, (0, publish("a")), (0, update())],
        (9, publish("a")),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), A, READY, 9)],
    ),
    Row(
        "another queue has its own bodies",
        [NO_DOUBLES, (0, publish("a")), (0, create(OTHER, deduplicate=True))],
        (9, publish("a", name=OTHER)),
        published(message(4, 9)),
        [MessagePublished(2, message(4, 9), A, READY, 9, match_key=A_KEY)],
    ),
)
def test_a_queue_that_deduplicates_has_each_body_once(row: Row) -> None:
    holds(row)


@each(
    Row(
        "the key is remembered with the ids",
        [A_QUEUE],
        (0, publish("a", "b", key="k")),
        published(message(2), message(3)),
        [
            MessagePublished(1, message(2), A, READY, 0),
            MessagePublished(1, message(3), B, READY, 0),
            KeyRemembered(1, "k", (message(2), message(3))),
        ],
    ),
    Row(
        "the same key again publishes nothing",
        [A_QUEUE, (0, publish("a", "b", key="k"))],
        (9, publish("a", "b", key="k")),
        known(message(2), message(3)),
    ),
    Row(
        "the same key again publishes nothing although the message has ended",
        [A_QUEUE, (0, publish("a", key="k")), (0, acknowledge(message(2)))],
        (9, publish("a", key="k")),
        known(message(2)),
    ),
    Row(
        "another key publishes again",
        [A_QUEUE, (0, publish("a", key="k"))],
        (9, publish("a", key="l")),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), A, READY, 9), KeyRemembered(1, "l", (message(4, 9),))],
    ),
    Row(
        "a key is one of its queue",
        [A_QUEUE, (0, publish("a", key="k")), (0, create(OTHER))],
        (9, publish("a", name=OTHER, key="k")),
        published(message(5, 9)),
        [MessagePublished(2, message(5, 9), A, READY, 9), KeyRemembered(2, "k", (message(5, 9),))],
    ),
    Row(
        "a body that is there already is answered by the key too",
        [NO_DOUBLES, (0, publish("a"))],
        (9, publish("a", key="k")),
        known(message(2)),
        [KeyRemembered(1, "k", (message(2),))],
    ),
)
def test_a_publish_with_an_idempotency_key_is_done_once(row: Row) -> None:
    holds(row)
