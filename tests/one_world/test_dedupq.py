"""EmoDB's DedupQueueService and lmstfy at the same queues: namespace `dedup`, where unread copies are one."""

from __future__ import annotations

from itertools import product

import pytest

from tests.one_world.clients import IN_DEDUP, Client, Content, EmodbClient, LmstfyClient
from tests.one_world.conftest import Pair
from tests.one_world.world import Counts, World

PAGE = Content(b'{"page":1}', "application/json")
SPACED = Content(b'{ "page" : 1 }', "application/json")


@pytest.fixture(params=list(product(IN_DEDUP, IN_DEDUP)), ids=" to ".join)
def dedup(request: pytest.FixtureRequest, world: World) -> Pair:
    publisher, consumer = (IN_DEDUP[name](world) for name in request.param)
    return Pair(publisher, consumer, "dedup")


def claim_all(client: Client) -> list[object]:
    return [message.seen for message in iter(lambda: client.claim("jobs"), None)]


def test_equal_messages_that_wait_together_are_consumed_once(dedup: Pair, world: World) -> None:
    """Whoever of the two published each of them, and whatever white space it was sent with."""
    dedup.publisher.publish("jobs", PAGE)
    dedup.consumer.publish("jobs", SPACED)
    dedup.publisher.publish("jobs", PAGE)
    assert world.counts("jobs", "dedup") == Counts(there=3, ready=3, claimed=0)
    assert claim_all(dedup.consumer) == [dedup.consumer.sees(PAGE)]
    assert world.counts("jobs", "dedup") == Counts(there=1, ready=0, claimed=1)
    assert world.journal("event", "reason").count(("purged", "collapsed")) == 2


def test_a_message_in_a_readers_hands_does_not_stand_for_a_later_one(dedup: Pair, world: World) -> None:
    dedup.publisher.publish("jobs", PAGE)
    first = dedup.consumer.claim("jobs")
    dedup.publisher.publish("jobs", PAGE)
    second = dedup.publisher.claim("jobs")
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert world.counts("jobs", "dedup") == Counts(there=2, ready=0, claimed=2)


def test_a_message_that_comes_back_meets_its_equal(dedup: Pair, world: World) -> None:
    dedup.publisher.publish("jobs", PAGE)
    assert dedup.consumer.claim("jobs") is not None
    dedup.publisher.publish("jobs", PAGE)
    world.pass_s(dedup.consumer.hides_s)
    assert claim_all(dedup.consumer) == [dedup.consumer.sees(PAGE)]


def test_what_is_not_json_is_compared_byte_by_byte(dedup: Pair, world: World) -> None:
    lmstfy = LmstfyClient(world, "dedup")
    contents = [Content(body, "text/plain") for body in (b"a b", b"a  b", b"a b")]
    for content in contents:
        lmstfy.publish("jobs", content)
    expected = [Content(b"a b", "text/plain"), Content(b"a  b", "text/plain")]
    assert claim_all(dedup.consumer) == [dedup.consumer.sees(content) for content in expected]


def test_the_two_services_share_nothing_but_their_words(world: World) -> None:
    plain, collapsing = EmodbClient(world), EmodbClient(world, "dedupq")
    for client in (plain, plain, collapsing, collapsing):
        client.publish("jobs", PAGE)
    assert len(claim_all(plain)) == 2
    assert len(claim_all(collapsing)) == 1
    world.ask_json("DELETE", "/dedupq/1/jobs")
    assert world.counts("jobs") == Counts(there=2, ready=0, claimed=2)
    assert [queue["name"] for queue in world.ask_json("GET", "/queues")["queues"]] == ["jobs"]


@pytest.mark.parametrize("deed", ["/dedupq/1/jobs", "/api/dedup/jobs"])
def test_emptying_a_queue_takes_the_copies_along(deed: str, world: World) -> None:
    emodb = EmodbClient(world, "dedupq")
    for _ in range(3):
        emodb.publish("jobs", PAGE)
    assert world.ask("DELETE", deed).status in {200, 204}
    assert world.counts("jobs", "dedup") == Counts(0, 0, 0)
    emodb.publish("jobs", PAGE)
    assert len(claim_all(emodb)) == 1


def test_a_dead_job_does_not_stand_for_a_later_one(dedup: Pair, world: World) -> None:
    lmstfy = LmstfyClient(world, "dedup")
    lmstfy.publish_job("jobs", PAGE, "ttl=0&tries=1")
    assert dedup.consumer.claim("jobs") is not None
    world.pass_s(dedup.consumer.hides_s)
    assert world.dead("jobs", "dedup") == 1
    dedup.publisher.publish("jobs", PAGE)
    assert dedup.consumer.claim("jobs") is not None
