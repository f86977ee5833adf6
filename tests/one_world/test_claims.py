"""A claim of any dialect is a claim for all."""

from __future__ import annotations

import pytest

from tests.one_world.clients import EVERYBODY, IN_DEFAULT, Client, Content, EmodbClient, LmstfyClient
from tests.one_world.conftest import Pair
from tests.one_world.world import JSON, Counts, World

ONE = Content(b"1", "application/json")


def emodb_of(client: Client) -> EmodbClient:
    """The service of EmoDB that serves a client's namespace."""
    return EmodbClient(client.world, "dedupq" if client.namespace == "dedup" else "queue")


@pytest.fixture(params=EVERYBODY)
def holder(request: pytest.FixtureRequest, world: World) -> Client:
    """Every client, with a queue "jobs" that has one message."""
    holder = EVERYBODY[request.param](world)
    emodb_of(holder).publish("jobs", ONE)
    return holder


def test_a_claim_is_prolonged_by_emodb(holder: Client, world: World) -> None:
    held = holder.claim("jobs")
    assert held is not None
    emodb_of(holder).renew("jobs", held.id, 500)
    world.pass_ms(499_999)
    assert holder.claim("jobs") is None
    world.pass_ms(1)
    assert holder.claim("jobs") == held


def test_a_claim_is_never_shortened(holder: Client, world: World) -> None:
    held = holder.claim("jobs")
    assert held is not None
    emodb_of(holder).renew("jobs", held.id, holder.hides_s - 5)
    world.pass_ms(holder.hides_s * 1000 - 1)
    assert holder.claim("jobs") is None
    world.pass_ms(1)
    assert holder.claim("jobs") == held


def test_a_lapsed_claim_is_made_again(holder: Client, world: World) -> None:
    held = holder.claim("jobs")
    assert held is not None
    world.pass_s(holder.hides_s)
    emodb_of(holder).renew("jobs", held.id, 60)
    assert world.counts("jobs", holder.namespace) == Counts(there=1, ready=0, claimed=1)
    world.pass_s(60)
    assert holder.claim("jobs") == held


def test_a_claim_is_released_at_once_with_the_try_it_took(pair: Pair, world: World) -> None:
    """Released as often as claimed, a job never runs out of tries, whoever claims it."""
    publisher, consumer, namespace = pair
    publisher.publish("jobs", ONE)
    for _ in range(10):
        held = consumer.claim("jobs")
        assert held is not None
        emodb_of(consumer).renew("jobs", held.id, 0)
        assert world.counts("jobs", namespace) == Counts(there=1, ready=1, claimed=0)
    assert world.journal("event", "reason", "dialect")[-1] == ("readied", "released", "emodb")
    assert consumer.claim("jobs") is not None
    world.pass_s(consumer.hides_s)
    assert world.dead("jobs", namespace) == 0
    assert world.counts("jobs", namespace) == Counts(there=1, ready=1, claimed=0)


def test_unclaimall_releases_the_claims_of_every_dialect(world: World, emodb: EmodbClient) -> None:
    clients = [make(world) for make in IN_DEFAULT.values()]
    for _ in clients:
        emodb.publish("jobs", ONE)
    held = {client.claim("jobs") for client in clients}
    assert world.counts("jobs") == Counts(there=4, ready=0, claimed=4)
    world.ask_json("POST", "/queue/1/jobs/unclaimall")
    assert world.counts("jobs") == Counts(there=4, ready=4, claimed=0)
    assert {message.id for message in held if message} == {
        message.id for message in [client.claim("jobs") for client in clients] if message
    }


def test_unclaimall_of_the_other_service_releases_nothing_here(holder: Client, world: World) -> None:
    other = "queue" if holder.namespace == "dedup" else "dedupq"
    holder.claim("jobs")
    world.ask_json("POST", f"/{other}/1/jobs/unclaimall")
    assert world.counts("jobs", holder.namespace) == Counts(there=1, ready=0, claimed=1)


def test_a_claim_of_any_dialect_uses_up_a_try_and_counts_as_a_receive(
    client: Client, world: World, lmstfy: LmstfyClient
) -> None:
    lmstfy.publish_job("jobs", ONE, "ttl=0&tries=3")
    assert client.claim("jobs") is not None
    world.pass_s(client.hides_s)
    answer = world.ask("GET", "/messages/jobs")
    assert answer.headers["x-mqs-message-receives"] == b"2"
    world.pass_s(30)
    job = lmstfy.consume("jobs")
    assert job is not None
    assert job["remain_tries"] == 0


def test_a_poll_without_a_claim_counts_as_nothing(world: World, lmstfy: LmstfyClient) -> None:
    lmstfy.publish_job("jobs", ONE, "ttl=0&tries=2")
    for _ in range(3):
        assert len(world.ask_json("GET", "/queue/1/jobs/poll?ttl=0")) == 1
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)
    assert world.ask("GET", "/messages/jobs").headers["x-mqs-message-receives"] == b"1"
    world.pass_s(30)
    job = lmstfy.consume("jobs")
    assert job is not None
    assert job["remain_tries"] == 0


@pytest.mark.parametrize("look", ["/api/default/jobs/peek", "/queue/1/jobs/peek"])
def test_looking_takes_nothing_from_a_consumer(look: str, client: Client, world: World) -> None:
    emodb_of(client).publish("jobs", ONE)
    for _ in range(3):
        world.ask_json("GET", look)
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)
    assert client.claim("jobs") is not None
    seen_by_emodb = world.ask_json("GET", "/queue/1/jobs/peek")
    assert len(seen_by_emodb) == 1, "EmoDB looks at claimed messages too"
    assert world.ask("GET", "/api/default/jobs/peek").status == 404, "lmstfy at ready ones only"


def test_a_move_takes_what_another_dialect_published_and_holds(pair: Pair, world: World) -> None:
    publisher, consumer, namespace = pair
    emodb = emodb_of(consumer)
    contents = [Content(b"1", "application/json"), Content(b"2", "application/json")]
    for content in contents:
        publisher.publish("jobs", content)
    held = consumer.claim("jobs")
    assert held is not None
    reference = world.ask_json("POST", f"{emodb.base}/_move?from=jobs&to=elsewhere")["id"]
    told = world.ask_json("GET", f"{emodb.base}/_move/{reference}")
    assert told == {"from": "jobs", "to": "elsewhere", "status": "COMPLETE"}
    assert world.counts("jobs", namespace) == Counts(0, 0, 0)
    assert world.counts("elsewhere", namespace) == Counts(there=2, ready=2, claimed=0)
    arrived = [message for message in [consumer.claim("elsewhere"), consumer.claim("elsewhere")] if message]
    assert [message.seen for message in arrived] == [consumer.sees(content) for content in contents]
    assert held in arrived
    consumer.acknowledge("elsewhere", held.id)
    assert world.counts("elsewhere", namespace).there == 1


def test_an_acknowledgement_in_the_queue_a_message_was_moved_from_does_nothing(
    world: World, emodb: EmodbClient, lmstfy: LmstfyClient
) -> None:
    emodb.publish("jobs", ONE)
    held = lmstfy.claim("jobs")
    assert held is not None
    world.ask_json("POST", "/queue/1/_move?from=jobs&to=elsewhere", headers=JSON)
    lmstfy.acknowledge("jobs", held.id)
    assert world.counts("elsewhere") == Counts(there=1, ready=1, claimed=0)
