"""The corners of lmstfy that no transcript can show. The rest is in its transcripts."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    DescribeQueue,
    Inspect,
    Peek,
    Publish,
    Respawn,
)
from penstock.core.ids import make_id, to_ulid, to_uuid
from penstock.core.model import Content, Counts, MoveState, Phase, QueueName, Settings
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    Delivery,
    MoveShown,
    NoSuchMove,
    Outcome,
    Published,
    PublishedAll,
    QueueExists,
    QueueShown,
    QueuesListed,
    Receipt,
    Refused,
    Renewed,
    Unavailable,
    Unfinished,
)
from penstock.dialects.http import BodyRule, Problem, Request, Response
from penstock.dialects.lmstfy import requests as lmstfy_requests
from penstock.dialects.lmstfy.answers import BulkPublish, CountDeadLetter
from penstock.dialects.lmstfy.dialect import Lmstfy

JOBS = QueueName("ns", "jobs")
JOB_ID = make_id(1_704_067_200_000, 7, 0xABCDEF)
KIB = 1024
MIB = 1024 * KIB


def request(method: str, path: str, query: str = "", body: bytes = b"") -> Request:
    return Request(method, path, query, {}, body)


def read(method: str, path: str, query: str = "", body: bytes = b"") -> Command | Response:
    asked = Lmstfy().read(request(method, path, query, body))
    assert isinstance(asked, Command | Response)
    return asked


def delivery(body: bytes = b"x", expires_at_ms: int | None = None, tries_left: int | None = 0) -> Delivery:
    return Delivery(JOB_ID, JOBS, Content(body), Phase.CLAIMED, 30_000, 0, expires_at_ms, tries_left, 1, 1)


def published(command: Command | Response) -> tuple[bytes, ...]:
    assert isinstance(command, Publish)
    assert isinstance(command.drafts, tuple)
    return tuple(draft.content.body for draft in command.drafts)


# Reading


@pytest.mark.parametrize(
    "path", ["/api/ns/jobs", "/api/ns/jobs/job/x", "/api/ns/bulk", "/api/ns/jobs/deadletter", "/api/bulk"]
)
def test_one_job_must_be_smaller_than_the_limit(path: str) -> None:
    assert Lmstfy().body_rule(request("PUT", path)) == BodyRule(64 * KIB - 1)
    assert Lmstfy(max_body=MIB).body_rule(request("PUT", path)) == BodyRule(MIB - 1)


def test_a_bulk_of_64_of_the_largest_jobs_is_read() -> None:
    bulk = request("PUT", "/api/ns/jobs/bulk", body=b"[" + b",".join([b"1" * (64 * KIB - 1)] * 64) + b"]")
    assert len(bulk.body) <= Lmstfy().body_rule(bulk).bytes_max
    assert len(published(Lmstfy().read(bulk))) == 64


def test_no_request_may_be_larger_than_the_server_allows() -> None:
    dialect = Lmstfy(max_body=MIB, body_bytes_max=1000)
    assert dialect.body_rule(request("PUT", "/api/ns/jobs")) == BodyRule(1000)
    assert dialect.body_rule(request("PUT", "/api/ns/jobs/bulk")) == BodyRule(1000)


@pytest.mark.parametrize(
    "text", [to_ulid(JOB_ID), to_ulid(JOB_ID).lower(), to_uuid(JOB_ID), JOB_ID.hex().upper()]
)
def test_an_id_is_read_in_either_writing_and_any_case(text: str) -> None:
    assert read("DELETE", f"/api/ns/jobs/job/{text}") == Acknowledge(
        "ns", "jobs", (JOB_ID,), dialect="lmstfy"
    )
    assert read("GET", f"/api/ns/jobs/job/{text}") == Inspect(JOBS, JOB_ID, dialect="lmstfy")


def test_an_encoded_id_is_the_same_id() -> None:
    encoded = "".join(f"%{ord(letter):02x}" for letter in to_ulid(JOB_ID))
    assert read("GET", f"/api/ns/jobs/job/{encoded}") == Inspect(JOBS, JOB_ID, dialect="lmstfy")


def test_a_bulk_of_one_stays_a_bulk() -> None:
    assert isinstance(read("PUT", "/api/ns/jobs/bulk", body=b"[1]"), BulkPublish)


def test_a_queue_that_is_named_twice_is_asked_once() -> None:
    claim = read("GET", "/api/ns/jobs,other,jobs")
    assert isinstance(claim, Claim)
    assert claim.names == (JOBS, QueueName("ns", "other"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
blanks = st.text(" \t\r\n", max_size=3).map(str.encode)


@given(st.lists(st.tuples(blanks, json_values, blanks), min_size=1, max_size=64))
def test_each_job_of_a_bulk_has_the_bytes_of_its_element(parts: list[tuple[bytes, object, bytes]]) -> None:
    elements = [msgspec.json.format(msgspec.json.encode(value), indent=3) for _, value, _ in parts]
    padded = [before + element + after for (before, _, after), element in zip(parts, elements, strict=True)]
    assert published(read("PUT", "/api/ns/jobs/bulk", body=b"[" + b",".join(padded) + b"]")) == tuple(
        elements
    )


@given(
    st.sampled_from(["GET", "PUT", "DELETE"]),
    st.text(max_size=20) | st.sampled_from(["/peek", "/bulk", "/deadletter", "/job/1"]),
    st.text(max_size=20),
    st.binary(max_size=20),
)
def test_no_request_makes_it_fail(method: str, rest: str, query: str, body: bytes) -> None:
    asked = read(method, f"/api/ns/jobs{rest}", query, body)
    assert isinstance(asked, Command) or 400 <= asked.status < 500 or asked.status == 204


def test_what_is_remembered_of_requests_is_bounded() -> None:
    long_query, long_name = "ttl=60&pad=" + "x" * 8000, "x" * 8000
    caches = (lmstfy_requests._checked_name, lmstfy_requests._terms_of, lmstfy_requests._wish_of)  # noqa: SLF001
    before = [cache.cache_info().currsize for cache in caches]
    assert isinstance(read("PUT", "/api/ns/jobs", long_query), Publish)
    assert isinstance(read("GET", "/api/ns/jobs", long_query), Claim)
    assert isinstance(read("GET", f"/api/{long_name}/jobs"), Response)
    assert [cache.cache_info().currsize for cache in caches] == before
    assert all(cache.cache_info().maxsize is not None for cache in caches)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/ns/jobs"),
        ("PUT", "/api/ns/jobs/bulk"),
        ("PUT", f"/api/ns/jobs/job/{to_ulid(JOB_ID)}"),
        ("PUT", "/api/ns/jobs/job/unknown"),
        ("PUT", "/api/ns/jobs/deadletter"),
        ("GET", "/api/ns/jobs"),
        ("GET", "/api/ns/jobs/peek"),
        ("GET", f"/api/ns/jobs/job/{to_ulid(JOB_ID)}"),
        ("GET", "/api/ns/jobs/size"),
        ("GET", "/api/ns/jobs/deadletter"),
        ("GET", "/api/ns/jobs/deadletter/size"),
        ("DELETE", "/api/ns/jobs"),
        ("DELETE", f"/api/ns/jobs/job/{to_ulid(JOB_ID)}"),
        ("DELETE", "/api/ns/jobs/deadletter"),
    ],
)
def test_the_journal_hears_which_dialect_asked(method: str, path: str) -> None:
    asked = read(method, path, body=b"[1]")
    assert isinstance(asked, Command)
    assert asked.dialect == "lmstfy"


# Writing

ANSWERS: list[tuple[Command, Outcome]] = [
    (Publish(JOBS, ()), Published((Receipt(JOB_ID, is_new=True),))),
    (BulkPublish(JOBS, ()), Published((Receipt(JOB_ID, is_new=True),))),
    (Claim((JOBS,)), Delivered((delivery(),))),
    (Claim((JOBS,), limit=2), Delivered((delivery(), delivery()))),
    (Peek(JOBS), Delivered((delivery(),))),
    (DescribeQueue(JOBS), QueueShown(JOBS, Settings(), Counts(ready=1), None)),
    (CountDeadLetter(JOBS), QueueShown(JOBS, Settings(), Counts(dead=1), None)),
    (
        DescribeQueue(JOBS, with_dead_head=True),
        QueueShown(JOBS, Settings(), Counts(dead=1), None, dead_head=JOB_ID),
    ),
    (Respawn(JOBS, 1, None), Counted(1)),
]


@pytest.mark.parametrize(("command", "outcome"), ANSWERS)
def test_keys_are_in_alphabetical_order(command: Command, outcome: Outcome) -> None:
    response = Lmstfy().write(command, outcome, 0)
    decoded = msgspec.json.decode(response.body)
    for answer in decoded if isinstance(decoded, list) else [decoded]:
        assert list(answer) == sorted(answer)
    assert dict(response.headers)[b"Content-Type"] == b"application/json; charset=utf-8"


@given(st.binary(max_size=100))
def test_any_body_comes_back_as_base64(body: bytes) -> None:
    response = Lmstfy().write(Claim((JOBS,)), Delivered((delivery(body),)), 0)
    assert base64.b64decode(msgspec.json.decode(response.body)["data"], validate=True) == body


@pytest.mark.parametrize(
    ("left_ms", "ttl"), [(1, 1), (499, 1), (1499, 1), (1500, 2), (10_000, 10), (-5000, 1), (None, 0)]
)
def test_ttl_is_rounded_to_the_nearest_second_but_never_to_for_ever(left_ms: int | None, ttl: int) -> None:
    expires_at_ms = None if left_ms is None else 50_000 + left_ms
    response = Lmstfy().write(Peek(JOBS), Delivered((delivery(expires_at_ms=expires_at_ms),)), 50_000)
    assert msgspec.json.decode(response.body)["ttl"] == ttl


@pytest.mark.parametrize(
    ("outcome", "status", "body"),
    [
        (Refused("no"), 400, b'{"error":"no"}'),
        (Crashed(), 500, b'{"error":"internal error"}'),
        (Unavailable(), 503, b'{"error":"service unavailable"}'),
    ],
)
def test_what_went_wrong_is_said_as_an_error(outcome: Outcome, status: int, body: bytes) -> None:
    response = Lmstfy().write(Peek(JOBS), outcome, 0)
    assert (response.status, response.body) == (status, body)


@pytest.mark.parametrize(
    "outcome",
    [
        PublishedAll(()),
        Renewed(()),
        QueuesListed(0, ()),
        QueueExists(JOBS),
        MoveShown(MoveState("r", JOBS, JOBS, 1, 1, 1)),
        NoSuchMove("r"),
        Unfinished(Peek(JOBS)),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_an_outcome_that_nothing_here_has_is_a_bug(outcome: Outcome) -> None:
    with pytest.raises(AssertionError):
        Lmstfy().write(Peek(JOBS), outcome, 0)


@pytest.mark.parametrize(
    ("problem", "body"),
    [
        (Problem.BODY_TOO_LARGE, b'{"error":"body too large"}'),
        (Problem.UNREADABLE, b'{"error":"failed to read body"}'),
        (Problem.INTERNAL, b'{"error":"internal error"}'),
        (Problem.UNAVAILABLE, b'{"error":"service unavailable"}'),
    ],
)
def test_what_the_server_refuses_is_said_in_the_words_of_lmstfy(problem: Problem, body: bytes) -> None:
    response = Lmstfy().refuse(problem, "in our own words")
    assert (response.status, response.body) == (problem.value, body)
    assert (b"Retry-After" in dict(response.headers)) == (problem is Problem.UNAVAILABLE)
