"""The end of the service: gentle first, then not."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.server.limits import Limits
from penstock.server.protocol import Connection
from tests.server.conftest import RunningServer, Serve, eventually

GET = b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n"
WAIT = b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"


def test_an_idle_service_stops_at_once(server: RunningServer) -> None:
    server.stop()
    server.join()


def test_idle_connections_are_closed_and_no_new_one_is_accepted(server: RunningServer) -> None:
    idle, fresh = server.connect(), server.connect()
    idle.send(GET)
    idle.answer()
    server.stop()
    assert idle.is_closed()
    assert fresh.is_closed()
    server.join()
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_whoever_waits_is_answered_as_if_its_time_were_up(server: RunningServer) -> None:
    client = server.connect()
    client.send(WAIT + GET)
    eventually(lambda: len(server.engine.waiting) == 1)
    server.stop()
    assert client.answer() == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 18\r\n\r\necho: nothing came"
    )
    assert client.answer().endswith(b"\r\n\r\nat once")
    assert client.is_closed()
    server.join()


def test_the_last_answer_says_that_the_connection_ends(server: RunningServer) -> None:
    client = server.connect()
    client.send(WAIT)
    eventually(lambda: len(server.engine.waiting) == 1)
    server.stop()
    assert b"\r\nConnection: close\r\n" in client.answer()


@pytest.mark.parametrize("sent_before", [10, 70, 90])
def test_a_request_that_has_begun_is_answered(server: RunningServer, sent_before: int) -> None:
    client = server.connect()
    request = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\nX-Filler: %b\r\n\r\n" % (b"x" * 20)
    request += b"b" * 20
    client.send(request[:sent_before])
    eventually(lambda: server.call(lambda: is_in_message(server)))
    server.stop()
    client.send(request[sent_before:] + GET)
    answer = client.answer()
    assert b"Connection: close\r\n" in answer
    assert answer.endswith(b"echo: " + b"b" * 20)
    assert client.is_closed()
    server.join()


def is_in_message(server: RunningServer) -> bool:
    connections = server.server.service.connections
    return any(isinstance(client, Connection) and client.reader.is_in_message for client in connections)


def test_a_wait_that_begins_while_stopping_ends_at_once(server: RunningServer) -> None:
    client = server.connect()
    client.send(WAIT[:10])
    eventually(lambda: server.call(lambda: is_in_message(server)))
    server.stop()
    client.send(WAIT[10:])
    assert client.answer().endswith(b"nothing came")
    server.join()


def test_what_was_submitted_is_done_though_its_client_has_gone(server: RunningServer) -> None:
    client = server.connect()

    def stop_before_the_batch_runs() -> None:
        server.engine.batch_max = 1
        server.engine.queue.extend((f"say goodbye {number}", Nobody()) for number in range(50))
        server.server.stop()

    client.send(GET)
    client.answer()
    server.call(stop_before_the_batch_runs)
    server.join()
    assert server.engine.batches == [[f"say goodbye {number}"] for number in range(50)]


def test_a_connection_accepted_just_before_is_closed(server: RunningServer) -> None:
    # As if the listener had accepted it in the turn of the loop in which it was closed.
    server.server.service.is_stopping = True
    assert server.connect().is_closed()
    assert server.server.service.connections == set()


class Nobody:
    def answer(self, outcome: object) -> bool:  # noqa: ARG002
        return False


def test_health_is_red_while_stopping(server: RunningServer) -> None:
    client = server.connect()
    client.send(WAIT + b"GET /health HTTP/1.1\r\nHo")
    eventually(lambda: len(server.engine.waiting) == 1)
    server.stop()
    client.send(b"st: h\r\n\r\n")
    assert client.answer().endswith(b"nothing came")
    assert client.answer().endswith(b"\r\n\r\nred")


def test_whoever_does_not_finish_is_cut_off_after_a_while(serve: Serve) -> None:
    server = serve(limits=Limits(stop_seconds=0.2))
    client = server.connect()
    client.send(GET[:10])
    eventually(lambda: server.call(lambda: is_in_message(server)))
    server.stop()
    assert client.is_closed()
    server.join()


def test_stopping_twice_stops_at_once(server: RunningServer) -> None:
    client = server.connect()
    client.send(GET[:10])
    eventually(lambda: server.call(lambda: is_in_message(server)))
    server.stop()
    server.stop()
    assert client.is_closed()
    server.join()


def test_a_journal_being_read_is_finished(server: RunningServer) -> None:
    client = server.connect()
    server.journal.go.clear()
    client.send(b"GET /journal?after=0&limit=3 HTTP/1.1\r\nHost: h\r\n\r\n")
    eventually(lambda: server.server.service.streams.open_count == 1)
    server.stop()
    server.journal.go.set()
    assert client.receive_all().endswith(b"2\r\n1\n\r\n2\r\n2\n\r\n2\r\n3\n\r\n0\r\n\r\n")
    server.join()


PROGRAM = """
from penstock.server.listeners import Listener
from penstock.server.routing import Router
from penstock.server.serve import run
from tests.server.echo import EchoDialect, EchoEngine, PieceJournal

echo = EchoDialect()
listener = Listener("127.0.0.1", 0, Router([echo], fallback=echo))
run(EchoEngine(), PieceJournal(), [listener], ready=lambda addresses: print(addresses[0][1], flush=True))
"""


@contextmanager
def serving_process() -> Iterator[tuple[subprocess.Popen[str], int]]:
    root = Path(__file__).parent.parent.parent
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=root, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_ends_gently_on_a_signal(number: signal.Signals) -> None:
    with serving_process() as (process, port):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(GET + WAIT)
            assert client.recv(1000).endswith(b"at once")
            process.send_signal(number)
            assert client.recv(1000).endswith(b"nothing came")
        assert process.wait(timeout=3) == 0


def test_a_process_ends_at_once_on_a_second_signal() -> None:
    with serving_process() as (process, port), socket.create_connection(("127.0.0.1", port), 5) as client:
        # Begun and never finished: gentle stopping would take as long as it may.
        client.sendall(GET + GET[:10])
        assert client.recv(1000).endswith(b"at once")
        process.send_signal(signal.SIGTERM)
        eventually(lambda: is_refused(port))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=3) == 0


def is_refused(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) != 0
