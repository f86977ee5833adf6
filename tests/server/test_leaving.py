"""Clients that go before their answer, or shut their side of the connection."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest

from tests.server.conftest import Client, RunningServer, eventually

WAIT = b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
WAKE = b"GET /wake HTTP/1.1\r\nHost: h\r\n\r\n"


def close(client: Client) -> None:
    client.close()


def reset(client: Client) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def test_a_client_that_shut_its_side_still_gets_its_answers(server: RunningServer) -> None:
    answer = server.talk(b"GET /say?1 HTTP/1.1\r\nHost: h\r\n\r\nGET /say?2 HTTP/1.1\r\nHost: h\r\n\r\n")
    # Whether the second says that it is the last depends on which came first, the answer or the end.
    assert answer.replace(b"Connection: close\r\n", b"") == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\necho: 1"
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\necho: 2"
    )


def test_a_client_that_shuts_its_side_without_a_request_is_let_go(server: RunningServer) -> None:
    assert server.talk(b"") == b""


def test_a_waiting_client_that_shut_its_side_is_taken_for_gone(server: RunningServer) -> None:
    assert server.talk(WAIT) == b""
    assert server.engine.waiting == {}


def test_a_waiting_client_that_shut_its_side_gets_what_came_before(server: RunningServer) -> None:
    answer = server.talk(b"GET /say?1 HTTP/1.1\r\nHost: h\r\n\r\n" + WAIT)
    assert answer.endswith(b"\r\n\r\necho: 1")


@pytest.mark.parametrize("leave", [close, reset])
def test_who_leaves_is_withdrawn_and_the_next_in_line_is_served(
    server: RunningServer, leave: Callable[[Client], None]
) -> None:
    leaving, staying, waking = server.connect(), server.connect(), server.connect()
    leaving.send(WAIT * 3)
    eventually(lambda: len(server.engine.waiting) == 3)
    staying.send(WAIT)
    eventually(lambda: len(server.engine.waiting) == 4)
    leave(leaving)
    eventually(lambda: len(server.engine.waiting) == 1)
    waking.send(WAKE)
    assert waking.answer().endswith(b"woke 1")
    assert staying.answer().endswith(b"woken")
    assert server.engine.untaken == []


def test_an_answer_to_a_closed_connection_is_told_to_be_untaken(server: RunningServer) -> None:
    gone, staying = server.connect(), server.connect()
    gone.send(WAIT)
    eventually(lambda: len(server.engine.waiting) == 1)
    staying.send(WAIT)
    eventually(lambda: len(server.engine.waiting) == 2)

    def lose_one_and_wake_one() -> None:
        # Within one turn of the loop, so that the engine has not been told yet that the first is gone.
        first = next(iter(server.engine.waiting))
        first.line.abort()  # type: ignore[attr-defined]
        assert server.engine.wake() == 1

    server.call(lose_one_and_wake_one)
    assert staying.answer().endswith(b"woken")
    assert server.engine.untaken == ["woken"]


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n" + b"x" * 50_000)
    eventually(lambda: server.server.service.unfinished_bytes == 50_000)
    reset(client)
    eventually(lambda: server.server.service.unfinished_bytes == 0)
    eventually(lambda: not server.server.service.connections)
