"""How messages and queues end in one dialect, seen from the others."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.one_world.clients import Client, Content, EmodbClient, LmstfyClient, MqsClient
from tests.one_world.world import SETTINGS, Counts, World

ONE = Content(b"1", "application/json")


@pytest.fixture
def ids(world: World, lmstfy: LmstfyClient) -> dict[str, UUID]:
    """A queue "jobs" with one message in each phase."""
    world.make_queue("jobs")
    dead = lmstfy.publish_job("jobs", Content(b"0"), "ttl=0&tries=1")
    lmstfy.consume("jobs", "ttr=1")
    world.pass_s(1)
    held = lmstfy.publish_job("jobs", Content(b"1"), "ttl=0&tries=9")
    assert lmstfy.consume("jobs", "ttr=60") is not None
    delayed = lmstfy.publish_job("jobs", Content(b"2"), "ttl=0&delay=60&tries=9")
    ready = lmstfy.publish_job("jobs", Content(b"3"), "ttl=0&tries=9")
    assert world.counts("jobs") == Counts(there=3, ready=1, claimed=1)
    assert world.dead("jobs") == 1
    return {"dead": dead, "held": held, "delayed": delayed, "ready": ready}


def ended(world: World) -> dict[UUID, tuple[str, str | None]]:
    ends = {"acknowledged", "expired", "purged"}
    told = world.journal("message_id", "event", "reason")
    return {UUID(message_id): (event, reason) for message_id, event, reason in told if event in ends}


def test_a_purge_of_emodb_takes_all_but_dead_letters(ids: dict[str, UUID], world: World) -> None:
    world.ask_json("DELETE", "/queue/1/jobs")
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.dead("jobs") == 1
    assert ended(world) == {ids[phase]: ("purged", "purge") for phase in ("held", "delayed", "ready")}
    world.pass_s(100)
    assert world.counts("jobs") == Counts(0, 0, 0)


def test_a_destruction_of_lmstfy_takes_what_is_ready(ids: dict[str, UUID], world: World) -> None:
    assert world.ask("DELETE", "/api/default/jobs").status == 204
    assert world.counts("jobs") == Counts(there=2, ready=0, claimed=1)
    assert world.dead("jobs") == 1
    assert ended(world) == {ids["ready"]: ("purged", "purge")}
    world.pass_s(60)
    assert world.counts("jobs") == Counts(there=2, ready=2, claimed=0)


@pytest.mark.parametrize("target", ["/queues/jobs", "/jobs"], ids=["mqs", "mqcore"])
def test_a_deleted_queue_takes_everything_along(target: str, ids: dict[str, UUID], world: World) -> None:
    assert world.ask("DELETE", target).status == 200
    assert ended(world) == dict.fromkeys(ids.values(), ("purged", "queue deleted"))
    assert world.ask("GET", "/queues/jobs").status == 404
    assert world.ask("GET", "/messages/jobs").status == 404
    assert world.ask("GET", "/jobs").status == 404
    assert world.ask("GET", "/jobs/messages").status == 204
    assert world.ask_json("GET", "/queue/1/jobs/peek") == []
    assert world.ask("GET", "/api/default/jobs").status == 404
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.dead("jobs") == 0
    world.make_queue("jobs")
    world.pass_s(100)
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.dead("jobs") == 0


@pytest.mark.parametrize("deed", [("DELETE", "/queue/1/jobs"), ("DELETE", "/api/default/jobs")], ids=str)
def test_an_emptied_queue_keeps_its_settings(deed: tuple[str, str], world: World) -> None:
    world.make_queue("jobs", message_delay=5, message_deduplication=True)
    before = world.describe("jobs")
    EmodbClient(world).publish("jobs", ONE)
    world.pass_s(5)
    assert world.ask(*deed).status in {200, 204}
    assert world.describe("jobs") == before
    EmodbClient(world).publish("jobs", ONE)
    assert world.counts("jobs") == Counts(there=1, ready=0, claimed=0)


def test_a_message_in_any_phase_can_be_acknowledged_by_everybody(
    ids: dict[str, UUID], client: Client, world: World
) -> None:
    for message_id in ids.values():
        client.acknowledge("jobs", message_id)
    assert set(ended(world)) == set(ids.values())
    assert world.counts("jobs") == Counts(0, 0, 0)
    assert world.dead("jobs") == 0


def test_a_dead_letter_is_nobodys_message(ids: dict[str, UUID], client: Client, world: World) -> None:
    received = client.claim("jobs")
    assert received is not None
    assert received.id == ids["ready"]
    assert client.claim("jobs") is None
    seen = {message["id"] for message in world.ask_json("GET", "/queue/1/jobs/peek")}
    assert seen == {str(ids[phase]) for phase in ("held", "delayed", "ready")}


def test_a_respawned_job_is_everybodys_again(ids: dict[str, UUID], client: Client, world: World) -> None:
    assert world.ask_json("PUT", "/api/default/jobs/deadletter?ttl=0") == {"count": 1, "msg": "respawned"}
    assert world.dead("jobs") == 0
    assert world.counts("jobs") == Counts(there=4, ready=2, claimed=1)
    claimed = {message.id for message in (client.claim("jobs"), client.claim("jobs")) if message}
    assert claimed == {ids["dead"], ids["ready"]}
    world.pass_s(client.hides_s)
    assert world.dead("jobs") == 1, "it had one try"


def test_a_job_outlives_its_ttl_nowhere(client: Client, world: World, lmstfy: LmstfyClient) -> None:
    lmstfy.publish_job("jobs", ONE, "ttl=10")
    lmstfy.publish_job("jobs", ONE, "ttl=20")
    world.pass_ms(9999)
    assert world.counts("jobs").ready == 2
    world.pass_ms(1)
    assert world.counts("jobs") == Counts(there=1, ready=1, claimed=0)
    assert client.claim("jobs") is not None
    assert client.claim("jobs") is None
    events = ["published", "published", "expired", "claimed"]
    assert [event for (event,) in world.journal("event")] == events


def test_a_job_that_expires_in_a_consumers_hands_can_still_be_acknowledged(
    client: Client, world: World, lmstfy: LmstfyClient
) -> None:
    job_id = lmstfy.publish_job("jobs", ONE, "ttl=5&tries=9")
    assert client.claim("jobs") is not None
    world.pass_s(6)
    assert client.claim("jobs") is None
    client.acknowledge("jobs", job_id)
    assert ended(world) == {job_id: ("acknowledged", None)}


def test_a_job_that_expires_in_a_consumers_hands_never_comes_back(
    client: Client, world: World, lmstfy: LmstfyClient
) -> None:
    job_id = lmstfy.publish_job("jobs", ONE, "ttl=5&tries=1")
    assert client.claim("jobs") is not None
    world.pass_s(client.hides_s)
    assert client.claim("jobs") is None
    assert world.dead("jobs") == 0
    assert ended(world) == {job_id: ("expired", "ttl")}


def test_the_earlier_of_ttl_and_retention_ends_a_job(client: Client, world: World) -> None:
    lmstfy = LmstfyClient(world)
    world.make_queue("jobs", retention_timeout=10)
    lmstfy.publish_job("jobs", ONE, "ttl=5")
    lmstfy.publish_job("jobs", ONE, "ttl=0")
    assert world.ask_json("GET", "/api/default/jobs/peek")["ttl"] == 5
    world.pass_s(5)
    assert world.counts("jobs").there == 1
    world.pass_s(5)
    assert client.claim("jobs") is None
    assert {reason for _, reason in ended(world).values()} == {"retention", "ttl"}


def test_a_dead_letter_queue_is_a_queue_like_any_other(client: Client, world: World) -> None:
    """Received too often by anybody, a message of mqs is respawned by nobody, but moved back by EmoDB."""
    world.make_queue("dead")
    world.ask_json("PUT", "/queues/jobs", SETTINGS | {"redrive_policy": redrive(1)})
    MqsClient(world).publish("jobs", ONE)
    held = client.claim("jobs")
    assert held is not None
    world.pass_s(client.hides_s)
    assert world.ask_json("PUT", "/api/default/dead/deadletter")["count"] == 0
    world.ask_json("POST", "/queue/1/_move?from=dead&to=jobs")
    assert client.claim("jobs") == held
    world.pass_s(client.hides_s)
    assert world.counts("dead").there == 1


def redrive(max_receives: int) -> dict[str, object]:
    return {"max_receives": max_receives, "dead_letter_queue": "dead"}
