"""What the server itself refuses, in each dialect's words, is as described for every operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.config import Config
from penstock.dialects.http import Denial, Problem, Response
from penstock.dialects.lmstfy.admin import LmstfyAdmin
from penstock.wiring import dialects
from tests.openapi.documents import Operation, document
from tests.transcripts.player import Answer

SPOKEN = dialects(Config()) | {LmstfyAdmin.name: LmstfyAdmin(is_local=False)}
each_dialect = pytest.mark.parametrize("name", SPOKEN)


def answer_of(response: Response) -> Answer:
    headers = {name.decode().lower(): value for name, value in response.headers}
    return Answer(response.status, headers, response.body)


def guarded(name: str) -> Iterator[Operation]:
    """The operations that a key is needed for, where there are keys, and that can fail with the store."""
    for operation in document(name).operations:
        if operation.node.get("security") != [{}]:
            yield operation


@each_dialect
@pytest.mark.parametrize("denial", Denial)
def test_every_denial_is_described(name: str, denial: Denial) -> None:
    answer = answer_of(SPOKEN[name].deny(denial))
    if denial is Denial.TOO_MANY:
        answer.headers["retry-after"] = b"1"  # added by the server, which knows how long
    assert_as_described(name, answer)


@each_dialect
@pytest.mark.parametrize("problem", [Problem.INTERNAL, Problem.UNAVAILABLE])
def test_every_fault_is_described(name: str, problem: Problem) -> None:
    assert_as_described(name, answer_of(SPOKEN[name].refuse(problem, "why")))


@each_dialect
def test_a_body_that_is_too_large_is_described_where_a_body_is(name: str) -> None:
    answer = answer_of(SPOKEN[name].refuse(Problem.BODY_TOO_LARGE, "why"))
    takes_body = {str(operation) for operation in guarded(name) if "requestBody" in operation.node}
    described = {str(operation) for operation in guarded(name) if 413 in document(name).responses(operation)}
    assert described == takes_body
    for operation in guarded(name):
        if str(operation) in described:
            assert list(document(name).complaints(operation, answer, is_whole=False)) == []


@each_dialect
def test_what_is_not_http_is_refused_as_any_bad_request(name: str) -> None:
    answer = answer_of(SPOKEN[name].refuse(Problem.UNREADABLE, "why"))
    for operation in guarded(name):
        if 400 in document(name).responses(operation):
            assert list(document(name).complaints(operation, answer, is_whole=False)) == []


def assert_as_described(name: str, answer: Answer) -> None:
    for operation in guarded(name):
        complaints = list(document(name).complaints(operation, answer, is_whole=False))
        assert complaints == [], operation
