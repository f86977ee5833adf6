"""Waiters that go, and a server that goes.

The server is held still while two things happen to it, so that both lie before it in the same turn of its
loop: what comes first then is up to it, and must not matter.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.crash.server_process import ServerProcess
from tests.waiting.timing import Caller, is_held

AT_ONCE_S = 2.0  # against two minutes until a lost claim would run out

WAITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "lmstfy": ("/api/default/jobs?timeout=100", ()),
    "lmstfy at several": ("/api/default/other,jobs?timeout=100", ()),
    "mqs": ("/messages/jobs", ("X-MQS-MAX-WAIT-TIME: 20",)),
}
each_wait = pytest.mark.parametrize("wait", WAITS)


def begin(caller: Caller, wait: str) -> None:
    target, headers = WAITS[wait]
    caller.send("GET", target, b"", *headers)


@contextmanager
def held_still(server: ServerProcess) -> Iterator[None]:
    server.process.send_signal(signal.SIGSTOP)
    try:
        while not is_held(server.process.pid):
            time.sleep(0.001)
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@pytest.fixture
def producer(server: ServerProcess) -> Iterator[Caller]:
    server.make_queue("jobs", visibility_s=120)
    with Caller(server.port) as producer:
        yield producer


def in_line(server: ServerProcess, producer: Caller, callers: ExitStack, waits: list[str]) -> list[Caller]:
    """Callers that wait one behind the other."""
    line: list[Caller] = []
    for wait in waits:
        caller = callers.enter_context(Caller(server.port))
        begin(caller, wait)
        # Another request is answered after the wait was read, because that came first.
        assert not caller.has_answer(within_s=0.02)
        assert producer.ask("GET", "/health").status == 200
        line.append(caller)
    return line


@each_wait
@pytest.mark.parametrize("first", ["leaving", "publish"])
def test_the_message_of_one_who_hangs_up_goes_to_the_next_at_once(
    first: str, wait: str, server: ServerProcess, producer: Caller
) -> None:
    with ExitStack() as callers:
        leaver, next_one = in_line(server, producer, callers, [wait, wait])
        with held_still(server):
            if first == "leaving":
                leaver.socket.close()
            producer.send("PUT", "/api/default/jobs?tries=1", b"x")
            leaver.socket.close()
        assert next_one.has_answer(within_s=AT_ONCE_S)
        assert next_one.told().status == 200
        assert producer.told().status == 201


@each_wait
def test_the_message_of_one_who_shuts_his_side_goes_to_the_next_at_once(
    wait: str, server: ServerProcess, producer: Caller
) -> None:
    """Shutting looks the same from here as leaving, and is taken for it: the connection is closed."""
    with ExitStack() as callers:
        leaver, next_one = in_line(server, producer, callers, [wait, wait])
        leaver.socket.shutdown(1)
        assert leaver.is_closed()
        assert producer.ask("PUT", "/api/default/jobs?tries=1", b"x").status == 201
        assert next_one.told().status == 200


def test_of_many_who_leave_none_takes_a_message_along(server: ServerProcess, producer: Caller) -> None:
    with ExitStack() as callers:
        *leavers, last = in_line(server, producer, callers, ["lmstfy"] * 20 + ["mqs"])
        with held_still(server):
            producer.send("POST", "/messages/jobs", b"x")
            for leaver in leavers:
                leaver.socket.close()
        assert last.has_answer(within_s=AT_ONCE_S)
        assert last.told().body == b"x"


@each_wait
def test_a_message_of_one_who_left_alone_stays_ready(
    wait: str, server: ServerProcess, producer: Caller
) -> None:
    with ExitStack() as callers:
        (leaver,) = in_line(server, producer, callers, [wait])
        with held_still(server):
            producer.send("PUT", "/api/default/jobs?tries=1", b"x")
            leaver.socket.close()
        assert producer.told().status == 201
        size = json.loads(producer.ask("GET", "/api/default/jobs/size").body)["size"]
        assert size == 1
        job = json.loads(producer.ask("GET", "/api/default/jobs").body)
        assert job["remain_tries"] == 0, "its only try was still there"


def test_a_stop_ends_every_wait_politely(server: ServerProcess, producer: Caller) -> None:
    with ExitStack() as callers:
        waiters = in_line(server, producer, callers, list(WAITS))
        assert server.terminate() < AT_ONCE_S
        told = [waiter.told() for waiter in waiters]
        assert [answer.status for answer in told] == [404, 404, 204]
        assert told[0].body == b'{"msg":"no job available"}'
        assert all(b"\r\nConnection: close\r\n" in answer.head for answer in told)
        assert all(waiter.is_closed() for waiter in waiters)
    assert server.process.returncode == 0
    assert server.log() == ""


def test_a_message_that_comes_with_the_stop_is_given_or_kept(
    server: ServerProcess, producer: Caller, tmp_path: Path
) -> None:
    """Whether the signal or the publish is seen first is chance; that somebody has the message is not."""
    with ExitStack() as callers:
        (waiter,) = in_line(server, producer, callers, ["lmstfy"])
        with held_still(server):
            producer.send("POST", "/messages/jobs", b"x")
            server.process.send_signal(signal.SIGTERM)
        is_published = producer.told().status == 201
        is_given = waiter.told().status == 200
        server.terminate()
    with ServerProcess(tmp_path) as successor, Caller(successor.wait_until_ready().port) as caller:
        described = json.loads(caller.ask("GET", "/queues/jobs").body)["status"]
    assert described["messages"] == int(is_published)
    assert described["visible_messages"] == int(is_published and not is_given)
