"""Publishing: where a message lands, to several queues at once, and in place of another."""

from __future__ import annotations

from penstock.core.commands import IfMissing, Malformed, Publish, PublishAll, Republish
from penstock.core.events import MessageAcknowledged, MessagePublished, QueueCreated
from penstock.core.model import Content, QueueName, Settings
from penstock.core.outcomes import NoSuchQueue, Published, PublishedAll, Refused
from tests.core.table import (
    COLLAPSING,
    COPY,
    DELAYED,
    OTHER,
    READY,
    Q,
    Row,
    claim,
    create,
    draft,
    each,
    holds,
    known,
    message,
    publish,
    published,
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
        "a message is ready at once",
        [A_QUEUE],
        (7, publish("a")),
        published(message(2, 7)),
        [MessagePublished(1, message(2, 7), A, READY, 7)],
    ),
    Row(
        "several messages are in line in the order given",
        [A_QUEUE],
        (0, publish("a", "b")),
        published(message(2), message(3)),
        [
            MessagePublished(1, message(2), A, READY, 0),
            MessagePublished(1, message(3), B, READY, 0),
        ],
    ),
    Row(
        "the delay of the queue holds a message back",
        [(0, create(delay_ms=50))],
        (7, publish("a")),
        published(message(2, 7)),
        [MessagePublished(1, message(2, 7), A, DELAYED, 57)],
    ),
    Row(
        "the delay of the publish counts instead of the queue's",
        [(0, create(delay_ms=50))],
        (7, publish("a", delay_ms=9)),
        published(message(2, 7)),
        [MessagePublished(1, message(2, 7), A, DELAYED, 16)],
    ),
    Row(
        "a publish can ask for no delay at all",
        [(0, create(delay_ms=50))],
        (7, publish("a", delay_ms=0)),
        published(message(2, 7)),
        [MessagePublished(1, message(2, 7), A, READY, 7)],
    ),
    Row(
        "time to live runs from the publish, tries are kept with the message",
        [A_QUEUE],
        (7, publish("a", delay_ms=5, ttl_ms=60, tries=3)),
        published(message(2, 7)),
        [MessagePublished(1, message(2, 7), A, DELAYED, 12, 67, 3)],
    ),
    Row("no drafts are no messages", [A_QUEUE], (0, publish()), Published(())),
)
def test_a_publish_lands_where_its_queue_and_its_draft_say(row: Row) -> None:
    holds(row)


@each(
    Row("a queue that is not there", [], (0, publish("a")), NoSuchQueue(Q)),
    Row(
        "a queue that is not there is made on the go",
        [(0, create(OTHER))],
        (5, publish("a", if_missing=IfMissing.CREATE)),
        published(message(3, 5)),
        [QueueCreated(2, Q, Settings()), MessagePublished(2, message(3, 5), A, READY, 5)],
    ),
    Row(
        "made on the go where copies collapse, it collapses copies",
        [],
        (0, publish("a", name=COLLAPSING, if_missing=IfMissing.CREATE)),
        published(message(2)),
        [
            QueueCreated(1, COLLAPSING, Settings(collapse=True)),
            MessagePublished(1, message(2), A, READY, 0, match_key=A_KEY),
        ],
    ),
    Row(
        "what cannot be read is refused",
        [A_QUEUE],
        (0, Publish(Q, UNREADABLE)),
        Refused("the body is not JSON"),
    ),
    Row(
        "what cannot be read makes no queue",
        [],
        (0, Publish(Q, UNREADABLE, IfMissing.CREATE)),
        Refused("the body is not JSON"),
    ),
    Row(
        "that there is no queue is said first",
        [],
        (0, Publish(Q, UNREADABLE)),
        NoSuchQueue(Q),
    ),
)
def test_a_publish_needs_a_queue_and_something_to_publish(row: Row) -> None:
    holds(row)


@each(
    Row(
        "each queue gets its part",
        [A_QUEUE, (0, create(OTHER))],
        (0, PublishAll((publish("a"), publish("b", name=OTHER)))),
        PublishedAll((published(message(3)), published(message(4)))),
        [MessagePublished(1, message(3), A, READY, 0), MessagePublished(2, message(4), B, READY, 0)],
    ),
    Row(
        "if one part cannot be done none is",
        [A_QUEUE],
        (0, PublishAll((publish("a"), publish("b", name=OTHER)))),
        NoSuchQueue(OTHER),
    ),
    Row(
        "each missing queue is made once",
        [],
        (
            0,
            PublishAll(
                (
                    publish("a", if_missing=IfMissing.CREATE),
                    publish("a", name=OTHER, if_missing=IfMissing.CREATE),
                    publish("b", if_missing=IfMissing.CREATE),
                )
            ),
        ),
        PublishedAll((published(message(2)), published(message(4)), published(message(5)))),
        [
            QueueCreated(1, Q, Settings()),
            MessagePublished(1, message(2), A, READY, 0),
            QueueCreated(2, OTHER, Settings()),
            MessagePublished(2, message(4), A, READY, 0),
            MessagePublished(1, message(5), B, READY, 0),
        ],
    ),
    Row(
        "a body is published once though two parts have it",
        [NO_DOUBLES],
        (0, PublishAll((publish("a"), publish("a")))),
        PublishedAll((published(message(2)), known(message(2)))),
        [MessagePublished(1, message(2), A, READY, 0, match_key=A_KEY)],
    ),
    Row(
        "a copy is one though it comes in another part",
        [(0, create(COLLAPSING, collapse=True))],
        (0, PublishAll((publish("a", name=COLLAPSING), publish("a", name=COLLAPSING)))),
        PublishedAll((published(message(2)), published(message(3)))),
        [
            MessagePublished(1, message(2), A, READY, 0, match_key=A_KEY),
            MessagePublished(1, message(3), A, COPY, 0, match_key=A_KEY),
        ],
    ),
)
def test_publishing_to_several_queues_is_all_or_nothing(row: Row) -> None:
    holds(row)


@each(
    Row(
        "the new one takes the place of the old",
        [A_QUEUE, (0, publish("a"))],
        (9, Republish(Q, message(2), draft("b"))),
        published(message(4, 9)),
        [
            MessageAcknowledged(1, message(2), 0, "republished"),
            MessagePublished(1, message(4, 9), B, READY, 9),
        ],
    ),
    Row(
        "a claimed one is ended as well",
        [A_QUEUE, (0, publish("a")), (0, claim())],
        (9, Republish(Q, message(2), draft("b"))),
        published(message(5, 9)),
        [
            MessageAcknowledged(1, message(2), 1, "republished"),
            MessagePublished(1, message(5, 9), B, READY, 9),
        ],
    ),
    Row(
        "an old one that is not there leaves a plain publish",
        [A_QUEUE],
        (9, Republish(Q, message(99), draft("b"))),
        published(message(2, 9)),
        [MessagePublished(1, message(2, 9), B, READY, 9)],
    ),
    Row(
        "an old one in another queue is left alone",
        [A_QUEUE, (0, create(OTHER)), (0, publish("a", name=OTHER))],
        (9, Republish(Q, message(3), draft("b"))),
        published(message(4, 9)),
        [MessagePublished(1, message(4, 9), B, READY, 9)],
    ),
    Row(
        "where bodies are compared the old one is no twin of the new",
        [NO_DOUBLES, (0, publish("a"))],
        (9, Republish(Q, message(2), draft("a"))),
        published(message(4, 9)),
        [
            MessageAcknowledged(1, message(2), 0, "republished"),
            MessagePublished(1, message(4, 9), A, READY, 9, match_key=A_KEY),
        ],
    ),
    Row(
        "where bodies are compared another one still is",
        [NO_DOUBLES, (0, publish("a", "b"))],
        (9, Republish(Q, message(2), draft("b"))),
        known(message(3)),
        [MessageAcknowledged(1, message(2), 0, "republished")],
    ),
    Row(
        "a missing queue is made on the go",
        [],
        (9, Republish(QueueName("default", "new"), message(2), draft("b"))),
        published(message(2, 9)),
        [
            QueueCreated(1, QueueName("default", "new"), Settings()),
            MessagePublished(1, message(2, 9), B, READY, 9),
        ],
    ),
)
def test_a_republish_ends_the_old_message_with_the_new_one_published(row: Row) -> None:
    holds(row)
