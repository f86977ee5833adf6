"""The documents say what the transcripts do: all of it, and nothing else."""

from __future__ import annotations

import pytest

from tests.openapi.documents import NAMES, Operation, document, path_of
from tests.openapi.exchanges import Exchange, of_dialect

each_dialect = pytest.mark.parametrize("dialect", NAMES)

# What a request gets that is none of the operations.
STATUSES_OF_NOTHING = {
    "emodb": {404, 405},
    "lmstfy": {404},
    "lmstfy-admin": {404},
    "mqcore": {404},
    "mqs": {404},
    "native": {404, 405, 413},
}

KEYS = "needs keys in use; test_refusals has the answer, tests/keys the cases"
FAULT = "needs a fault; test_refusals has the answer, tests/server and tests/crash the faults"
NOT_IN_TRANSCRIPTS = {401: KEYS, 403: KEYS, 429: KEYS, 500: FAULT, 503: FAULT}
NOT_THERE_EITHER = {
    ("mqcore", "POST /{queue}/messages", 400): "needs a body that is not HTTP: test_refusals",
}


def operation_of(exchange: Exchange) -> Operation | None:
    question = exchange.question
    return document(exchange.dialect).operation_for(question.method, path_of(question.target))


@each_dialect
def test_every_request_of_the_transcripts_is_described(dialect: str) -> None:
    unknown = [exchange for exchange in of_dialect(dialect) if operation_of(exchange) is None]
    undescribed = [
        str(exchange) for exchange in unknown if exchange.answer.status not in STATUSES_OF_NOTHING[dialect]
    ]
    assert undescribed == []


@each_dialect
def test_every_answer_of_the_transcripts_is_as_described(dialect: str) -> None:
    differences = [
        f"{exchange}: {complaint}"
        for exchange in of_dialect(dialect)
        if (operation := operation_of(exchange)) is not None
        for complaint in document(dialect).complaints(operation, exchange.answer)
    ]
    assert differences == []


@each_dialect
def test_every_described_status_occurs_in_a_transcript(dialect: str) -> None:
    seen = {
        (str(operation), exchange.answer.status)
        for exchange in of_dialect(dialect)
        if (operation := operation_of(exchange)) is not None
    }
    described = {
        (str(operation), status)
        for operation in document(dialect).operations
        for status in document(dialect).responses(operation)
        if status not in NOT_IN_TRANSCRIPTS
    }
    excused = {(operation, status) for name, operation, status in NOT_THERE_EITHER if name == dialect}
    assert described - seen == excused


@each_dialect
def test_every_described_parameter_is_used_in_a_transcript(dialect: str) -> None:
    used = {
        (str(operation), name)
        for exchange in of_dialect(dialect)
        if (operation := operation_of(exchange)) is not None
        for name in names_given(exchange)
    }
    described = {
        (str(operation), parameter["name"].lower())
        for operation in document(dialect).operations
        for parameter in document(dialect).parameters(operation)
        if parameter["in"] != "path"
    }
    assert described - used == set()


def names_given(exchange: Exchange) -> set[str]:
    """The names of a request's parameters and headers."""
    query = exchange.question.target.partition("?")[2]
    given = {pair.partition("=")[0].lower() for pair in query.split("&")}
    return given | {name.lower() for name, _ in exchange.question.headers}
