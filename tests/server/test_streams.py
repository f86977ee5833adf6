"""Health, and the journal as it is streamed."""

from __future__ import annotations

import pytest

from penstock.server.answers import AnswerLine
from penstock.server.limits import Limits
from penstock.server.protocol import Connection
from tests.server.conftest import Client, RunningServer, Serve, eventually

AT_ONCE = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nat once"


def get(path: bytes) -> bytes:
    return b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_health_is_green_while_the_store_can_keep_its_promises(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/health"))
    assert client.answer() == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\ngreen"
    )
    server.engine.is_healthy = False
    client.send(get(b"/health"))
    assert client.answer() == (
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nred"
    )


def test_the_ends_of_the_journal_are_told(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/journal/latest"))
    assert client.answer() == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n"
        b'{"first": 1, "last": 9}'
    )


def test_the_journal_comes_in_chunks(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/journal?after=8&limit=3") + get(b"/at-once"))
    assert client.head() == STREAM_HEAD
    assert client.receive(28) == b"2\r\n9\n\r\n3\r\n10\n\r\n3\r\n11\n\r\n0\r\n\r\n"
    assert client.answer() == AT_ONCE


def test_an_empty_stretch_of_the_journal_is_an_empty_body(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/journal?after=8&limit=0"))
    assert client.head() == STREAM_HEAD
    assert client.receive(5) == b"0\r\n\r\n"


def test_to_http_1_0_the_journal_ends_with_the_connection(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /journal?after=0&limit=2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert client.head() == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
    )
    assert client.receive_all() == b"1\n2\n"


def test_head_of_the_journal_reads_none_of_it(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"HEAD /journal?after=0&limit=2 HTTP/1.1\r\nHost: h\r\n\r\n" + get(b"/at-once"))
    assert client.head() == STREAM_HEAD
    assert client.answer() == AT_ONCE
    assert server.journal.asked_for == 0


def test_a_client_that_shut_its_side_gets_the_whole_journal(server: RunningServer) -> None:
    answer = server.talk(get(b"/journal?after=0&limit=2"))
    assert answer.endswith(b"\r\n\r\n2\r\n1\n\r\n2\r\n2\n\r\n0\r\n\r\n")


def test_a_client_that_shut_its_side_meanwhile_gets_all_that_was_ready(server: RunningServer) -> None:
    server.journal.go.clear()
    client = server.connect()
    client.send(get(b"/journal?after=0&limit=1") + get(b"/at-once"))
    eventually(lambda: server.server.service.streams.open_count == 1)
    client.shut()
    eventually(lambda: server.call(lambda: line_of_only_client(server).is_ending))
    server.journal.go.set()
    assert client.receive_all().endswith(b"\r\n\r\nat once")


def test_the_loop_goes_on_while_the_journal_is_read(server: RunningServer) -> None:
    server.journal.go.clear()
    reader, latest, other = server.connect(), server.connect(), server.connect()
    reader.send(get(b"/journal?after=0&limit=1"))
    latest.send(get(b"/journal/latest"))
    other.send(get(b"/at-once"))
    assert other.answer() == AT_ONCE
    server.journal.go.set()
    assert reader.head() == STREAM_HEAD
    assert latest.answer().endswith(b'{"first": 1, "last": 9}')


def test_the_journal_waits_for_its_turn_among_pipelined_answers(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/wait?30") + get(b"/journal?after=0&limit=1") + get(b"/at-once"))
    assert client.answer().endswith(b"nothing came")
    assert client.head() == STREAM_HEAD
    assert client.receive(12) == b"2\r\n1\n\r\n0\r\n\r\n"
    assert client.answer() == AT_ONCE


def test_no_more_of_the_journal_is_read_than_the_client_takes(server: RunningServer) -> None:
    server.journal.piece_bytes = 500_000
    client = server.connect()
    client.send(get(b"/journal?after=100&limit=1000"))
    assert client.head() == STREAM_HEAD
    eventually(lambda: server.call(lambda: line_of_only_client(server).is_blocked))
    asked_for = server.journal.asked_for
    assert asked_for < 100
    for _ in range(20):
        server.call(lambda: None)
    assert server.journal.asked_for <= asked_for + 1  # one may have been on its way
    received = client.receive(100 * 500_000)
    assert received.count(b"7a120\r\n") >= 99
    assert server.journal.asked_for > asked_for


def line_of_only_client(server: RunningServer) -> AnswerLine:
    (connection,) = server.server.service.connections
    assert isinstance(connection, Connection)
    return connection.line


def test_a_reader_that_never_reads_is_cut_off_and_its_iterator_closed(serve: Serve) -> None:
    server = serve(limits=Limits(write_stall_seconds=0.1))
    server.journal.piece_bytes = 500_000
    client = server.connect()
    client.send(get(b"/journal?after=100&limit=1000"))
    assert server.journal.closed.wait(5)
    eventually(lambda: not server.server.service.connections)


@pytest.mark.parametrize("is_held_up", [True, False])
def test_a_reader_that_leaves_ends_the_reading(server: RunningServer, is_held_up: bool) -> None:  # noqa: FBT001
    server.journal.piece_bytes = 500_000
    client = server.connect()
    client.send(get(b"/journal?after=100&limit=1000"))
    assert client.head() == STREAM_HEAD
    if is_held_up:
        server.journal.go.clear()
    client.close()
    eventually(lambda: not server.server.service.connections)
    server.journal.go.set()
    assert server.journal.closed.wait(5)
    eventually(lambda: server.server.service.streams.open_count == 0)


def test_a_journal_that_cannot_be_opened_is_a_500(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/journal?after=-1&limit=1") + get(b"/at-once"))
    answer = client.answer()
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"secret" not in answer
    assert client.answer() == AT_ONCE


def test_a_journal_that_fails_midway_does_not_look_finished(server: RunningServer) -> None:
    client = server.connect()
    client.send(get(b"/journal?after=11&limit=5"))
    assert client.head() == STREAM_HEAD
    received = b""
    try:
        received = client.receive_all()
    except ConnectionResetError:
        pass
    assert b"0\r\n\r\n" not in received
    eventually(lambda: server.server.service.streams.open_count == 0)


def test_only_so_many_read_the_journal_at_once(serve: Serve) -> None:
    server = serve(limits=Limits(journal_streams_max=2))
    server.journal.go.clear()
    readers = [server.connect() for _ in range(3)]
    for reader in readers[:2]:
        reader.send(get(b"/journal?after=0&limit=1"))
    eventually(lambda: server.server.service.streams.open_count == 2)
    for path in (b"/journal?after=0&limit=1", b"/journal/latest"):
        readers[2].send(get(path))
        assert readers[2].answer().startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    server.journal.go.set()
    for reader in readers[:2]:
        assert reader.head() == STREAM_HEAD
        assert reader.receive(12) == b"2\r\n1\n\r\n0\r\n\r\n"
    readers[2].send(get(b"/journal?after=0&limit=1"))
    assert readers[2].head() == STREAM_HEAD


def test_more_readers_than_threads_are_all_served(serve: Serve) -> None:
    server = serve(limits=Limits(journal_threads=1, journal_streams_max=8))
    readers = [server.connect() for _ in range(8)]
    for reader in readers:
        reader.send(get(b"/journal?after=20&limit=50"))
    for reader in readers:
        assert reader.head() == STREAM_HEAD
        assert read_chunks(reader) == b"".join(b"%d\n" % number for number in range(21, 71))


def read_chunks(client: Client) -> bytes:
    whole = b""
    while True:
        size = client.receive(3)
        length = int(size[:1], 16)
        piece = client.receive(length + 2)
        if not length:
            return whole
        whole += piece[:-2]
