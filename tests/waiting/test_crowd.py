"""Five thousand consumers that wait at once: it costs nothing, and one message wakes one of them."""

from __future__ import annotations

import json
import resource
import select
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.crash.server_process import PATIENCE_S, ServerProcess
from tests.waiting.timing import Caller, Told, cpu_seconds

CROWD = 5000
BULK = 64
IDLE_S = 3.0
IDLE_SHARE_MAX = 0.05  # of one core; what there is comes from looking at clocks once a second
QUIET_S = 0.3

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def enough_files() -> Iterator[None]:
    """As many open files as a crowd needs; the server sees to its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, CROWD + 1000)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """Everybody who waits, and who of them has been told something."""

    def __init__(self, port: int, callers: ExitStack) -> None:
        self._epoll = callers.enter_context(select.epoll())
        self._waiting: dict[int, Caller] = {}
        for number in range(CROWD):
            caller = callers.enter_context(Caller(port))
            # Every other one waits elsewhere too, and is in the same line all the same.
            names = "jobs" if number % 2 else "elsewhere,jobs"
            caller.send("GET", f"/api/default/{names}?timeout=600")
            self._waiting[caller.socket.fileno()] = caller
            self._epoll.register(caller.socket.fileno(), select.EPOLLIN)

    def told(self, count: int) -> list[Told]:
        """The answers to so many of them."""
        answers: list[Told] = []
        while len(answers) < count:
            ready = self._epoll.poll(PATIENCE_S)
            assert ready, f"{count - len(answers)} were not woken"
            for number, _ in ready:
                answers.append(self._waiting.pop(number).told())
                self._epoll.unregister(number)
        return answers

    def is_quiet(self) -> bool:
        """Whether nobody else hears anything for a while."""
        return not self._epoll.poll(QUIET_S)


def settle(server: ServerProcess) -> None:
    """Wait until everything that was sent has been read: until then the server is at work."""
    deadline = time.monotonic() + PATIENCE_S
    used = -1.0
    while cpu_seconds(server.process.pid) - used > 0.02:
        assert time.monotonic() < deadline, "the server does not come to rest"
        used = cpu_seconds(server.process.pid)
        time.sleep(QUIET_S)


def test_a_crowd_waits_for_nothing_and_one_message_wakes_one(server: ServerProcess) -> None:
    with ExitStack() as callers:
        producer = callers.enter_context(Caller(server.port))
        crowd = Crowd(server.port, callers)
        settle(server)
        assert crowd.is_quiet()

        before = cpu_seconds(server.process.pid)
        time.sleep(IDLE_S)
        share = (cpu_seconds(server.process.pid) - before) / IDLE_S
        print(f"\n{CROWD} waiting: {share:.2%} of a core")
        assert share < IDLE_SHARE_MAX

        assert producer.ask("PUT", "/api/default/jobs", b"0").status == 201
        jobs = crowd.told(1)
        assert crowd.is_quiet()

        for first in range(1, CROWD, BULK):
            bulk = json.dumps(list(range(first, min(first + BULK, CROWD)))).encode()
            assert producer.ask("PUT", "/api/default/jobs/bulk", bulk).status == 201
        jobs += crowd.told(CROWD - 1)
        assert {answer.status for answer in jobs} == {200}
        assert len({json.loads(answer.body)["job_id"] for answer in jobs}) == CROWD
        assert json.loads(producer.ask("GET", "/api/default/jobs/size").body)["size"] == 0


def test_a_crowd_that_hangs_up_leaves_nothing_behind(server: ServerProcess) -> None:
    with Caller(server.port) as producer:
        with ExitStack() as callers:
            Crowd(server.port, callers)
            settle(server)
        settle(server)
        assert producer.ask("PUT", "/api/default/jobs", b"x").status == 201
        assert json.loads(producer.ask("GET", "/api/default/jobs/size").body)["size"] == 1


def test_a_crowd_is_answered_when_the_server_stops(server: ServerProcess) -> None:
    with ExitStack() as callers:
        crowd = Crowd(server.port, callers)
        settle(server)
        took_s = server.terminate()
        print(f"\n{CROWD} waits ended in {took_s:.2f} s")
        assert {answer.status for answer in crowd.told(CROWD)} == {404}
    assert server.process.returncode == 0
