"""A queue is the same queue for everybody: made on the go or described, its settings hold for all."""

from __future__ import annotations

import json

import pytest

from tests.one_world.clients import IN_DEFAULT, Client, Content, EmodbClient, LmstfyClient, MqsClient
from tests.one_world.conftest import Pair
from tests.one_world.world import JSON, SETTINGS, Counts, World

ONE = Content(b"1", "application/json")

# What a queue has that nobody has described.
ON_THE_GO = {
    "name": "jobs",
    "redrive_policy": None,
    "retention_timeout": 2_147_483_647,
    "visibility_timeout": 30,
    "message_delay": 0,
    "message_deduplication": False,
}

MAKES_A_QUEUE: dict[str, tuple[str, str, bytes]] = {
    "lmstfy publishes": ("PUT", "/api/default/jobs", b"x"),
    "lmstfy publishes a bulk": ("PUT", "/api/default/jobs/bulk", b"[1]"),
    "lmstfy publishes in the place of nothing": ("PUT", "/api/default/jobs/job/none", b"x"),
    "emodb sends": ("POST", "/queue/1/jobs/send", b"1"),
    "emodb sends a batch": ("POST", "/queue/1/jobs/sendbatch", b"[1]"),
    "emodb sends batches": ("POST", "/queue/1/_sendbatch", b'{"jobs":[1]}'),
    "emodb moves to it": ("POST", "/queue/1/_move?from=other&to=jobs", b""),
    "mqcore creates": ("PUT", "/jobs", b""),
}
MAKES_NONE: dict[str, tuple[str, str, bytes]] = {
    "mqs publishes": ("POST", "/messages/jobs", b"x"),
    "mqs receives": ("GET", "/messages/jobs", b""),
    "mqs updates": ("POST", "/queues/jobs", json.dumps(SETTINGS).encode()),
    "mqcore adds": ("POST", "/jobs/messages", b"x"),
    "mqcore fetches": ("GET", "/jobs/messages", b""),
    "mqcore deletes": ("DELETE", "/jobs", b""),
    "lmstfy consumes": ("GET", "/api/default/jobs", b""),
    "lmstfy counts": ("GET", "/api/default/jobs/size", b""),
    "lmstfy destroys": ("DELETE", "/api/default/jobs", b""),
    "lmstfy respawns": ("PUT", "/api/default/jobs/deadletter", b""),
    "lmstfy publishes badly": ("PUT", "/api/default/jobs?tries=0", b"x"),
    "emodb polls": ("GET", "/queue/1/jobs/poll", b""),
    "emodb peeks": ("GET", "/queue/1/jobs/peek", b""),
    "emodb counts": ("GET", "/queue/1/jobs/size", b""),
    "emodb purges": ("DELETE", "/queue/1/jobs", b""),
    "emodb unclaims": ("POST", "/queue/1/jobs/unclaimall", b""),
    "emodb sends nothing": ("POST", "/queue/1/jobs/sendbatch", b"[]"),
    "emodb sends badly": ("POST", "/queue/1/jobs/send", b"{"),
}


@pytest.mark.parametrize("deed", MAKES_A_QUEUE)
def test_a_queue_made_on_the_go_is_there_for_everybody(deed: str, world: World) -> None:
    method, target, body = MAKES_A_QUEUE[deed]
    assert world.ask(method, target, body, JSON).status in {200, 201}
    described = world.describe("jobs")
    del described["status"]
    assert described == ON_THE_GO
    assert ON_THE_GO in world.ask_json("GET", "/queues")["queues"]
    assert world.ask("GET", "/jobs").status == 200
    assert world.ask("PUT", "/queues/jobs", json.dumps(SETTINGS).encode()).status == 409
    assert world.ask("POST", "/messages/jobs", b"from mqs").status == 201
    assert world.ask("POST", "/jobs/messages", b"from mqcore").status == 201


@pytest.mark.parametrize("deed", MAKES_NONE)
def test_only_a_publish_makes_a_queue(deed: str, world: World) -> None:
    method, target, body = MAKES_NONE[deed]
    world.ask(method, target, body, JSON)
    assert world.ask("GET", "/queues/jobs").status == 404
    assert world.ask("GET", "/jobs").status == 404


def test_a_queue_made_on_the_go_can_be_described_later(client: Client, world: World) -> None:
    EmodbClient(world).publish("jobs", ONE)
    world.ask_json("POST", "/queues/jobs", SETTINGS | {"retention_timeout": 60})
    world.pass_s(59)
    assert world.counts("jobs").there == 1
    world.pass_s(1)
    assert client.claim("jobs") is None
    assert world.counts("jobs") == Counts(0, 0, 0)


def test_a_delay_holds_for_publishes_from_every_dialect(pair_in_default: Pair, world: World) -> None:
    publisher, consumer, _ = pair_in_default
    world.make_queue("jobs", message_delay=5)
    publisher.publish("jobs", ONE)
    assert world.counts("jobs") == Counts(there=1, ready=0, claimed=0)
    world.pass_ms(4999)
    assert consumer.claim("jobs") is None
    world.pass_ms(1)
    assert consumer.claim("jobs") is not None


@pytest.mark.parametrize("delay_s", [0, 2, 9])
def test_a_publish_that_names_a_delay_has_its_own(
    delay_s: int, client: Client, world: World, lmstfy: LmstfyClient
) -> None:
    world.make_queue("jobs", message_delay=5)
    lmstfy.publish_job("jobs", ONE, f"delay={delay_s}")
    if delay_s:
        world.pass_ms(delay_s * 1000 - 1)
        assert client.claim("jobs") is None
        world.pass_ms(1)
    assert client.claim("jobs") is not None


def test_deduplication_compares_with_publishes_from_every_dialect(
    pair_in_default: Pair, world: World
) -> None:
    first, second, _ = pair_in_default
    world.make_queue("jobs", message_deduplication=True)
    first.publish("jobs", ONE)
    told = publish_again(second)
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)
    held = first.claim("jobs")
    assert held is not None
    assert told in {None, str(held.id)}
    publish_again(second)
    assert world.counts("jobs").there == 1, "a held message is still in the queue"
    first.acknowledge("jobs", held.id)
    second.publish("jobs", ONE)
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)


def publish_again(client: Client) -> str | None:
    """Publish what is there already, which mqs alone says aloud; the id, where one is told."""
    if isinstance(client, MqsClient):
        assert client.world.ask("POST", "/messages/jobs", ONE.body).status == 200
        return None
    told = client.publish("jobs", ONE)
    return None if told is None else str(told)


def test_the_visibility_of_a_queue_is_for_those_who_name_no_time_of_their_own(
    client: Client, world: World
) -> None:
    world.make_queue("jobs", visibility_timeout=7)
    EmodbClient(world).publish("jobs", ONE)
    assert client.claim("jobs") is not None
    holds_s = 7 if isinstance(client, MqsClient) else client.hides_s
    world.pass_ms(holds_s * 1000 - 1)
    assert client.claim("jobs") is None
    world.pass_ms(1)
    assert client.claim("jobs") is not None


def test_a_changed_setting_holds_for_the_very_next_request(client: Client, world: World) -> None:
    world.make_queue("jobs")
    world.ask_json("POST", "/queues/jobs", SETTINGS | {"message_delay": 5, "message_deduplication": True})
    client.publish("jobs", ONE)
    assert world.counts("jobs") == Counts(there=1, ready=0, claimed=0)
    world.ask_json("POST", "/queues/jobs", SETTINGS)
    client.publish("jobs", ONE)
    assert world.counts("jobs") == Counts(there=2, ready=1, claimed=0)


def test_where_redrive_policy_and_tries_run_out_together_the_policy_wins(
    client: Client, world: World, lmstfy: LmstfyClient
) -> None:
    world.make_queue("dead")
    world.make_queue("jobs", redrive_policy={"max_receives": 2, "dead_letter_queue": "dead"})
    lmstfy.publish_job("jobs", ONE, "ttl=0&tries=2")
    for _ in range(2):
        assert client.claim("jobs") is not None
        world.pass_s(client.hides_s)
    assert world.dead("jobs") == 0
    assert world.counts("dead") == Counts(there=1, ready=1, claimed=0)


@pytest.mark.parametrize("name", IN_DEFAULT)
def test_a_deleted_dead_letter_queue_leaves_no_policy_behind(name: str, world: World) -> None:
    client = IN_DEFAULT[name](world)
    world.make_queue("dead")
    world.make_queue("jobs", redrive_policy={"max_receives": 1, "dead_letter_queue": "dead"})
    client.publish("jobs", ONE)
    assert client.claim("jobs") is not None
    assert world.ask("DELETE", "/dead").status == 200, "by MQ-Core"
    assert world.describe("jobs")["redrive_policy"] is None
    world.pass_s(client.hides_s)
    assert client.claim("jobs") is not None
