"""One id in two writings, and good for its own queue only."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from penstock.core.ids import to_ulid
from tests.one_world.clients import (
    IN_DEFAULT,
    Client,
    Content,
    EmodbClient,
    LmstfyClient,
    MqCoreClient,
    MqsClient,
)
from tests.one_world.world import JSON, Counts, World

ONE = Content(b"1", "application/json")

WRITINGS: dict[str, Callable[[UUID], str]] = {
    "uuid": str,
    "uuid in capitals": lambda message_id: str(message_id).upper(),
    "bare uuid": lambda message_id: message_id.hex,
    "ulid": lambda message_id: to_ulid(message_id.bytes),
    "ulid in small letters": lambda message_id: to_ulid(message_id.bytes).lower(),
}
each_writing = pytest.mark.parametrize("writing", WRITINGS)


@pytest.fixture
def message_id(world: World) -> UUID:
    """The one message in the queue "jobs"."""
    world.make_queue("jobs")
    told = MqCoreClient(world).publish("jobs", ONE)
    assert told is not None
    return told


def test_every_dialect_shows_the_same_id(client: Client, world: World, message_id: UUID) -> None:
    assert world.ask_json("GET", "/queue/1/jobs/peek")[0]["id"] == str(message_id)
    assert world.ask_json("GET", "/api/default/jobs/peek")["job_id"] == to_ulid(message_id.bytes)
    received = client.claim("jobs")
    assert received is not None
    assert received.id == message_id


@each_writing
@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
def test_lmstfy_reads_an_id_in_every_writing(verb: str, writing: str, world: World, message_id: UUID) -> None:
    answer = world.ask(verb, f"/api/default/jobs/job/{WRITINGS[writing](message_id)}")
    assert answer.status == {"GET": 200, "DELETE": 204, "PUT": 201}[verb]
    is_there = world.ask("GET", f"/api/default/jobs/job/{message_id}").status == 200
    assert is_there == (verb == "GET")


@each_writing
def test_mqs_reads_an_id_as_a_uuid_only(writing: str, world: World, message_id: UUID) -> None:
    answer = world.ask("DELETE", f"/messages/{WRITINGS[writing](message_id)}")
    is_uuid = "uuid" in writing
    assert answer.status == (204 if is_uuid else 400)
    assert world.counts("jobs").there == (0 if is_uuid else 1)


def test_what_mqcore_and_emodb_did_not_give_out_is_an_unknown_id(world: World, message_id: UUID) -> None:
    ulid = to_ulid(message_id.bytes)
    assert world.ask("DELETE", f"/jobs/messages/{ulid}").status == 202
    assert world.ask_json("POST", "/queue/1/jobs/ack", [ulid], JSON) == {"success": True}
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)


UNDER_ANOTHER_NAME: dict[str, tuple[str, str, bytes]] = {
    "emodb acknowledges": ("POST", "/queue/1/other/ack", b'["{uuid}"]'),
    "emodb renews": ("POST", "/queue/1/other/renew?ttl=100", b'["{uuid}"]'),
    "emodb gives back": ("POST", "/queue/1/other/renew?ttl=0", b'["{uuid}"]'),
    "emodb acknowledges in its other service": ("POST", "/dedupq/1/jobs/ack", b'["{uuid}"]'),
    "lmstfy deletes": ("DELETE", "/api/default/other/job/{ulid}", b""),
    "lmstfy deletes in another namespace": ("DELETE", "/api/elsewhere/jobs/job/{ulid}", b""),
    "lmstfy publishes in its place": ("PUT", "/api/default/other/job/{ulid}", b"2"),
    "mqcore deletes": ("DELETE", "/other/messages/{uuid}", b""),
}


@pytest.mark.parametrize("deed", UNDER_ANOTHER_NAME)
@pytest.mark.parametrize("state", ["held", "waiting"])
def test_under_another_queues_name_an_id_is_unknown(
    deed: str, state: str, world: World, message_id: UUID
) -> None:
    """The answer is that for an unknown id, and nothing happens to the message."""
    world.make_queue("other")
    if state == "held":
        MqsClient(world).claim("jobs")
    before = world.counts("jobs")
    method, target, body = UNDER_ANOTHER_NAME[deed]
    asked = [fill(method, target, body, an_id, world) for an_id in (message_id, UUID(int=1))]
    assert asked[0] == asked[1]
    assert world.counts("jobs") == before
    assert ("acknowledged",) not in world.journal("event")


def fill(method: str, target: str, body: bytes, message_id: UUID, world: World) -> tuple[int, bytes]:
    texts = {"{uuid}": str(message_id), "{ulid}": to_ulid(message_id.bytes)}
    for gap, text in texts.items():
        target, body = target.replace(gap, text), body.replace(gap.encode(), text.encode())
    answer = world.ask(method, target, body, JSON)
    return answer.status, b"" if method == "PUT" else answer.body  # that of a publish has a new id


def test_looking_for_a_job_under_another_queues_name_finds_none(world: World, message_id: UUID) -> None:
    world.make_queue("other")
    assert world.ask("GET", f"/api/default/jobs/job/{message_id}").status == 200
    assert world.ask("GET", f"/api/default/other/job/{message_id}").status == 404
    assert world.ask("GET", f"/api/elsewhere/jobs/job/{message_id}").status == 404


@pytest.mark.parametrize("namespace", ["dedup", "elsewhere"])
def test_mqs_knows_no_id_of_another_namespace(namespace: str, world: World) -> None:
    foreign = LmstfyClient(world, namespace).publish_job("jobs", ONE, "ttl=0")
    assert world.ask("DELETE", f"/messages/{foreign}").status == 404
    assert world.ask_json("GET", f"/api/{namespace}/jobs/size")["size"] == 1


@pytest.mark.parametrize("name", IN_DEFAULT)
def test_an_id_of_a_deleted_queue_does_nothing_to_its_successor(
    name: str, world: World, message_id: UUID
) -> None:
    client = IN_DEFAULT[name](world)
    assert world.ask("DELETE", "/queues/jobs").status == 200
    EmodbClient(world).publish("jobs", ONE)
    if name == "mqs":
        assert world.ask("DELETE", f"/messages/{message_id}").status == 404
    else:
        client.acknowledge("jobs", message_id)
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)
