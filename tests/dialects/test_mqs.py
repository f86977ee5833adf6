"""The corners of mqs that no client can bring about by itself. The rest is in its transcripts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import Claim, DescribeQueue, ListQueues, Malformed, Publish
from penstock.core.ids import make_id
from penstock.core.model import Content, Counts, MoveState, Phase, QueueName, Settings
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    Delivery,
    MoveShown,
    NoSuchMove,
    Outcome,
    PublishedAll,
    QueueShown,
    QueuesListed,
    Renewed,
    Unavailable,
    Unfinished,
)
from penstock.dialects.http import BodyRule, Problem, Request, Response
from penstock.dialects.mqs.dialect import Mqs
from penstock.dialects.mqs.names import decoded_name

JOBS = QueueName("default", "jobs")
CLAIM = Claim((JOBS,))
MIB = 1024 * 1024


def delivered(*contents: Content) -> Delivered:
    return Delivered(
        tuple(
            Delivery(make_id(0, n, n), JOBS, content, Phase.CLAIMED, 30_000, 0, None, None, 1, 1)
            for n, content in enumerate(contents)
        )
    )


def header(response: Response, name: bytes) -> bytes | None:
    return dict(response.headers).get(name)


INJECTION = Content(b"x", "text/plain\r\nX-Injected: yes", "gzip\nX-Injected: yes", "1\r\nX-Injected: yes")


def test_a_header_out_of_a_message_cannot_end_its_line() -> None:
    response = Mqs().write(CLAIM, delivered(INJECTION), 0)
    assert header(response, b"Content-Type") == b"application/octet-stream"
    assert header(response, b"Content-Encoding") is None
    assert header(response, b"X-TRACE-ID") is None


def test_nor_can_it_within_a_multipart_body() -> None:
    response = Mqs().write(CLAIM, delivered(INJECTION, INJECTION), 0)
    assert b"X-Injected" not in response.body


def test_a_type_that_no_header_can_hold_is_given_as_plain_bytes() -> None:
    response = Mqs().write(CLAIM, delivered(Content(b"x", "text/日本")), 0)
    assert header(response, b"Content-Type") == b"application/octet-stream"


def test_a_claim_that_ends_in_the_far_future_can_be_written() -> None:
    delivery = msgspec.structs.replace(delivered(Content(b"x")).messages[0], at_ms=253_402_300_799_999)
    response = Mqs().write(CLAIM, Delivered((delivery,)), 0)
    assert header(response, b"X-MQS-MESSAGE-VISIBLE-AT") == b"9999-12-31T23:59:59.999Z"


def test_a_queue_that_keeps_for_ever_shows_the_largest_retention() -> None:
    response = Mqs().write(ListQueues("default"), QueuesListed(1, ((JOBS, Settings()),)), 0)
    assert b'"retention_timeout":2147483647,"visibility_timeout":30,' in response.body


def test_a_message_of_the_future_has_no_age() -> None:
    shown = QueueShown(JOBS, Settings(), Counts(ready=1), oldest_published_at_ms=5000)
    response = Mqs().write(DescribeQueue(JOBS), shown, 4000)
    assert b'"oldest_message_age":0' in response.body


@pytest.mark.parametrize(("outcome", "status"), [(Crashed(), 500), (Unavailable(), 503)])
def test_our_own_faults_are_told_apart(outcome: Outcome, status: int) -> None:
    response = Mqs().write(CLAIM, outcome, 0)
    assert response.status == status
    assert header(response, b"Content-Type") == b"application/json"


@pytest.mark.parametrize("problem", Problem)
def test_a_refusal_by_the_server_says_why(problem: Problem) -> None:
    response = Mqs().refuse(problem, "because")
    assert (response.status, response.body) == (problem.value, b'{"error":"because"}')


def test_what_is_unavailable_may_be_tried_again() -> None:
    assert header(Mqs().refuse(Problem.UNAVAILABLE, "full"), b"Retry-After") == b"1"


MOVE = MoveState("reference", JOBS, JOBS, 1, 2, 3)


@pytest.mark.parametrize(
    "outcome",
    [PublishedAll(()), Renewed(()), Counted(0), MoveShown(MOVE), NoSuchMove("reference"), Unfinished(CLAIM)],
)
def test_an_outcome_that_mqs_never_asks_for_is_a_bug(outcome: Outcome) -> None:
    with pytest.raises(AssertionError):
        Mqs().write(CLAIM, outcome, 0)


def head(method: str, path: str, content_type: bytes = b"") -> Request:
    return Request(method, path, "", {b"content-type": content_type})


def test_only_a_single_message_is_cut() -> None:
    mqs = Mqs(body_bytes_max=4 * MIB)
    assert mqs.body_rule(head("POST", "/messages/q")) == BodyRule(MIB, cuts=True)
    assert mqs.body_rule(head("POST", "/messages/q", b"multipart/mixed; boundary=b")) == BodyRule(4 * MIB)
    assert mqs.body_rule(head("PUT", "/queues/q")) == BodyRule(MIB)
    assert Mqs(oversize="reject").body_rule(head("POST", "/messages/q")) == BodyRule(MIB)


def test_no_body_is_larger_than_the_server_allows() -> None:
    mqs = Mqs(body_bytes_max=1000)
    assert mqs.body_rule(head("POST", "/messages/q")) == BodyRule(1000, cuts=True)
    assert mqs.body_rule(head("PUT", "/queues/q")) == BodyRule(1000)


def test_a_path_that_is_not_text_names_no_queue() -> None:
    assert Mqs().read(head("GET", "/queues/\udcff")) == Response(404)


def test_a_name_too_long_for_any_queue_is_not_remembered() -> None:
    before = decoded_name.cache_info().currsize
    assert Mqs().read(head("GET", "/queues/" + 766 * "x")) == Response(404)
    assert decoded_name.cache_info().currsize == before


def test_what_is_wrong_with_a_publish_is_said_only_of_a_queue_that_exists() -> None:
    request = Request("POST", "/messages/jobs", "", {b"x-trace-id": b"no"})
    assert Mqs().read(request) == Publish(JOBS, Malformed("X-TRACE-ID: expected a UUID"), dialect="mqs")


SEGMENTS = st.sampled_from(["queues", "messages", "health", "", "q", "%", "%zz", "%FF", "%2F"]) | st.text(
    "a%/0F-"
)
HEADERS = st.sampled_from(
    [b"content-type", b"content-encoding", b"x-trace-id", b"x-mqs-max-messages", b"x-mqs-max-wait-time"]
)
VALUES = st.binary(max_size=40) | st.sampled_from([b"multipart/mixed; boundary=b", b"1"])


@given(
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD", "BREW"]),
    path=st.lists(SEGMENTS, max_size=4).map(lambda segments: "/" + "/".join(segments)),
    query=st.text(),
    headers=st.dictionaries(HEADERS, VALUES),
    body=st.binary(),
)
def test_no_request_breaks_the_reader(
    method: str, path: str, query: str, headers: dict[bytes, bytes], body: bytes
) -> None:
    request = Request(method, path, query, headers, body)
    assert Mqs().body_rule(request).bytes_max > 0
    read = Mqs().read(request)
    assert not isinstance(read, Response) or read.status in {400, 404}
