"""Every way in which a message becomes ready. Each prepares its part, yields, and then lets it happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.one_world.world import JSON, SETTINGS, World

BODY = b'{"a":1}'

Way = Callable[[World], Iterator[None]]


def _by(method: str, target: str, body: bytes = BODY) -> Way:
    def publish(world: World) -> Iterator[None]:
        yield
        assert world.ask(method, target, body, JSON).status in {200, 201}

    return publish


def _consumed(world: World, ttr_s: int) -> dict[str, Any]:
    """A job in somebody's hands."""
    assert world.ask("PUT", "/api/default/jobs?ttl=0&tries=2", BODY).status == 201
    job: dict[str, Any] = world.ask_json("GET", f"/api/default/jobs?ttr={ttr_s}")
    return job


def _delay_is_over(world: World) -> Iterator[None]:
    assert world.ask("PUT", "/api/default/jobs?delay=3", BODY).status == 201
    yield
    world.pass_s(3)


def _delay_of_the_queue_is_over(world: World) -> Iterator[None]:
    world.ask_json("POST", "/queues/jobs", SETTINGS | {"message_delay": 3})
    assert world.ask("POST", "/jobs/messages", BODY).status == 201
    yield
    world.pass_s(3)


def _ttr_runs_out(world: World) -> Iterator[None]:
    _consumed(world, ttr_s=3)
    yield
    world.pass_s(3)


def _visibility_timeout_runs_out(world: World) -> Iterator[None]:
    world.ask_json("POST", "/queues/jobs", SETTINGS | {"visibility_timeout": 3})
    assert world.ask("POST", "/messages/jobs", BODY).status == 201
    assert world.ask("GET", "/messages/jobs").body == BODY
    yield
    world.pass_s(3)


def _delay_of_mqcore_runs_out(world: World) -> Iterator[None]:
    assert world.ask("POST", "/jobs/messages", BODY).status == 201
    assert world.ask("GET", "/jobs/messages").body == BODY
    world.pass_s(7)
    yield
    world.pass_s(3)


def _claim_is_given_back(world: World) -> Iterator[None]:
    _consumed(world, ttr_s=100)
    (held,) = world.ask_json("GET", "/queue/1/jobs/peek")
    yield
    world.ask_json("POST", "/queue/1/jobs/renew?ttl=0", [held["id"]], JSON)


def _all_claims_are_given_back(world: World) -> Iterator[None]:
    _consumed(world, ttr_s=100)
    yield
    world.ask_json("POST", "/queue/1/jobs/unclaimall")


def _dead_job_is_respawned(world: World) -> Iterator[None]:
    assert world.ask("PUT", "/api/default/jobs?ttl=0&tries=1", BODY).status == 201
    world.ask_json("GET", "/api/default/jobs?ttr=1")
    world.pass_s(1)
    yield
    assert world.ask_json("PUT", "/api/default/jobs/deadletter")["count"] == 1


def _job_is_republished(world: World) -> Iterator[None]:
    job = _consumed(world, ttr_s=100)
    yield
    assert world.ask("PUT", f"/api/default/jobs/job/{job['job_id']}", BODY).status == 201


def _queue_is_moved_here(world: World) -> Iterator[None]:
    assert world.ask("POST", "/queue/1/elsewhere/send", BODY, JSON).status == 200
    yield
    world.ask_json("POST", "/queue/1/_move?from=elsewhere&to=jobs")


def _message_was_received_too_often_elsewhere(world: World) -> Iterator[None]:
    redrive = {"max_receives": 1, "dead_letter_queue": "jobs"}
    world.make_queue("elsewhere", visibility_timeout=3, redrive_policy=redrive)
    assert world.ask("POST", "/messages/elsewhere", BODY).status == 201
    assert world.ask("GET", "/messages/elsewhere").body == BODY
    yield
    world.pass_s(3)


WAYS: dict[str, Way] = {
    "mqs publishes": _by("POST", "/messages/jobs"),
    "mqcore adds": _by("POST", "/jobs/messages"),
    "emodb sends": _by("POST", "/queue/1/jobs/send"),
    "emodb sends a batch": _by("POST", "/queue/1/jobs/sendbatch", b"[" + BODY + b"]"),
    "emodb sends batches": _by("POST", "/queue/1/_sendbatch", b'{"other":[1],"jobs":[' + BODY + b"]}"),
    "lmstfy publishes": _by("PUT", "/api/default/jobs"),
    "lmstfy publishes a bulk": _by("PUT", "/api/default/jobs/bulk", b"[" + BODY + b"]"),
    "a job is republished": _job_is_republished,
    "a delay is over": _delay_is_over,
    "the queue's delay is over": _delay_of_the_queue_is_over,
    "a ttr runs out": _ttr_runs_out,
    "a visibility timeout runs out": _visibility_timeout_runs_out,
    "mqcore's delay runs out": _delay_of_mqcore_runs_out,
    "a claim is given back": _claim_is_given_back,
    "all claims are given back": _all_claims_are_given_back,
    "a dead job is respawned": _dead_job_is_respawned,
    "a queue is moved here": _queue_is_moved_here,
    "a message was received too often elsewhere": _message_was_received_too_often_elsewhere,
}
