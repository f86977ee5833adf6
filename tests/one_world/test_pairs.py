"""A message published in one dialect, lived through in another."""

from __future__ import annotations

from uuid import UUID

from tests.one_world.clients import Client, Content, LmstfyClient, Received
from tests.one_world.conftest import Pair
from tests.one_world.world import Counts, World

ORDER = Content(b'{"order":17}', "application/json")


def published(pair: Pair, content: Content = ORDER) -> UUID:
    """Publish, and find the id where the publisher is not told."""
    told = pair.publisher.publish("jobs", content)
    (found,) = pair.publisher.world.journal("message_id")[-1]
    assert told in {None, UUID(found)}
    return UUID(found)


def claimed(client: Client, queue: str = "jobs") -> Received:
    received = client.claim(queue)
    assert received is not None, f"nothing for {client.name}"
    return received


def test_a_message_is_consumed_with_its_id_and_its_content(pair: Pair) -> None:
    message_id = published(pair)
    received = claimed(pair.consumer)
    assert received.id == message_id
    assert received.seen == pair.consumer.sees(pair.publisher.kept(ORDER))
    assert pair.publisher.claim("jobs") is None


def test_an_acknowledged_message_is_gone_for_everybody(pair: Pair, world: World) -> None:
    published(pair)
    pair.consumer.acknowledge("jobs", claimed(pair.consumer).id)
    world.pass_s(3000)
    assert pair.publisher.claim("jobs") is None
    assert pair.consumer.claim("jobs") is None
    assert world.counts("jobs", pair.namespace) == Counts(0, 0, 0)


def test_the_publisher_may_acknowledge_what_the_consumer_holds(pair: Pair, world: World) -> None:
    message_id = published(pair)
    claimed(pair.consumer)
    pair.publisher.acknowledge("jobs", message_id)
    world.pass_s(3000)
    assert pair.consumer.claim("jobs") is None


def test_a_message_nobody_holds_can_be_acknowledged(pair: Pair, world: World) -> None:
    pair.consumer.acknowledge("jobs", published(pair))
    assert pair.consumer.claim("jobs") is None
    assert world.counts("jobs", pair.namespace) == Counts(0, 0, 0)


def test_all_dialects_count_the_same_in_every_phase(pair: Pair, world: World) -> None:
    for body in (b"1", b"2"):
        pair.publisher.publish("jobs", Content(body))
    assert world.counts("jobs", pair.namespace) == Counts(there=2, ready=2, claimed=0)
    message = claimed(pair.consumer)
    assert world.counts("jobs", pair.namespace) == Counts(there=2, ready=1, claimed=1)
    world.pass_s(pair.consumer.hides_s)
    assert world.counts("jobs", pair.namespace) == Counts(there=2, ready=2, claimed=0)
    pair.consumer.acknowledge("jobs", message.id)
    assert world.counts("jobs", pair.namespace) == Counts(there=1, ready=1, claimed=0)


def test_a_claim_holds_for_exactly_as_long_as_its_own_dialect_says(pair: Pair, world: World) -> None:
    message_id = published(pair)
    claimed(pair.consumer)
    world.pass_ms(pair.consumer.hides_s * 1000 - 1)
    assert pair.publisher.claim("jobs") is None
    world.pass_ms(1)
    assert claimed(pair.publisher).id == message_id


def test_a_message_that_comes_back_is_behind_what_waited_before_it(pair: Pair, world: World) -> None:
    first = published(pair)
    second = published(pair, Content(b"2"))
    assert claimed(pair.consumer).id == first
    world.pass_s(pair.consumer.hides_s)
    assert [claimed(pair.publisher).id, claimed(pair.publisher).id] == [second, first]


def test_the_journal_tells_who_did_what(pair: Pair, world: World) -> None:
    message_id = published(pair)
    claimed(pair.consumer)
    world.pass_s(pair.consumer.hides_s)
    pair.consumer.acknowledge("jobs", claimed(pair.consumer).id)
    columns = ("event", "dialect", "attempt", "namespace", "queue", "message_id", "reason")
    of_all = (pair.namespace, "jobs", str(message_id))
    assert world.journal(*columns) == [
        ("published", pair.publisher.name, 0, *of_all, None),
        ("claimed", pair.consumer.name, 1, *of_all, None),
        ("readied", None, 1, *of_all, "lapsed"),
        ("claimed", pair.consumer.name, 2, *of_all, None),
        ("acknowledged", pair.consumer.name, 2, *of_all, None),
    ]


def test_retention_ends_a_message_whoever_published_it(pair_in_default: Pair, world: World) -> None:
    publisher, consumer, _ = pair_in_default
    world.make_queue("jobs", retention_timeout=60)
    publisher.publish("jobs", Content(b"1"))
    publisher.publish("jobs", Content(b"2"))
    world.pass_ms(59_999)
    consumer.acknowledge("jobs", claimed(consumer).id)
    world.pass_ms(1)
    assert consumer.claim("jobs") is None
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.journal("event", "reason")[-1] == ("expired", "retention")


def test_a_message_received_too_often_is_in_the_dead_letter_queue(
    pair_in_default: Pair, world: World
) -> None:
    publisher, consumer, _ = pair_in_default
    world.make_queue("dead")
    world.make_queue("jobs", redrive_policy={"max_receives": 2, "dead_letter_queue": "dead"})
    message_id = published(pair_in_default)
    for _ in range(2):
        assert claimed(consumer).id == message_id
        assert world.counts("dead") == Counts(0, 0, 0)
        world.pass_s(consumer.hides_s)
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.counts("dead") == Counts(there=1, ready=1, claimed=0)
    assert world.journal("event", "reason")[-1] == ("moved", "max_receives")
    received = claimed(publisher, "dead")
    assert received == Received(message_id, publisher.sees(publisher.kept(ORDER)))
    publisher.acknowledge("dead", message_id)
    assert world.counts("dead") == Counts(0, 0, 0)


def test_only_what_has_tries_runs_out_of_them(pair: Pair, world: World) -> None:
    """A job of lmstfy is dead after its tries; what another dialect published comes back for ever."""
    publisher, consumer, namespace = pair
    if isinstance(publisher, LmstfyClient):
        publisher.publish_job("jobs", ORDER, "ttl=0&tries=3")
    else:
        publisher.publish("jobs", ORDER)
    for _ in range(3):
        claimed(consumer)
        world.pass_s(consumer.hides_s)
    is_dead = isinstance(publisher, LmstfyClient)
    assert world.dead("jobs", namespace) == int(is_dead)
    assert world.counts("jobs", namespace) == (Counts(0, 0, 0) if is_dead else Counts(1, 1, 0))
    assert world.journal("event")[-1] == ("buried" if is_dead else "readied",)
