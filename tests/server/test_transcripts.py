"""Literal bytes in, literal answers out. Dates and request ids are left out of the answers."""

from __future__ import annotations

import pytest

from tests.server.conftest import RunningServer

GET = b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n"
AT_ONCE = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nat once"
AT_ONCE_LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nat once"
TEXT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def post(path: bytes, body: bytes, more: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: h\r\n%bContent-Length: %d\r\n\r\n%b" % (path, more, len(body), body)


def said(text: bytes) -> bytes:
    return TEXT + b"Content-Length: %d\r\n\r\necho: %b" % (len(text) + 6, text)


def refused(start: bytes, text: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (start, len(text), text)


def test_a_request_goes_through_the_engine_and_back(server: RunningServer) -> None:
    client = server.connect()
    client.send(post(b"/echo", b"hello"))
    assert client.answer() == said(b"hello")


def test_a_connection_is_kept_for_the_next_request(server: RunningServer) -> None:
    client = server.connect()
    for text in (b"one", b"two", b""):
        client.send(post(b"/echo", text))
        assert client.answer() == said(text)


def test_a_request_may_come_byte_by_byte(server: RunningServer) -> None:
    client = server.connect()
    for byte in post(b"/echo", b"slow but sure"):
        client.send(bytes([byte]))
    assert client.answer() == said(b"slow but sure")


def test_a_body_may_come_in_chunks_with_extensions_and_a_trailer(server: RunningServer) -> None:
    client = server.connect()
    client.send(
        b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;part=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Request-ID: trailing\r\n\r\n"
    )
    assert client.answer() == said(b"abc0123456789")
    client.send(b"GET /id HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"trailing" not in client.answer()


def test_answers_to_pipelined_requests_come_in_their_order(server: RunningServer) -> None:
    client = server.connect()
    client.send(post(b"/echo", b"first") + GET + post(b"/echo", b"third"))
    assert [client.answer() for _ in range(3)] == [said(b"first"), AT_ONCE, said(b"third")]


def test_a_ready_answer_waits_for_the_one_before_it(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n" + GET + b"GET /wake HTTP/1.1\r\nHost: h\r\n\r\n")
    assert [client.answer() for _ in range(3)] == [said(b"woken"), AT_ONCE, said(b"woke 1")]


def test_head_is_get_without_the_body(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"HEAD /at-once HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
    assert client.head() == b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    assert client.answer() == AT_ONCE


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(b"GET /at-once HTTP/1.0\r\n\r\n", AT_ONCE_LAST, id="http_1_0"),
        pytest.param(GET[:-2] + b"Connection: close\r\n\r\n", AT_ONCE_LAST, id="close"),
        pytest.param(GET[:-2] + b"Connection: close\r\n\r\n" + GET, AT_ONCE_LAST, id="more_after_close"),
        pytest.param(
            b"DELETE /empty HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
            id="no_content",
        ),
        pytest.param(
            b"GET /head?a=%2F&b HTTP/1.0\r\n\r\n",
            refused(b"200 OK", b"('GET', '/head', 'a=%2F&b')"),
            id="path_and_query_as_sent",
        ),
    ],
)
def test_the_last_request_of_a_connection(server: RunningServer, sent: bytes, answer: bytes) -> None:
    client = server.connect()
    client.send(sent)
    assert client.answer() == answer
    assert client.is_closed()


def test_an_http_1_0_client_may_ask_to_stay(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /at-once HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 2)
    kept = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\nat once"
    assert [client.answer(), client.answer()] == [kept, kept]


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        (b"http://example.com:80/head?q=1", b"('GET', '/head', 'q=1')"),
        (b"HTTPS://example.com/head", b"('GET', '/head', '')"),
        (b"/head?a?b", b"('GET', '/head', 'a?b')"),
        (b"/head#part", b"echo: head#part"),
    ],
)
def test_a_target_is_a_path_and_a_query(server: RunningServer, target: bytes, seen: bytes) -> None:
    client = server.connect()
    client.send(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % target)
    assert client.answer().endswith(b"\r\n\r\n" + seen)


def test_a_body_is_asked_for_once_its_head_is_accepted(server: RunningServer) -> None:
    client = server.connect()
    head, body = post(b"/echo", b"hello", b"Expect: 100-continue\r\n").split(b"hello")[0], b"hello"
    client.send(head)
    assert client.receive(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(body)
    assert client.answer() == said(b"hello")


def test_a_body_is_asked_for_only_after_the_answers_before_it(server: RunningServer) -> None:
    client = server.connect()
    expecting = b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    client.send(b"GET /wait?30 HTTP/1.1\r\nHost: h\r\n\r\n" + expecting)
    assert client.answer() == said(b"nothing came")
    assert client.receive(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(b"ok")
    assert client.answer() == said(b"ok")


def test_a_refused_body_is_never_asked_for(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n")
    assert client.receive_all().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("body", [b"", b"hello"])
def test_a_wish_for_another_protocol_is_passed_over(server: RunningServer, body: bytes) -> None:
    """The JDK's client sends such a wish with its first request, body and all."""
    client = server.connect()
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    client.send(post(b"/echo", body, upgrade) * 3 + GET)
    assert [client.answer() for _ in range(4)] == [said(body)] * 3 + [AT_ONCE]


UNREADABLE = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00",
    "unknown method": b"FROB / HTTP/1.1\r\nHost: h\r\n\r\n",
    "method in lower case": b"get / HTTP/1.1\r\nHost: h\r\n\r\n",
    "blank in the target": b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
    "target beyond ASCII": b"GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n",
    "target without a path": b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "target of another scheme": b"GET ftp://h/at-once HTTP/1.1\r\nHost: h\r\n\r\n",
    "tunnel": b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
    "HTTP/2 from the start": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version of the future": b"GET /at-once HTTP/1.2\r\nHost: h\r\n\r\n",
    "no host": b"GET /at-once HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /at-once HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
    "bare line feeds": b"GET /at-once HTTP/1.1\nHost: h\n\n",
    "folded header": b"GET /at-once HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n",
    "blank before the colon": b"GET /at-once HTTP/1.1\r\nHost : h\r\n\r\n",
    "NUL in a header": b"GET /at-once HTTP/1.1\r\nHost: h\x00\r\n\r\n",
    "carriage return in a header": b"GET /at-once HTTP/1.1\r\nHost: h\rA: b\r\n\r\n",
    "ends in the head": b"GET /at-once HTTP/1.1\r\nHo",
    "ends in the body": b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nshort",
    "ends in a chunk": b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
}

SMUGGLING = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "the same length twice": b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "list of lengths": b"Content-Length: 5, 5\r\n\r\nhello",
    "signed length": b"Content-Length: +5\r\n\r\nhello",
    "negative length": b"Content-Length: -5\r\n\r\nhello",
    "hexadecimal length": b"Content-Length: 0x5\r\n\r\nhello",
    "empty length": b"Content-Length:\r\n\r\nhello",
    "length that overflows": b"Content-Length: 18446744073709551621\r\n\r\nhello",
    "length, then chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks, then length": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked, then identity": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "identity": b"Transfer-Encoding: identity\r\n\r\nhello",
    "almost chunked": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks with bare line feeds": b"Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
    "chunk size with a prefix": b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "chunk longer than its size": b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("sent", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_not_a_request_is_refused(server: RunningServer, sent: bytes) -> None:
    answer = server.talk(sent)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"Connection: close\r\n" in answer
    assert b"\r\n\r\necho refuses: " in answer
    assert server.engine.batches == []


@pytest.mark.parametrize("framing", SMUGGLING.values(), ids=SMUGGLING.keys())
def test_a_body_whose_end_is_in_doubt_is_refused(server: RunningServer, framing: bytes) -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
    answer = server.talk(b"POST /echo HTTP/1.1\r\nHost: h\r\n" + framing + smuggled)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
    assert answer.count(b"HTTP/1.1") == 1
    assert server.engine.batches == []


def test_a_coding_that_is_not_understood_is_refused(server: RunningServer) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    assert server.talk(head).startswith(b"HTTP/1.1 501 Not Implemented\r\n")


def test_chunks_in_http_1_0_are_refused(server: RunningServer) -> None:
    head = b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert server.talk(head).startswith(b"HTTP/1.1 400 ")


def test_an_unknown_expectation_is_refused(server: RunningServer) -> None:
    sent = post(b"/echo", b"hello", b"Expect: miracles\r\n")
    assert server.talk(sent).startswith(b"HTTP/1.1 417 ")


@pytest.mark.parametrize("line", [b"GET /at-once HTTP/2.0\r\n\r\n", b"GET /at-once HTTP/0.9\r\n\r\n"])
def test_another_version_is_refused_by_name(server: RunningServer, line: bytes) -> None:
    assert server.talk(line).startswith(b"HTTP/1.1 505 ")


def test_what_follows_a_refusal_is_not_read(server: RunningServer) -> None:
    answer = server.talk(b"GET /at-once HTTP/1.1\r\n\r\n" + post(b"/echo", b"hello"))
    assert answer == refused(b"400 Bad Request", b"echo refuses: HTTP/1.1 needs a Host header")
    assert server.engine.batches == []


def test_requests_before_a_refusal_are_answered_first(server: RunningServer) -> None:
    client = server.connect()
    client.send(post(b"/echo", b"good") + b"\x00")
    assert client.answer() == said(b"good")
    assert client.answer().startswith(b"HTTP/1.1 400 ")
    assert client.is_closed()
