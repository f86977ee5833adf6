"""Too long, too large, too slow, too many: each has its answer."""

from __future__ import annotations

import socket
import time

import pytest

from penstock.server.limits import Limits
from penstock.server.protocol import Connection
from tests.server.conftest import Client, RunningServer, Serve, eventually

GET = b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n"
AT_ONCE = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nat once"

# Short enough to be waited for, long enough for a busy machine to answer a request within.
SOON = 0.2


def head(more: bytes, path: bytes = b"/echo") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: h\r\n%b\r\n" % (path, more)


def refusal(client: Client) -> bytes:
    """The status line of the last answer, after which the server must close."""
    answer = client.receive_all()
    assert b"Connection: close\r\n" in answer
    return answer.partition(b"\r\n")[0]


# Heads


@pytest.mark.parametrize("limits", [Limits(), Limits(header_bytes_max=1000)])
def test_headers_up_to_the_limit_are_read_and_one_byte_more_is_not(serve: Serve, limits: Limits) -> None:
    server = serve(limits=limits)
    at_limit = limits.header_bytes_max - len("Host: h\r\n" + "A: \r\n")
    client = server.connect()
    client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\nA: %b\r\n\r\n" % (b"a" * at_limit))
    assert client.answer() == AT_ONCE
    client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\nA: %b\r\n\r\n" % (b"a" * (at_limit + 1)))
    assert refusal(client) == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_many_headers_of_one_name_count_each(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\n%b\r\n" % (b"A: b\r\n" * 3000))
    assert refusal(client) == b"HTTP/1.1 431 Request Header Fields Too Large"


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 50_000, id="header_value"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a" * 50_000, id="header_name"),
        pytest.param(head(b"Transfer-Encoding: chunked\r\n") + b"0\r\nA: " + b"a" * 50_000, id="trailer"),
        pytest.param(head(b"Transfer-Encoding: chunked\r\n") + b"1;" + b"a" * 50_000, id="chunk_extension"),
    ],
)
def test_a_line_without_end_is_refused_before_its_end(server: RunningServer, endless: bytes) -> None:
    client = server.connect()
    client.send(endless)
    assert refusal(client) == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_a_target_up_to_the_limit_is_read_and_one_byte_more_is_not(server: RunningServer) -> None:
    client = server.connect()
    at_limit = b"/at-once?" + b"a" * (Limits().url_bytes_max - len("/at-once?"))
    client.send(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % at_limit)
    assert client.answer() == AT_ONCE
    client.send(b"GET %ba HTTP/1.1\r\nHost: h\r\n\r\n" % at_limit)
    assert refusal(client) == b"HTTP/1.1 414 URI Too Long"


def test_a_target_without_end_is_refused_before_its_end(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /" + b"a" * 50_000)
    assert refusal(client) == b"HTTP/1.1 414 URI Too Long"


def test_pipelined_requests_are_not_taken_for_one_long_head(server: RunningServer) -> None:
    client = server.connect()
    filler = b"GET /at-once HTTP/1.1\r\nHost: h\r\nA: %b\r\n\r\n" % (b"a" * 16_000)
    client.send(filler + GET[:-1])
    assert client.answer() == AT_ONCE
    client.send(GET[-1:])
    assert client.answer() == AT_ONCE


# Bodies


def test_a_body_up_to_its_dialects_limit_is_read(server: RunningServer) -> None:
    client = server.connect()
    client.send(head(b"Content-Length: 100\r\n") + b"x" * 100)
    assert client.answer().endswith(b"echo: " + b"x" * 100)


def test_a_longer_body_is_refused_before_any_of_it_is_sent(server: RunningServer) -> None:
    client = server.connect()
    client.send(head(b"Content-Length: 101\r\n"))
    assert client.answer() == (
        b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 47\r\nConnection: close\r\n\r\n"
        b"echo refuses: the body is longer than 100 bytes"
    )
    assert client.is_closed()


def test_a_client_that_goes_on_sending_still_reads_why_it_was_refused(server: RunningServer) -> None:
    client = server.connect()
    client.send(head(b"Content-Length: 20000000\r\n") + b"x" * 2_000_000)
    assert refusal(client) == b"HTTP/1.1 413 Content Too Large"


def test_chunks_are_refused_at_the_byte_that_is_too_many(server: RunningServer) -> None:
    client = server.connect()
    client.send(head(b"Transfer-Encoding: chunked\r\n") + b"64\r\n%b\r\n1\r\nx" % (b"x" * 100))
    assert refusal(client) == b"HTTP/1.1 413 Content Too Large"
    assert server.engine.batches == []


@pytest.mark.parametrize("length", [6, 300_000])
def test_a_body_that_is_to_be_cut_is_cut(server: RunningServer, length: int) -> None:
    client = server.connect()
    client.send(head(b"Content-Length: %d\r\n" % length, b"/cut") + b"x" * length + GET)
    assert client.answer().endswith(b"\r\n\r\necho: xxxxx")
    assert client.answer() == AT_ONCE


def test_what_is_cut_off_is_not_kept_meanwhile(serve: Serve) -> None:
    server = serve(limits=Limits(unfinished_bytes_max=5))
    client = server.connect()
    client.send(head(b"Transfer-Encoding: chunked\r\n", b"/cut") + b"100000\r\n" + b"x" * 0x100000)
    client.send(b"\r\n0\r\n\r\n")
    assert client.answer().endswith(b"\r\n\r\necho: xxxxx")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(head(b"Content-Length: 1006\r\n", b"/cut"), id="by_its_length"),
        pytest.param(
            head(b"Transfer-Encoding: chunked\r\n", b"/cut") + b"3ee\r\n" + b"x" * 1006, id="in_chunks"
        ),
    ],
)
def test_so_much_is_thrown_away_and_no_more(serve: Serve, body: bytes) -> None:
    server = serve(limits=Limits(dropped_bytes_max=1000))
    client = server.connect()
    client.send(body)
    assert refusal(client) == b"HTTP/1.1 413 Content Too Large"


def test_a_body_in_the_smallest_chunks_is_put_together(server: RunningServer) -> None:
    client = server.connect()
    client.send(head(b"Transfer-Encoding: chunked\r\n", b"/large") + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
    assert client.answer().endswith(b"\r\n\r\necho: " + b"x" * 50_000)


def test_unfinished_bodies_share_one_limit(serve: Serve) -> None:
    server = serve(limits=Limits(unfinished_bytes_max=100_000))
    first, second, third = server.connect(), server.connect(), server.connect()
    first.send(head(b"Content-Length: 60000\r\n", b"/large") + b"x" * 50_000)
    eventually(lambda: server.server.service.unfinished_bytes == 50_000)
    second.send(head(b"Content-Length: 60000\r\n", b"/large") + b"x" * 59_999)
    assert refusal(second) == b"HTTP/1.1 503 Service Unavailable"
    first.send(b"x" * 10_000)
    assert first.answer().endswith(b"x" * 60_000)
    third.send(head(b"Content-Length: 99999\r\n", b"/large") + b"x" * 99_998)
    eventually(lambda: server.server.service.unfinished_bytes == 99_998)
    third.close()
    eventually(lambda: server.server.service.unfinished_bytes == 0)


# Time


def test_a_head_that_does_not_end_in_time_is_refused(serve: Serve) -> None:
    client = serve(limits=Limits(header_seconds=SOON)).connect()
    client.send(b"GET /at-once HTTP/1.1\r\nHo")
    assert refusal(client) == b"HTTP/1.1 408 Request Timeout"


def test_a_head_that_drips_is_refused_all_the_same(serve: Serve) -> None:
    client = serve(limits=Limits(header_seconds=SOON)).connect()
    client.socket.settimeout(SOON / 20)
    client.send(GET[:-2] + b"X-Drip: ")
    started_at = time.monotonic()
    while time.monotonic() < started_at + 20 * SOON:
        client.send(b"a")
        try:
            assert client.receive(12) == b"HTTP/1.1 408"
            return
        except TimeoutError:
            continue
    pytest.fail("it was let drip")


@pytest.mark.parametrize("limits", [Limits(body_stall_seconds=SOON), Limits(body_seconds=SOON)])
def test_a_body_that_stalls_is_refused(serve: Serve, limits: Limits) -> None:
    client = serve(limits=limits).connect()
    client.send(head(b"Content-Length: 10\r\n") + b"short")
    assert refusal(client) == b"HTTP/1.1 408 Request Timeout"


def test_a_body_that_keeps_coming_may_take_longer_than_a_stall(serve: Serve) -> None:
    client = serve(limits=Limits(body_stall_seconds=SOON)).connect()
    client.send(head(b"Content-Length: 20\r\n"))
    for _ in range(20):
        time.sleep(SOON / 8)
        client.send(b"x")
    assert client.answer().endswith(b"echo: " + b"x" * 20)


def test_a_body_that_drips_has_only_so_long_in_all(serve: Serve) -> None:
    client = serve(limits=Limits(body_seconds=SOON)).connect()
    client.socket.settimeout(SOON / 20)
    client.send(head(b"Content-Length: 100\r\n"))
    for _ in range(99):
        client.send(b"x")
        try:
            assert client.receive(12) == b"HTTP/1.1 408"
            return
        except TimeoutError:
            continue
    pytest.fail("it was let drip")


def test_an_idle_connection_is_closed_without_a_word(serve: Serve) -> None:
    client = serve(limits=Limits(idle_seconds=SOON)).connect()
    client.send(GET)
    assert client.answer() == AT_ONCE
    assert client.receive_all() == b""


def test_a_connection_that_never_asks_is_closed_without_a_word(serve: Serve) -> None:
    client = serve(limits=Limits(header_seconds=SOON)).connect()
    assert client.receive_all() == b""


def test_no_limit_is_cut_short(serve: Serve) -> None:
    client = serve(limits=Limits(idle_seconds=SOON)).connect()
    client.send(GET)
    assert client.answer() == AT_ONCE
    answered_at = time.monotonic()
    assert client.receive_all() == b""
    assert time.monotonic() - answered_at >= SOON


def test_a_client_that_waits_for_its_answer_is_not_idle(serve: Serve) -> None:
    client = serve(limits=Limits(idle_seconds=SOON, header_seconds=SOON, body_seconds=SOON)).connect()
    client.send(b"GET /wait?%d HTTP/1.1\r\nHost: h\r\n\r\n" % (4 * SOON * 1000))
    assert client.answer().endswith(b"echo: nothing came")


def test_clients_are_not_blamed_when_the_server_was_held_up(serve: Serve) -> None:
    server = serve(limits=Limits(body_stall_seconds=SOON))
    client = server.connect()
    client.send(head(b"Content-Length: 10\r\n") + b"first")
    eventually(lambda: server.server.service.unfinished_bytes == 5)
    server.loop.call_soon_threadsafe(time.sleep, 4 * SOON)
    client.send(b" las")
    eventually(lambda: server.call(lambda: server.server.service.unfinished_bytes) == 9)
    time.sleep(SOON / 2)
    client.send(b"t")
    assert client.answer().endswith(b"echo: first last")


def test_a_body_has_its_time_however_long_its_head_took(serve: Serve) -> None:
    client = serve(limits=Limits(body_seconds=SOON)).connect()
    whole_head = head(b"Content-Length: 4\r\n")
    client.send(whole_head[:-2])
    time.sleep(SOON * 1.5)
    client.send(whole_head[-2:] + b"bo")
    time.sleep(SOON / 2)
    client.send(b"dy")
    assert client.answer().endswith(b"echo: body")


def test_a_request_has_its_time_however_long_we_did_not_read(serve: Serve) -> None:
    client = serve(limits=Limits(header_seconds=SOON, pipelined_max=1)).connect()
    client.send(b"GET /wait?%d HTTP/1.1\r\nHost: h\r\n\r\n" % (3 * SOON * 1000) + GET[:10])
    assert client.answer().endswith(b"echo: nothing came")
    time.sleep(SOON / 2)
    client.send(GET[10:])
    assert client.answer() == AT_ONCE


# Numbers


def test_one_connection_too_many_is_told_so(serve: Serve) -> None:
    server = serve(limits=Limits(connections_max=2))
    kept = [server.connect(), server.connect()]
    for client in kept:
        client.send(GET)
        assert client.answer() == AT_ONCE
    one_too_many = server.connect()
    one_too_many.send(GET)
    assert refusal(one_too_many) == b"HTTP/1.1 503 Service Unavailable"
    kept[0].close()
    eventually(lambda: len(server.server.service.connections) == 1)
    newcomer = server.connect()
    newcomer.send(GET)
    assert newcomer.answer() == AT_ONCE


def test_those_turned_away_are_limited_too(serve: Serve) -> None:
    server = serve(limits=Limits(connections_max=0, turned_away_max=1))
    told, dropped = server.connect(), server.connect()
    assert told.answer().startswith(b"HTTP/1.1 503 ")
    assert dropped.is_closed()


def test_who_was_turned_away_and_stays_is_closed(serve: Serve) -> None:
    server = serve(limits=Limits(connections_max=0, linger_seconds=SOON))
    client = server.connect()
    assert client.answer().startswith(b"HTTP/1.1 503 ")
    eventually(lambda: not server.server.service.turned_away)


def test_a_connection_is_not_read_while_it_is_owed_too_many_answers(serve: Serve) -> None:
    server = serve(limits=Limits(pipelined_max=4))
    client = server.connect()
    wait = b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
    for _ in range(4):
        client.send(wait)
    eventually(lambda: len(server.engine.waiting) == 4)
    client.send(wait)
    other = server.connect()
    other.send(b"GET /say?between HTTP/1.1\r\nHost: h\r\n\r\n")
    assert other.answer().endswith(b"between")
    assert len(server.engine.waiting) == 4
    other.send(b"GET /wake HTTP/1.1\r\nHost: h\r\n\r\n")
    assert client.answer().endswith(b"woken")
    eventually(lambda: len(server.engine.waiting) == 4)


def test_the_body_of_the_last_request_allowed_is_still_read(serve: Serve) -> None:
    client = serve(limits=Limits(pipelined_max=1)).connect()
    client.send(head(b"Content-Length: 8\r\n") + b"half")
    client.send(b"half" + GET)
    assert client.answer().endswith(b"echo: halfhalf")
    assert client.answer() == AT_ONCE


def test_any_number_of_pipelined_requests_is_answered_in_the_end(serve: Serve) -> None:
    server = serve(limits=Limits(pipelined_max=4))
    client = server.connect()
    client.send(b"GET /say?%d HTTP/1.1\r\nHost: h\r\n\r\n" % 7 * 20_000)
    for _ in range(20_000):
        assert client.answer().endswith(b"echo: 7")
    # What one piece of 16 KiB brings may come on top of the limit.
    assert max(len(batch) for batch in server.engine.batches) < 600


def test_a_thousand_connections_at_once_are_all_answered(server: RunningServer) -> None:
    clients = [server.connect() for _ in range(1000)]
    for number, client in enumerate(clients):
        client.send(b"GET /say?%d HTTP/1.1\r\nHost: h\r\n\r\n" % number)
    for number, client in enumerate(clients):
        assert client.answer().endswith(b"echo: %d" % number)


# Clients that do not read


def deaf_client(server: RunningServer) -> Client:
    """One whose kernel holds little of what it does not read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", server.port))
    sock.settimeout(5)
    return server.adopt(sock)


BIG = b"GET /big-answer?bytes=1000000 HTTP/1.1\r\nHost: h\r\n\r\n"


def test_a_client_that_does_not_read_is_not_read_from(server: RunningServer) -> None:
    client = deaf_client(server)
    client.send(BIG * 10)
    eventually(lambda: server.call(lambda: is_blocked(server)))
    client.send(b"GET /say?late HTTP/1.1\r\nHost: h\r\n\r\n")
    other = server.connect()
    for _ in range(5):
        other.send(GET)
        assert other.answer() == AT_ONCE
    assert server.engine.batches == []
    for _ in range(10):
        assert client.answer().endswith(b"x" * 1_000_000)
    assert client.answer().endswith(b"echo: late")


def is_blocked(server: RunningServer) -> bool:
    connections = server.server.service.connections
    return any(isinstance(client, Connection) and client.line.is_blocked for client in connections)


def test_a_client_that_never_reads_is_cut_off(serve: Serve) -> None:
    server = serve(limits=Limits(write_stall_seconds=SOON))
    client = deaf_client(server)
    client.send(BIG * 10)
    eventually(lambda: len(server.server.service.connections) == 1)
    eventually(lambda: not server.server.service.connections)


@pytest.mark.parametrize("unsent_bytes_max", [Limits().unsent_bytes_max, 1 << 30])
def test_a_client_that_never_reads_its_last_answer_is_cut_off(serve: Serve, unsent_bytes_max: int) -> None:
    server = serve(limits=Limits(write_stall_seconds=SOON, unsent_bytes_max=unsent_bytes_max))
    client = deaf_client(server)
    client.send(BIG[:-2].replace(b"1000000", b"9000000") + b"Connection: close\r\n\r\n")
    eventually(lambda: len(server.server.service.connections) == 1)
    eventually(lambda: not server.server.service.connections)


def test_a_client_that_reads_slowly_is_not_cut_off(serve: Serve) -> None:
    server = serve(limits=Limits(write_stall_seconds=SOON))
    client = deaf_client(server)
    client.send(BIG[:-2].replace(b"1000000", b"9000000") + b"Connection: close\r\n\r\n")
    received = 0
    while data := client.receive(800_000):
        received += len(data)
        time.sleep(SOON / 4)
    assert received > 9_000_000
