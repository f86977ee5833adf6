"""Waiting at several queues: the order of their names is their priority."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from tests.one_world.world import World
from tests.waiting.waiters import LmstfyWaiter, is_waiting

each_order = pytest.mark.parametrize("names", list(permutations(["a", "b", "c"])), ids="".join)


@each_order
@pytest.mark.parametrize("timeout", ["", "?timeout=5"])
def test_of_queues_with_jobs_the_first_named_is_served_first(
    timeout: str, names: tuple[str, ...], world: World
) -> None:
    for name in "cab":
        world.ask("PUT", f"/api/default/{name}", name.encode())
    told = [world.ask_json("GET", f"/api/default/{','.join(names)}{timeout}") for _ in names]
    assert [job["queue"] for job in told] == list(names)
    assert world.ask("GET", f"/api/default/{','.join(names)}").status == 404


@each_order
def test_of_jobs_that_become_ready_in_the_same_moment_that_of_the_first_queue_is_given(
    names: tuple[str, ...], world: World
) -> None:
    for name in "cab":
        world.ask("PUT", f"/api/default/{name}?delay=3", name.encode())
    waiter = LmstfyWaiter(world)
    waiter.wait(",".join(names), 10)
    world.pass_s(3)
    assert waiter.got() == names[0].encode()


@each_order
def test_of_jobs_sent_in_one_request_that_of_the_first_queue_is_given(
    names: tuple[str, ...], world: World
) -> None:
    waiter = LmstfyWaiter(world)
    waiter.wait(",".join(names), 10)
    batches = json.dumps({name: [name] for name in "cab"}).encode()
    world.ask("POST", "/queue/1/_sendbatch", batches, {"Content-Type": "application/json"})
    assert waiter.got() == json.dumps(names[0]).encode()


def test_who_was_served_from_one_queue_takes_nothing_from_the_others(world: World) -> None:
    waiter = LmstfyWaiter(world)
    waiter.wait("a,b", 10)
    world.ask("PUT", "/api/default/b", b"b")
    assert waiter.got() == b"b"
    world.ask("PUT", "/api/default/a", b"a")
    world.ask("PUT", "/api/default/b", b"b")
    assert world.counts("a").ready == world.counts("b").ready == 1


def test_who_waits_longest_is_served_first_at_whichever_queue(world: World) -> None:
    both, last = LmstfyWaiter(world, "both"), LmstfyWaiter(world, "last")
    both.wait("a,b", 10)
    last.wait("b", 10)
    world.ask("PUT", "/api/default/b", b"1")
    assert both.got() == b"1"
    assert is_waiting(last)
    world.ask("PUT", "/api/default/b", b"2")
    assert last.got() == b"2"


def test_a_queue_named_twice_is_waited_for_once(world: World) -> None:
    waiter = LmstfyWaiter(world)
    waiter.wait("a,a,a", 10)
    world.ask("PUT", "/api/default/a/bulk", b"[1,2]")
    assert waiter.got() == b"1"
    assert world.counts("a").ready == 1


def test_nothing_in_any_of_the_queues_is_told_when_the_time_is_up(world: World) -> None:
    waiter = LmstfyWaiter(world)
    waiter.wait("a,b,c", 5)
    world.pass_ms(4999)
    assert is_waiting(waiter)
    world.pass_ms(1)
    assert waiter.got() is None
