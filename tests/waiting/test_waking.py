"""Who waits is told at once when there is something, and never that there is nothing while there is."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.one_world.world import World
from tests.waiting.waiters import LmstfyWaiter, MqsWaiter, Waiter, is_waiting
from tests.waiting.ways import BODY, WAYS

WAITERS: dict[str, Callable[[World], Waiter]] = {"lmstfy": LmstfyWaiter, "mqs": MqsWaiter}


@pytest.fixture(params=WAITERS)
def waiter(request: pytest.FixtureRequest, world: World) -> Waiter:
    """Each dialect's consumer, with a queue "jobs" that is there and empty."""
    world.make_queue("jobs")
    return WAITERS[request.param](world)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_makes_a_message_ready_wakes_a_waiter(way: str, waiter: Waiter, world: World) -> None:
    happening = WAYS[way](world)
    next(happening)
    waiter.wait("jobs", 10)
    assert is_waiting(waiter)
    next(happening, None)
    assert waiter.got() == BODY
    assert world.counts("jobs").claimed >= 1


@pytest.mark.parametrize("way", WAYS)
def test_whatever_makes_a_message_ready_wakes_who_waits_at_several_queues(way: str, world: World) -> None:
    world.make_queue("jobs")
    happening = WAYS[way](world)
    next(happening)
    waiter = LmstfyWaiter(world)
    waiter.wait("first,jobs,last", 10)
    assert is_waiting(waiter)
    next(happening, None)
    assert waiter.got() == BODY


def test_a_wait_ends_when_its_time_is_up_and_not_before(waiter: Waiter, world: World) -> None:
    waiter.wait("jobs", 5)
    world.pass_ms(4999)
    assert is_waiting(waiter)
    world.pass_ms(1)
    assert waiter.got() is None


@pytest.mark.parametrize("ready_after_ms", [4999, 5000])
def test_a_message_that_is_ready_by_the_end_of_a_wait_is_given(
    ready_after_ms: int, waiter: Waiter, world: World
) -> None:
    """Both are due within the same turn if nobody ran the engine meanwhile: the message comes first."""
    world.ask("PUT", "/api/default/jobs?delay=6", BODY)
    world.pass_ms(6000 - ready_after_ms)
    waiter.wait("jobs", 5)
    world.pass_ms(5000)
    assert waiter.got() == BODY
    assert world.counts("jobs").ready == 0


def test_a_message_that_is_ready_after_the_end_of_a_wait_stays(waiter: Waiter, world: World) -> None:
    world.ask("PUT", "/api/default/jobs?delay=6", BODY)
    world.pass_ms(999)
    waiter.wait("jobs", 5)
    world.pass_ms(5000)
    assert waiter.got() is None
    world.pass_ms(1)
    assert world.counts("jobs").ready == 1


def test_after_a_long_pause_a_message_that_was_ready_in_time_is_still_given(
    waiter: Waiter, world: World
) -> None:
    world.ask("PUT", "/api/default/jobs?delay=3&ttl=0", BODY)
    waiter.wait("jobs", 5)
    world.pass_s(600)
    assert waiter.got() == BODY


def test_a_message_that_expired_before_it_was_ready_wakes_nobody(waiter: Waiter, world: World) -> None:
    world.ask("PUT", "/api/default/jobs?delay=3&ttl=3", BODY)
    waiter.wait("jobs", 5)
    world.pass_s(4)
    assert is_waiting(waiter)
    world.pass_s(1)
    assert waiter.got() is None


def test_who_came_first_is_served_first_whatever_they_speak(world: World) -> None:
    world.make_queue("jobs")
    waiters: list[Waiter] = [
        LmstfyWaiter(world, "a"),
        MqsWaiter(world, "b"),
        LmstfyWaiter(world, "c"),
        MqsWaiter(world, "d"),
    ]
    for waiter in waiters:
        waiter.wait("jobs", 10)
    for number, waiter in enumerate(waiters):
        world.ask("POST", "/messages/jobs", b"%d" % number)
        assert waiter.got() == b"%d" % number
        assert all(is_waiting(other) for other in waiters[number + 1 :])


def test_a_bulk_wakes_as_many_as_it_has_jobs(world: World) -> None:
    waiters = [LmstfyWaiter(world, label) for label in "abcd"]
    for waiter in waiters:
        waiter.wait("jobs", 10)
    world.ask("PUT", "/api/default/jobs/bulk", b"[1,2,3]")
    assert [waiter.got() for waiter in waiters[:3]] == [b"1", b"2", b"3"]
    assert is_waiting(waiters[3])


def test_a_wait_that_is_over_takes_nothing_any_more(waiter: Waiter, world: World) -> None:
    waiter.wait("jobs", 5)
    world.pass_s(5)
    assert waiter.got() is None
    world.ask("POST", "/messages/jobs", BODY)
    assert world.counts("jobs").ready == 1


def test_with_a_count_a_wait_is_for_the_first_and_the_answer_an_array(world: World) -> None:
    world.begin("many", "GET", "/api/default/jobs?timeout=10&count=10")
    world.ask("PUT", "/api/default/jobs", BODY)
    jobs = json.loads(world.stage.answer("many").body)
    assert [job["queue"] for job in jobs] == ["jobs"]


def test_with_a_count_what_is_ready_comes_at_once(world: World) -> None:
    world.ask("PUT", "/api/default/jobs/bulk", b"[1,2,3]")
    assert len(world.ask_json("GET", "/api/default/jobs?timeout=10&count=10")) == 3
    assert len(world.journal("event")) == 6


def test_a_wait_of_mqs_for_several_messages_is_for_the_first(world: World) -> None:
    world.make_queue("jobs")
    headers = {"X-MQS-MAX-WAIT-TIME": "20", "X-MQS-MAX-MESSAGES": "10"}
    world.begin("many", "GET", "/messages/jobs", headers=headers)
    world.ask("POST", "/messages/jobs", BODY)
    answer = world.stage.answer("many")
    assert answer.body == BODY
    assert "multipart" not in answer.headers["content-type"].decode()


@pytest.mark.parametrize("seconds", ["21", "-1", "1.5", "", "soon"])
def test_mqs_waits_for_no_other_time_than_up_to_20_whole_seconds(seconds: str, world: World) -> None:
    world.make_queue("jobs")
    answer = world.ask("GET", "/messages/jobs", headers={"X-MQS-MAX-WAIT-TIME": seconds})
    assert answer.status == 400


def test_a_deleted_queue_ends_the_waits_of_those_who_need_one(world: World) -> None:
    """mqs receives from queues that are there; to lmstfy one that is not is an empty one."""
    world.make_queue("jobs")
    mqs, lmstfy = MqsWaiter(world), LmstfyWaiter(world)
    mqs.wait("jobs", 10)
    lmstfy.wait("jobs", 10)
    assert world.ask("DELETE", "/queues/jobs").status == 200
    assert world.stage.answer("mqs").status == 404
    assert is_waiting(lmstfy)
    world.ask("PUT", "/api/default/jobs", BODY)
    assert lmstfy.got() == BODY


def test_in_the_namespace_of_dedupq_one_of_equal_messages_is_given(world: World) -> None:
    world.begin("a", "GET", "/api/dedup/jobs?timeout=10")
    world.begin("b", "GET", "/api/dedup/jobs?timeout=10")
    world.ask("POST", "/dedupq/1/jobs/sendbatch", b"[1,1]", {"Content-Type": "application/json"})
    assert world.stage.answer("a").status == 200
    world.pass_s(10)
    assert world.stage.answer("b").status == 404
