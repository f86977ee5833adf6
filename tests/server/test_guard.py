"""Keys at the door: who gets in, who does not, and how little of them is read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.model import QueueName
from penstock.dialects.http import Request
from penstock.keys.file import KeyFile
from penstock.keys.grants import OPEN, Action, Need, Needs
from penstock.keys.rates import Rate, Rates
from penstock.server.listeners import Listener
from penstock.server.routing import Router
from tests.keys.making import add_key, id_of, remove_key
from tests.server.conftest import RunningServer, Serve, eventually
from tests.server.echo import EchoDialect


class GuardedEcho(EchoDialect):
    """A path is the name of a queue to consume from; some are open to everybody."""

    def needs(self, head: Request) -> Needs:
        match head.path:
            case "/at-once" | "/forgotten" | "/health" | "/large" | "/journal/latest":
                return OPEN
            case "/needs-crash":
                raise KeyError("secret")
            case path:
                return (Need(Action.CONSUME, QueueName("default", path[1:])),)


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path)


@pytest.fixture
def start(serve: Serve, keys: KeyFile) -> Callable[[], RunningServer]:
    def guarded() -> RunningServer:
        dialect = GuardedEcho()
        return serve(listeners=[Listener("127.0.0.1", 0, Router([dialect], fallback=dialect))], keys=keys)

    return guarded


Start = Callable[[], RunningServer]


def post(path: str, body: bytes = b"", key: str = "", more: bytes = b"") -> bytes:
    shown = b"X-Key: %b\r\n" % key.encode() if key else b""
    head = b"POST %b HTTP/1.1\r\nHost: h\r\n%b%b" % (path.encode(), shown, more)
    return head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def denied(why: bytes, more: bytes = b"") -> bytes:
    said = b"echo denies: " + why
    return b"HTTP/1.1 403 Forbidden\r\n%bContent-Length: %d\r\n" % (more, len(said))


def whole(head: bytes, why: bytes) -> bytes:
    return head + b"\r\necho denies: " + why


def said(text: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (len(text) + 6)
    return head + b"echo: " + text


def test_while_there_are_no_keys_nobody_needs_one(start: Start) -> None:
    client = start().connect()
    client.send(post("/echo", b"hello"))
    assert client.answer() == said(b"hello")


def test_with_a_key_that_allows_it_a_request_is_done(start: Start, keys: KeyFile) -> None:
    key = add_key(keys, "consume:default/echo")
    client = start().connect()
    client.send(post("/echo", b"hello", key))
    assert client.answer() == said(b"hello")


def test_a_key_is_missing_unknown_or_not_for_this_queue(start: Start, keys: KeyFile) -> None:
    key = add_key(keys, "consume:default/echo")
    client = start().connect()
    for request, why in [
        (post("/echo", b"x"), b"MISSING"),
        (post("/echo", b"x", key + "x"), b"UNKNOWN"),
        (post("/echo", b"x", "y" * 300), b"UNKNOWN"),
        (post("/other", b"x", key), b"FORBIDDEN"),
    ]:
        client.send(request)
        assert client.answer() == whole(denied(why), why)


def test_after_a_denial_the_connection_is_good_for_the_next_request(start: Start, keys: KeyFile) -> None:
    key = add_key(keys, "consume:default/echo")
    client = start().connect()
    client.send(post("/echo", b"one") + post("/echo", b"two", key) + post("/other", b"three", key))
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")
    assert client.answer() == said(b"two")
    assert client.answer() == whole(denied(b"FORBIDDEN"), b"FORBIDDEN")


@pytest.mark.parametrize(
    "more",
    [
        b"Content-Length: 5\r\nExpect: 100-continue\r\n",
        b"Content-Length: 1000000000\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ],
    ids=["held back", "long", "of unknown length"],
)
def test_whoever_is_denied_is_not_asked_for_a_body(start: Start, keys: KeyFile, more: bytes) -> None:
    add_key(keys, "consume:default/echo")
    client = start().connect()
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\n" + more + b"\r\n")
    assert client.answer() == whole(denied(b"MISSING") + b"Connection: close\r\n", b"MISSING")
    assert client.is_closed()


def test_with_a_key_a_body_that_is_held_back_is_asked_for(start: Start, keys: KeyFile) -> None:
    key = add_key(keys, "consume:default/echo")
    client = start().connect()
    head = b"POST /echo HTTP/1.1\r\nHost: h\r\nX-Key: %b\r\nContent-Length: 5\r\n" % key.encode()
    client.send(head + b"Expect: 100-continue\r\n\r\n")
    assert client.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(b"hello")
    assert client.answer() == said(b"hello")


def test_what_is_open_to_everybody_stays_so(start: Start, keys: KeyFile) -> None:
    add_key(keys, "consume:default/echo")
    client = start().connect()
    for path, body in (("/at-once", b"at once"), ("/health", b"green")):
        client.send(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path.encode())
        assert client.answer().endswith(b"\r\n\r\n" + body)


def test_a_stranger_cannot_make_the_server_hold_a_large_body(start: Start, keys: KeyFile) -> None:
    server = start()
    client = server.connect()
    client.send(post("/large", b"x" * 70_000))
    assert client.answer().startswith(b"HTTP/1.1 200 ")
    add_key(keys, "consume:default/echo")
    eventually(lambda: server.server.service.guard.is_on)
    client.send(post("/large", b"x" * 70_000))
    assert client.answer().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("path", ["/forgotten", "/journal/latest"])
def test_a_dialect_that_forgets_to_ask_for_a_key_lets_nobody_in(
    start: Start, keys: KeyFile, path: str
) -> None:
    add_key(keys, "consume:default/echo")
    client = start().connect()
    client.send(post(path))
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")


def test_the_journal_needs_its_own_grant_whatever_the_head_asked_for(start: Start, keys: KeyFile) -> None:
    key, reader = add_key(keys, "consume:*/*"), add_key(keys, "consume,journal:*/*")
    client = start().connect()
    client.send(b"GET /journal?after=0&limit=1 HTTP/1.1\r\nHost: h\r\nX-Key: %b\r\n\r\n" % key.encode())
    assert client.answer() == whole(denied(b"FORBIDDEN"), b"FORBIDDEN")
    client.send(b"GET /journal?after=0&limit=1 HTTP/1.1\r\nHost: h\r\nX-Key: %b\r\n\r\n" % reader.encode())
    assert client.head().startswith(b"HTTP/1.1 200 ")


def test_a_dialect_that_fails_to_say_what_is_needed_lets_nobody_in(start: Start, keys: KeyFile) -> None:
    add_key(keys, "consume:default/echo")
    client = start().connect()
    client.send(post("/needs-crash"))
    answer = client.answer()
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"secret" not in answer


def test_a_key_used_too_often_is_told_when_to_come_back(start: Start, keys: KeyFile) -> None:
    limited = add_key(keys, "consume:*/*", rates=Rates(requests=Rate(2, 600)))
    other = add_key(keys, "consume:*/*")
    client = start().connect()
    client.send(post("/echo", b"1", limited) + post("/echo", b"2", limited) + post("/echo", b"3", limited))
    assert [client.answer(), client.answer()] == [said(b"1"), said(b"2")]
    assert client.answer() == whole(denied(b"TOO_MANY", b"Retry-After: 300\r\n"), b"TOO_MANY")
    client.send(post("/echo", b"4", other))
    assert client.answer() == said(b"4")


def test_a_key_made_or_taken_back_counts_at_once(start: Start, keys: KeyFile) -> None:
    server = start()
    client = server.connect()
    client.send(post("/echo", b"free"))
    assert client.answer() == said(b"free")

    first, second = add_key(keys, "consume:default/echo"), add_key(keys, "consume:default/echo")
    server.call(server.server.service.look_at_keys)
    client.send(post("/echo", b"x") + post("/echo", b"y", first) + post("/echo", b"z", second))
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")
    assert [client.answer(), client.answer()] == [said(b"y"), said(b"z")]

    remove_key(keys, first)
    server.call(server.server.service.look_at_keys)
    client.send(post("/echo", b"y", first) + post("/echo", b"z", second))
    assert client.answer() == whole(denied(b"UNKNOWN"), b"UNKNOWN")
    assert client.answer() == said(b"z")


def test_a_change_of_the_file_is_noticed_without_being_told(start: Start, keys: KeyFile) -> None:
    server = start()
    add_key(keys, "consume:default/echo")
    eventually(lambda: server.server.service.guard.is_on)


def test_without_the_last_key_everybody_is_refused(start: Start, keys: KeyFile) -> None:
    key = add_key(keys, "consume:default/echo")
    server = start()
    remove_key(keys, key)
    server.call(server.server.service.look_at_keys)
    client = server.connect()
    client.send(post("/echo", b"x", key) + post("/echo", b"x"))
    assert client.answer() == whole(denied(b"UNKNOWN"), b"UNKNOWN")
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")


def test_who_waits_with_a_key_that_is_taken_back_is_told_at_once(start: Start, keys: KeyFile) -> None:
    revoked, kept = add_key(keys, "consume:default/wait"), add_key(keys, "consume:default/wait")
    server = start()
    ends, stays = server.connect(), server.connect()
    ends.send(post("/wait", key=revoked))
    stays.send(post("/wait", key=kept))
    eventually(lambda: server.call(lambda: len(server.engine.waiting)) == 2)
    remove_key(keys, revoked)
    assert ends.answer() == whole(denied(b"UNKNOWN"), b"UNKNOWN")
    assert server.call(server.engine.wake) == 1, "nothing is handed to one who may not have it"
    assert stays.answer() == said(b"woken")


def test_who_waits_without_a_key_is_told_once_there_are_keys(start: Start, keys: KeyFile) -> None:
    server = start()
    client = server.connect()
    client.send(post("/wait"))
    eventually(lambda: server.call(lambda: len(server.engine.waiting)) == 1)
    add_key(keys, "consume:default/echo")
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")


@pytest.mark.parametrize(
    "harm", [lambda path: path.write_text("{"), lambda path: path.unlink()], ids=["broken", "gone"]
)
def test_a_file_that_is_broken_or_gone_leaves_the_last_good_keys_in_force(
    start: Start, keys: KeyFile, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    key = add_key(keys, "consume:default/echo")
    server = start()
    harm(keys.path)
    eventually(lambda: "keys_refused" in caplog.text)
    client = server.connect()
    client.send(post("/echo", b"x") + post("/echo", b"y", key))
    assert client.answer() == whole(denied(b"MISSING"), b"MISSING")
    assert client.answer() == said(b"y")
    for _ in range(3):
        server.call(server.server.service.look_at_keys)
    assert caplog.text.count("keys_refused") == 1, "said once, not ten times a second"


def test_the_log_names_keys_by_their_id_and_never_holds_one(
    start: Start, keys: KeyFile, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, other = add_key(keys, "consume:default/echo"), add_key(keys, "consume:*/*")
    client = start().connect()
    for request in (post("/other", key=key), post("/echo", key="not-a-key"), post("/read-crash", key=other)):
        client.send(request)
        client.answer()
    assert "reading echo" in caplog.text
    assert f"does not allow it, {id_of(key)}" in caplog.text
    assert "an unknown key" in caplog.text
    assert all(each.split("_")[2] not in caplog.text for each in (key, other))
    assert "not-a-key" not in caplog.text
