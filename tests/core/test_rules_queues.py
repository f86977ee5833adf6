"""Queues as a whole: made, changed, deleted, told of and listed."""

from __future__ import annotations

from penstock.core.commands import (
    CreateQueue,
    DeleteQueue,
    DescribeQueue,
    ListQueues,
    Malformed,
    UpdateQueue,
)
from penstock.core.events import MessageExpired, QueueChanged, QueueCreated, QueueDeleted
from penstock.core.model import Counts, QueueName, Redrive, Settings
from penstock.core.outcomes import (
    Ended,
    NoSuchQueue,
    Outcome,
    QueueExists,
    QueueShown,
    QueuesListed,
    Refused,
    Renewed,
    Unfinished,
)
from tests.core.table import (
    COLLAPSING,
    DEAD_LETTERS,
    DUE,
    NOTHING,
    OTHER,
    Q,
    Row,
    Step,
    acknowledge,
    claim,
    create,
    done,
    each,
    given,
    holds,
    message,
    publish,
    published,
    redrive,
    renew,
    update,
)

A_QUEUE: Step = (0, create())
BAD = Malformed("visibility_timeout: expected an integer")
NO_DEAD_LETTER_QUEUE = Refused("redrive_policy.dead_letter_queue: there is no queue 'dead'")


def shown(
    name: QueueName = Q,
    settings: Settings | None = None,
    counts: Counts | None = None,
    oldest_published_at_ms: int | None = None,
    **more: object,
) -> Outcome:
    return QueueShown(
        name,
        settings or Settings(),
        counts or Counts(),
        oldest_published_at_ms,
        **more,  # type: ignore[arg-type]
    )


@each(
    Row(
        "a new name makes a queue",
        [],
        (0, create(visibility_ms=5)),
        shown(settings=Settings(5), was_created=True),
        [QueueCreated(1, Q, Settings(5))],
    ),
    Row("a name that is taken makes none", [A_QUEUE], (0, create(visibility_ms=5)), QueueExists(Q)),
    Row(
        "a name that is taken may be meant",
        [A_QUEUE, (0, publish("a"))],
        (0, CreateQueue(Q, Settings(5), keeps_existing=True)),
        shown(counts=Counts(ready=1), oldest_published_at_ms=0),
    ),
    Row(
        "the same name in another namespace is another queue",
        [A_QUEUE],
        (0, create(QueueName("elsewhere", "q"))),
        shown(QueueName("elsewhere", "q"), was_created=True),
        [QueueCreated(2, QueueName("elsewhere", "q"), Settings())],
    ),
    Row("settings that cannot be read make none", [], (0, CreateQueue(Q, BAD)), Refused(BAD.reason)),
    Row(
        "that the name is taken is said before what is wrong with the settings",
        [A_QUEUE],
        (0, CreateQueue(Q, BAD)),
        QueueExists(Q),
    ),
    Row(
        "a dead letter queue has to be there",
        [],
        (0, create(redrive=redrive(3))),
        NO_DEAD_LETTER_QUEUE,
    ),
    Row(
        "a dead letter queue in another namespace is not there",
        [(0, create(QueueName("elsewhere", "dead")))],
        (0, create(redrive=redrive(3))),
        NO_DEAD_LETTER_QUEUE,
    ),
    Row(
        "a queue that is still to be made cannot be its own dead letter queue",
        [],
        (0, create(redrive=Redrive(3, "q"))),
        Refused("redrive_policy.dead_letter_queue: there is no queue 'q'"),
    ),
    Row(
        "a queue made again has another number",
        [A_QUEUE, (0, DeleteQueue(Q))],
        (0, create()),
        shown(was_created=True),
        [QueueCreated(2, Q, Settings())],
    ),
)
def test_a_queue_is_made_under_a_name_that_is_free(row: Row) -> None:
    holds(row)


@each(
    Row(
        "all settings are replaced",
        [(0, create(visibility_ms=5, delay_ms=6, deduplicate=True)), (0, publish("a"))],
        (9, update(retention_ms=7000)),
        shown(settings=Settings(retention_ms=7000), counts=Counts(delayed=1), oldest_published_at_ms=0),
        [QueueChanged(1, Settings(retention_ms=7000))],
    ),
    Row(
        "whether copies collapse is settled at the creation",
        [(0, create(COLLAPSING, collapse=True))],
        (0, update(COLLAPSING, delay_ms=6)),
        shown(COLLAPSING, Settings(delay_ms=6, collapse=True)),
        [QueueChanged(1, Settings(delay_ms=6, collapse=True))],
    ),
    Row("there has to be a queue", [], (0, update()), NoSuchQueue(Q)),
    Row("that there is none is said first", [], (0, UpdateQueue(Q, BAD)), NoSuchQueue(Q)),
    Row(
        "settings that cannot be read change nothing",
        [A_QUEUE],
        (0, UpdateQueue(Q, BAD)),
        Refused(BAD.reason),
    ),
    Row(
        "a dead letter queue has to be there for a change",
        [A_QUEUE],
        (0, update(redrive=redrive(3))),
        NO_DEAD_LETTER_QUEUE,
    ),
    Row(
        "a queue may become its own dead letter queue",
        [A_QUEUE],
        (0, update(redrive=Redrive(3, "q"))),
        shown(settings=Settings(redrive=Redrive(3, "q"))),
        [QueueChanged(1, Settings(redrive=Redrive(3, "q")))],
    ),
)
def test_an_update_replaces_the_settings(row: Row) -> None:
    holds(row)


@each(
    Row(
        "it is told as it was",
        [(0, create(delay_ms=6)), (0, publish("a"))],
        (9, DeleteQueue(Q)),
        shown(settings=Settings(delay_ms=6), counts=Counts(delayed=1), oldest_published_at_ms=0),
        [QueueDeleted(1)],
    ),
    Row("there has to be one", [], (0, DeleteQueue(Q)), NoSuchQueue(Q)),
    Row(
        "policies that lead to it are removed, other settings are kept",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(redrive=redrive(3), delay_ms=6)),
            (0, create(OTHER, redrive=Redrive(3, "q"))),
        ],
        (0, DeleteQueue(DEAD_LETTERS)),
        shown(DEAD_LETTERS),
        [QueueChanged(2, Settings(delay_ms=6)), QueueDeleted(1)],
    ),
    Row(
        "its own policy goes with it",
        [A_QUEUE, (0, update(redrive=Redrive(3, "q")))],
        (0, DeleteQueue(Q)),
        shown(settings=Settings(redrive=Redrive(3, "q"))),
        [QueueDeleted(1)],
    ),
    Row(
        "a policy in another namespace means another queue",
        [
            (0, create(DEAD_LETTERS)),
            (0, create(QueueName("elsewhere", "dead"))),
            (0, create(QueueName("elsewhere", "q"), redrive=redrive(3))),
        ],
        (0, DeleteQueue(DEAD_LETTERS)),
        shown(DEAD_LETTERS),
        [QueueDeleted(1)],
    ),
)
def test_a_deleted_queue_takes_the_policies_along_that_lead_to_it(row: Row) -> None:
    holds(row)


EVERY_PHASE: list[Step] = [
    A_QUEUE,
    (0, publish("dead", tries=1)),
    (0, claim()),
    (100, DUE),
    (100, publish("claimed")),
    (100, claim()),
    (110, publish("ready", "ready")),
    (110, publish("delayed", delay_ms=500)),
]


@each(
    Row("a queue that is not there", [], (0, DescribeQueue(Q)), NoSuchQueue(Q)),
    Row("an empty queue", [A_QUEUE], (0, DescribeQueue(Q)), shown()),
    Row(
        "a queue with messages in every phase",
        EVERY_PHASE,
        (150, DescribeQueue(Q)),
        shown(counts=Counts(ready=2, delayed=1, claimed=1, dead=1), oldest_published_at_ms=100),
    ),
    Row(
        "a queue with the first of its dead letters",
        EVERY_PHASE,
        (150, DescribeQueue(Q, with_dead_head=True)),
        shown(
            counts=Counts(ready=2, delayed=1, claimed=1, dead=1),
            oldest_published_at_ms=100,
            dead_head=message(2),
        ),
    ),
    Row(
        "a queue without a dead letter has no first",
        [A_QUEUE, (0, publish("a"))],
        (0, DescribeQueue(Q, with_dead_head=True)),
        shown(counts=Counts(ready=1), oldest_published_at_ms=0),
    ),
    Row(
        "copies are counted with the ready",
        [(0, create(COLLAPSING, collapse=True)), (0, publish("1", "1", name=COLLAPSING))],
        (0, DescribeQueue(COLLAPSING)),
        shown(COLLAPSING, Settings(collapse=True), Counts(ready=2), 0),
    ),
    Row(
        "what has expired is ended before it is counted",
        [A_QUEUE, (0, publish("a", ttl_ms=50))],
        (50, DescribeQueue(Q)),
        Unfinished(DescribeQueue(Q)),
        [MessageExpired(1, message(2), 0, "ttl")],
    ),
)
def test_a_queue_is_told_as_it_is(row: Row) -> None:
    holds(row)


THREE: list[Step] = [(0, create(QueueName("default", name), delay_ms=ord(name))) for name in "cab"]


def listed(total: int, names: str) -> Outcome:
    page = [(QueueName("default", name), Settings(delay_ms=ord(name))) for name in names]
    return QueuesListed(total, tuple(page))


@each(
    Row("all of them", THREE, (0, ListQueues("default")), listed(3, "cab")),
    Row("all but the first", THREE, (0, ListQueues("default", 1)), listed(3, "ab")),
    Row("as many as asked for", THREE, (0, ListQueues("default", 0, 2)), listed(3, "ca")),
    Row("a page in the middle", THREE, (0, ListQueues("default", 1, 1)), listed(3, "a")),
    Row("a page past the end", THREE, (0, ListQueues("default", 7, 1)), listed(3, "")),
    Row("none of another namespace", THREE, (0, ListQueues("elsewhere")), listed(0, "")),
    Row(
        "none that was deleted",
        [*THREE, (0, DeleteQueue(QueueName("default", "a")))],
        (0, ListQueues("default")),
        listed(2, "cb"),
    ),
)
def test_queues_are_listed_in_the_order_of_their_creation(row: Row) -> None:
    holds(row)


MADE_AGAIN: list[Step] = [
    (0, create(deduplicate=True)),
    (0, publish("a", key="k")),
    (0, claim()),
    (0, DeleteQueue(Q)),
    (0, create(deduplicate=True)),
]


def test_a_queue_made_again_under_its_name_has_none_of_the_old_messages() -> None:
    store = given(MADE_AGAIN)
    assert done(store, 0, claim()) == NOTHING
    assert done(store, 0, DescribeQueue(Q)) == shown(settings=Settings(deduplicate=True))


def test_an_old_id_does_not_touch_a_queue_made_again() -> None:
    store = given(MADE_AGAIN)
    before = store.last_sequence
    assert done(store, 0, acknowledge(message(2))) == Ended((False,))
    assert done(store, 0, renew(message(2), hidden_ms=500)) == Renewed((False,))
    assert store.last_sequence == before


def test_a_queue_made_again_remembers_neither_bodies_nor_keys() -> None:
    store = given(MADE_AGAIN)
    number = store.last_sequence + 1
    assert done(store, 0, publish("a", key="k")) == published(message(number))
    assert number == 7
