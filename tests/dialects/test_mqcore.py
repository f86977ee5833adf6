"""MQ-Core beyond its transcripts: any bytes, faults of ours, a port of its own, fetching by lot."""

from __future__ import annotations

import re
import socket
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeQueue,
    Draft,
    IfMissing,
    Publish,
)
from penstock.core.errors import StoreFailed
from penstock.core.ids import make_id, to_uuid
from penstock.core.model import Content, MoveState, Phase, QueueName
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    Delivery,
    MoveShown,
    NoSuchMove,
    Outcome,
    PublishedAll,
    QueueExists,
    QueuesListed,
    Refused,
    Renewed,
    Unavailable,
    Unfinished,
)
from penstock.dialects.http import BodyRule, Problem, Request, Response
from penstock.dialects.mqcore import MqCore, _checked_name
from penstock.engine.engine import Engine
from penstock.stores.memory import MemoryStore
from tests.engine.driving import Inbox
from tests.transcripts.over_port import OverPortStage
from tests.transcripts.player import STARTS_AT_MS, Answer, Question, Stage
from tests.transcripts.socketless import SocketlessStage

JOBS = QueueName("default", "jobs")
CLAIM = Claim((JOBS,))
AN_ID = make_id(STARTS_AT_MS, 1, 1)
MIB = 1024 * 1024


def request(method: str, path: str, body: bytes = b"") -> Request:
    return Request(method, path, "", {}, body)


def header(response: Response, name: bytes) -> bytes | None:
    return dict(response.headers).get(name)


def delivered(content: Content) -> Delivered:
    return Delivered((Delivery(AN_ID, JOBS, content, Phase.CLAIMED, 10_000, 0, None, None, 1, 1),))


def ask(stage: Stage, method: str, target: str, body: bytes = b"") -> Answer:
    stage.ask("", Question(method, target, [], body))
    return stage.answer("")


# What is asked of the core


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        (request("PUT", "/jobs"), CreateQueue(JOBS, None, keeps_existing=True, dialect="mqcore")),
        (request("GET", "/jobs"), DescribeQueue(JOBS, dialect="mqcore")),
        (request("DELETE", "/jobs"), DeleteQueue(JOBS, dialect="mqcore")),
        (
            request("POST", "/jobs/messages", b"x"),
            Publish(JOBS, (Draft(Content(b"x")),), IfMissing.REFUSE, dialect="mqcore"),
        ),
        (
            request("GET", "/jobs/messages"),
            Claim((JOBS,), hidden_ms=10_000, if_missing=IfMissing.EMPTY, dialect="mqcore"),
        ),
        (
            request("DELETE", f"/jobs/messages/{to_uuid(AN_ID)}"),
            Acknowledge("default", "jobs", (AN_ID,), dialect="mqcore"),
        ),
    ],
)
def test_each_request_of_the_document_is_one_command(asked: Request, command: Command) -> None:
    assert MqCore().read(asked) == command


@pytest.mark.parametrize(("delay_s", "hidden_ms"), [(10, 10_000), (0.25, 250), (1.1, 1100), (0.0001, 1)])
def test_a_delay_is_in_seconds_and_never_nothing(delay_s: float, hidden_ms: int) -> None:
    claim = MqCore(delay_s).read(request("GET", "/jobs/messages"))
    assert isinstance(claim, Claim)
    assert claim.hidden_ms == hidden_ms


def test_only_the_body_of_a_message_is_kept() -> None:
    mqcore = MqCore(body_bytes_max=4 * MIB)
    assert mqcore.body_rule(request("POST", "/jobs/messages")) == BodyRule(4 * MIB)
    for method in ("PUT", "GET", "DELETE"):
        assert mqcore.body_rule(request(method, "/jobs")) == BodyRule(0, cuts=True)


def test_headers_of_nothing_are_as_good_as_none() -> None:
    asked = Request("POST", "/jobs/messages", "", {b"content-type": b"", b"content-encoding": b""}, b"x")
    assert MqCore().read(asked) == MqCore().read(request("POST", "/jobs/messages", b"x"))


# Any bytes

paths = st.lists(
    st.sampled_from(["jobs", "messages", "", "..", "%2F", "%", "%FF", "a.b", to_uuid(AN_ID)])
    | st.text(max_size=3),
    min_size=1,
    max_size=4,
).map(lambda parts: "/" + "/".join(parts))


@given(st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"]), paths)
def test_no_path_is_a_fault_and_no_command_has_another_name(method: str, path: str) -> None:
    asked = MqCore().read(request(method, path))
    match asked:
        case Response():
            assert asked.status == 404 or (asked.status == 202 and method == "DELETE")
        case Acknowledge():
            assert re.fullmatch("[A-Za-z0-9_-]{1,255}", asked.queue or "")
        case Claim():
            assert re.fullmatch("[A-Za-z0-9_-]{1,255}", asked.names[0].name)
        case CreateQueue() | DescribeQueue() | DeleteQueue() | Publish():
            assert re.fullmatch("[A-Za-z0-9_-]{1,255}", asked.name.name)
        case _:
            raise AssertionError(f"{asked} is none of the six requests")


def test_a_name_too_long_for_any_queue_is_not_remembered() -> None:
    before = _checked_name.cache_info().currsize
    assert MqCore().read(request("GET", "/" + 256 * "x")) == Response(404)
    assert _checked_name.cache_info().currsize == before


def test_a_header_out_of_a_message_cannot_end_its_line() -> None:
    injection = Content(b"x", "text/plain\r\nX-Injected: yes", "gzip\nX-Injected: yes")
    response = MqCore().write(CLAIM, delivered(injection), 0)
    assert header(response, b"Content-Type") == b"application/octet-stream"
    assert header(response, b"Content-Encoding") is None


def test_a_type_that_no_header_can_hold_is_given_as_plain_bytes() -> None:
    response = MqCore().write(CLAIM, delivered(Content(b"x", "text/日本")), 0)
    assert header(response, b"Content-Type") == b"application/octet-stream"


# What goes wrong


@pytest.mark.parametrize(
    ("outcome", "status"), [(Crashed(), 500), (Unavailable(), 503), (Refused("no"), 400)]
)
def test_what_goes_wrong_is_said_in_a_sentence(outcome: Outcome, status: int) -> None:
    response = MqCore().write(CLAIM, outcome, 0)
    assert response.status == status
    assert header(response, b"Content-Type") == b"text/plain; charset=utf-8"
    assert response.body.endswith(b"\n")
    assert header(response, b"Retry-After") == (b"1" if status == 503 else None)


@pytest.mark.parametrize("problem", Problem)
def test_a_refusal_by_the_server_says_why(problem: Problem) -> None:
    response = MqCore().refuse(problem, "because")
    assert (response.status, response.body) == (problem.value, b"because\n")
    assert header(response, b"Retry-After") == (b"1" if problem is Problem.UNAVAILABLE else None)


MOVE = MoveState("reference", JOBS, JOBS, 1, 2, 3)


@pytest.mark.parametrize(
    "outcome",
    [
        PublishedAll(()),
        Renewed(()),
        Counted(0),
        QueuesListed(0, ()),
        QueueExists(JOBS),
        MoveShown(MOVE),
        NoSuchMove("reference"),
        Unfinished(CLAIM),
    ],
)
def test_an_outcome_that_mqcore_never_asks_for_is_a_bug(outcome: Outcome) -> None:
    with pytest.raises(AssertionError):
        MqCore().write(CLAIM, outcome, 0)


class _FullDisk(MemoryStore):
    """Takes everything and can keep nothing."""

    def commit(self) -> None:
        raise StoreFailed("no space left on the disk")


def test_a_message_that_is_not_sure_to_be_kept_is_503_with_a_time_to_come_again() -> None:
    mqcore, inbox = MqCore(unknown_queue="create"), Inbox()
    engine = Engine(_FullDisk())
    command = mqcore.read(request("POST", "/jobs/messages", b"x"))
    assert isinstance(command, Publish)
    engine.submit(command, inbox)
    engine.run()
    assert inbox.outcome is not None
    response = mqcore.write(command, inbox.outcome, 0)
    assert response.status == 503
    assert (header(response, b"Retry-After") or b"").isdigit()
    assert header(response, b"X-Message-Id") is None


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"Content-Length: 10\r\n\r\nshort", id="ends early"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", id="ends between chunks"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\nfive\r\nshort\r\n0\r\n\r\n", id="no size of a chunk"
        ),
    ],
)
def test_a_body_that_cannot_be_read_is_400_and_no_message(tmp_path: Path, sent: bytes) -> None:
    with OverPortStage([MqCore()], tmp_path) as stage:
        assert ask(stage, "PUT", "/jobs").status == 201
        with socket.create_connection(stage.address, timeout=10) as client:
            client.sendall(b"POST /jobs/messages HTTP/1.1\r\nHost: h\r\n" + sent)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(65536).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert ask(stage, "GET", "/jobs/messages").status == 204


# Reserved words

RESERVED = ["queues", "messages", "queue", "dedupq", "api", "health", "journal"]


@pytest.mark.parametrize("word", RESERVED)
@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("PUT", ""),
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/messages"),
        ("GET", "/messages"),
        ("DELETE", "/messages/1"),
    ],
)
def test_no_request_gets_past_a_reserved_word(word: str, method: str, below: str) -> None:
    answer = MqCore(reserved=frozenset(RESERVED)).read(request(method, f"/{word}{below}"))
    assert isinstance(answer, Response)
    assert answer.status == 400
    assert answer.body.startswith(f"{word} is a reserved word on this port".encode())
    assert b"--listen mqcore=HOST:PORT" in answer.body


@pytest.mark.parametrize("word", RESERVED)
def test_on_a_port_of_its_own_nothing_is_reserved(tmp_path: Path, word: str) -> None:
    with OverPortStage([MqCore()], tmp_path) as stage:
        assert ask(stage, "GET", f"/{word}").status == 404
        assert ask(stage, "PUT", f"/{word}").status == 201
        assert ask(stage, "GET", f"/{word}").status == 200
        message_id = ask(stage, "POST", f"/{word}/messages", b"hello").headers["x-message-id"].decode()
        assert ask(stage, "GET", f"/{word}/messages").body == b"hello"
        assert ask(stage, "DELETE", f"/{word}/messages/{message_id}").status == 202
        assert ask(stage, "DELETE", f"/{word}").status == 200


# Fetching by lot


def test_with_peers_a_fetch_takes_any_of_the_oldest_and_none_younger() -> None:
    stage = SocketlessStage([MqCore(peers=2, unknown_queue="create")])
    firsts: Counter[bytes] = Counter()
    for number in range(100):  # one of three is left out by chance once in 10^17 runs
        for body in (b"1", b"2", b"3", b"4"):
            ask(stage, "POST", f"/queue{number}/messages", body)
        firsts[ask(stage, "GET", f"/queue{number}/messages").body] += 1
    assert set(firsts) == {b"1", b"2", b"3"}


def test_with_peers_each_message_comes_once_within_the_delay_and_none_is_left(tmp_path: Path) -> None:
    with OverPortStage([MqCore(peers=4, unknown_queue="create")], tmp_path) as stage:
        waiting = [b"%d" % number for number in range(30)]
        for body in waiting:
            ask(stage, "POST", "/jobs/messages", body)
        while waiting:
            fetched = ask(stage, "GET", "/jobs/messages")
            assert fetched.body in waiting[:5]
            waiting.remove(fetched.body)
        assert ask(stage, "GET", "/jobs/messages").status == 204
        stage.move_clock(10_000)
        again = {ask(stage, "GET", "/jobs/messages").body for _ in range(30)}
        assert again == {b"%d" % number for number in range(30)}
