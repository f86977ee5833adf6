"""Ids of requests: ours, and the client's own."""

from __future__ import annotations

import re
import time

import pytest

from penstock.server import request_ids
from penstock.server.request_ids import ALPHABET, RequestIds
from tests.server.conftest import RunningServer


def moment_ms(ulid: str) -> int:
    """The time in a ULID, decoded as its specification says."""
    value = 0
    for letter in ulid[:10]:
        value = value * 32 + ALPHABET.index(letter)
    return value


def test_an_id_is_a_ulid_of_now() -> None:
    before_ms = time.time_ns() // 1_000_000
    ulid = RequestIds().next()
    after_ms = time.time_ns() // 1_000_000
    assert re.fullmatch(f"[{ALPHABET}]{{26}}", ulid)
    assert before_ms <= moment_ms(ulid) <= after_ms


def test_ids_only_ever_grow() -> None:
    ids = RequestIds()
    made = [ids.next() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_ids_grow_when_the_clock_steps_back() -> None:
    ids = RequestIds(iter([5_000_000, 3_000_000, 4_000_000, 6_000_000]).__next__)
    made = [ids.next() for _ in range(4)]
    assert made == sorted(set(made))
    assert [moment_ms(ulid) for ulid in made] == [5, 5, 5, 6]


def test_ids_grow_when_a_millisecond_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_ids, "COUNT_END", 1030)
    ids = RequestIds(lambda: 5_000_000)
    made = [ids.next() for _ in range(2000)]
    assert made == sorted(set(made))
    assert [moment_ms(made[0]), moment_ms(made[1029]), moment_ms(made[1030])] == [5, 5, 6]


def test_two_processes_do_not_make_the_same_ids() -> None:
    def at_the_same_moment() -> int:
        return 5_000_000

    assert RequestIds(at_the_same_moment).next() != RequestIds(at_the_same_moment).next()


def answered_id(server: RunningServer, header: bytes) -> tuple[str, str]:
    """The id in the answer's header, and the one that the dialect saw."""
    client = server.connect()
    client.send(b"GET /id HTTP/1.0\r\n" + header + b"\r\n")
    head, _, body = client.receive_all().decode().partition("\r\n\r\n")
    found = re.search("X-Request-ID: (.*)", head)
    assert found is not None
    return found[1].strip(), body


def test_every_answer_has_an_id_and_the_dialect_saw_the_same(server: RunningServer) -> None:
    in_header, seen = answered_id(server, b"")
    assert in_header == seen
    assert len(seen) == 26


@pytest.mark.parametrize("given", [b"a", b"trace-42/7", b"x" * 128])
def test_a_clients_own_id_is_kept(server: RunningServer, given: bytes) -> None:
    assert answered_id(server, b"X-Request-ID: %b\r\n" % given) == (given.decode(), given.decode())


@pytest.mark.parametrize("given", [b"", b"two words", b"x" * 129, b"\xc3\xa9", b'a\tb"'])
def test_an_id_that_could_spoil_a_log_is_replaced(server: RunningServer, given: bytes) -> None:
    in_header, seen = answered_id(server, b"X-Request-ID: %b\r\n" % given)
    assert in_header == seen
    assert len(seen) == 26
