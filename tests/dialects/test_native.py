"""Our own pages."""

from __future__ import annotations

import pytest

from penstock.core.commands import DescribeQueue
from penstock.core.model import QueueName
from penstock.core.outcomes import NoSuchQueue
from penstock.dialects.http import (
    HealthCheck,
    JournalLatest,
    JournalQuery,
    Problem,
    Request,
    Response,
)
from penstock.dialects.native import Native


def get(target: str, accept: bytes | None = None, method: str = "GET") -> object:
    path, _, query = target.partition("?")
    headers = {} if accept is None else {b"accept": accept}
    return Native().read(Request(method, path, query, headers))


def test_each_page_is_found_by_its_path() -> None:
    assert get("/health") == HealthCheck()
    assert get("/journal/latest") == JournalLatest()
    assert get("/journal") == JournalQuery(0, 10_000, as_arrow=True)


def test_the_journal_is_read_from_where_and_as_far_as_asked() -> None:
    assert get("/journal?after=17&limit=1") == JournalQuery(17, 1, as_arrow=True)
    assert get("/journal?limit=100000&after=9223372036854775807") == JournalQuery(
        2**63 - 1, 100_000, as_arrow=True
    )


@pytest.mark.parametrize("after", ["", "-1", "x", "1.0", "9223372036854775808", "1" + 40 * "0"])
def test_a_bad_start_is_refused(after: str) -> None:
    response = get(f"/journal?after={after}")
    assert isinstance(response, Response)
    assert (response.status, response.body) == (
        400,
        b'{"error":"after: expected a sequence number, 0 or more"}',
    )


@pytest.mark.parametrize("limit", ["", "0", "-1", "100001", "x", "1e3"])
def test_a_bad_limit_is_refused(limit: str) -> None:
    response = get(f"/journal?limit={limit}")
    assert isinstance(response, Response)
    assert (response.status, response.body) == (
        400,
        b'{"error":"limit: expected a number from 1 to 100000"}',
    )


@pytest.mark.parametrize(
    "accept",
    [
        b"application/json",
        b"application/x-ndjson",
        b"application/jsonl",
        b"Application/JSON; charset=utf-8",
        b"application/json, */*",
        b"text/html, application/x-ndjson;q=0.9, */*;q=0.8",
        b"application/vnd.apache.arrow.stream;q=0.5, application/jsonl",
    ],
)
def test_who_prefers_json_lines_gets_them(accept: bytes) -> None:
    assert get("/journal", accept) == JournalQuery(0, 10_000, as_arrow=False)


@pytest.mark.parametrize(
    "accept",
    [
        b"",
        b"*/*",
        b"application/*",
        b"text/html",
        b"application/vnd.apache.arrow.stream",
        b"application/json;q=0, */*",
        b"application/json;q=0.1, */*;q=0.2",
        b"application/json, application/vnd.apache.arrow.stream",
        b"application/json;q=nonsense, application/vnd.apache.arrow.stream",
        b"\xff;;q=,,=",
    ],
)
def test_everybody_else_gets_arrow(accept: bytes) -> None:
    assert get("/journal", accept) == JournalQuery(0, 10_000, as_arrow=True)


@pytest.mark.parametrize(
    "path", ["/", "/healthy", "/health/", "/journal/", "/journal/first", "/jobs", "/%68ealth"]
)
def test_there_is_nothing_at_any_other_path(path: str) -> None:
    response = get(path)
    assert isinstance(response, Response)
    assert (response.status, response.body) == (404, b'{"error":"There is nothing at this path"}')


@pytest.mark.parametrize("path", ["/health", "/journal", "/journal?after=x", "/journal/latest"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_page_can_only_be_read(method: str, path: str) -> None:
    response = get(path, method=method)
    assert isinstance(response, Response)
    assert response.status == 405
    assert (b"Allow", b"GET, HEAD") in response.headers


@pytest.mark.parametrize("problem", Problem)
def test_a_refusal_by_the_server_is_an_error_in_json(problem: Problem) -> None:
    response = Native().refuse(problem, "because")
    assert (response.status, response.body) == (problem.value, b'{"error":"because"}')


def test_no_page_is_a_command() -> None:
    name = QueueName("default", "jobs")
    with pytest.raises(AssertionError):
        Native().write(DescribeQueue(name), NoSuchQueue(name), 0)


def test_no_page_takes_a_large_body() -> None:
    assert Native().body_rule(Request("POST", "/health", "", {})).bytes_max == 64 * 1024
