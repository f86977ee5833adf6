"""How soon a waiter hears of its message, by the clock on the wall.

The bounds are wide, because a busy machine is not a bug; the medians are printed (`pytest -s`).
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median

from tests.crash.server_process import ServerProcess
from tests.waiting.timing import Caller, milliseconds_since

ROUNDS = 100
CROWD = 20
LATE_MS_MAX = 50


def test_a_publish_wakes_its_waiter_within_milliseconds(server: ServerProcess) -> None:
    late_ms: list[float] = []
    with Caller(server.port) as producer, Caller(server.port) as consumer:
        for _ in range(ROUNDS):
            consumer.send("GET", "/api/default/jobs?timeout=10")
            assert not consumer.has_answer(within_s=0.002)
            begun_at = time.perf_counter()
            producer.send("PUT", "/api/default/jobs", b"x")
            assert consumer.told().status == 200
            late_ms.append(milliseconds_since(begun_at))
            assert producer.told().status == 201
    print(f"\nfrom a publish being sent to its waiter being told: {_described(late_ms)}")
    assert median(late_ms) < LATE_MS_MAX


def test_a_waiter_is_told_when_a_delay_is_over_and_not_at_the_next_tick(server: ServerProcess) -> None:
    late_ms: list[float] = []
    with ExitStack() as callers:
        consumers = [callers.enter_context(Caller(server.port)) for _ in range(CROWD)]
        producer = callers.enter_context(Caller(server.port))
        published_at: list[float] = []
        for number, consumer in enumerate(consumers):
            consumer.send("GET", f"/api/default/jobs-{number}?timeout=10")
            published_at.append(time.perf_counter())
            assert producer.ask("PUT", f"/api/default/jobs-{number}?delay=1", b"x").status == 201
            time.sleep(0.007)  # so that the delays end at different moments of a tick
        for begun_at, consumer in zip(published_at, consumers, strict=True):
            assert consumer.told().status == 200
            late_ms.append(milliseconds_since(begun_at) - 1000)
    print(f"\nfrom the end of a delay to its waiter being told: {_described(late_ms)}")
    assert min(late_ms) > -1, "a delay was cut short"
    assert median(late_ms) < LATE_MS_MAX


def test_a_wait_takes_its_time_and_hardly_more(server: ServerProcess) -> None:
    late_ms: list[float] = []
    with ExitStack() as callers:
        consumers = [callers.enter_context(Caller(server.port)) for _ in range(CROWD)]
        begun_at: list[float] = []
        for consumer in consumers:
            begun_at.append(time.perf_counter())
            consumer.send("GET", "/api/default/jobs,others?timeout=1")
        for begun, consumer in zip(begun_at, consumers, strict=True):
            assert consumer.told().status == 404
            late_ms.append(milliseconds_since(begun) - 1000)
    print(f"\nfrom the end of a wait to its consumer being told: {_described(late_ms)}")
    assert min(late_ms) > -1, "a wait was cut short"
    assert median(late_ms) < LATE_MS_MAX


def _described(late_ms: list[float]) -> str:
    return f"median {median(late_ms):.2f} ms, most {max(late_ms):.2f} ms of {len(late_ms)}"
