"""Requests that nobody has thought of, made from the documents, right ones and wrong ones.

Whatever is sent, the answer is no fault, its status is described, and its headers and body are as described.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.openapi.documents import FOLDER, NAMES, Operation, document
from tests.openapi.service import Service

ADMINISTRATION = "lmstfy-admin"  # its first token brings keys into use, so it has a server of its own
EXAMPLES = 30  # for each operation and mode
AS_DESCRIBED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
MATTERS_OF_HTTP = (414, 431)  # of any path, and so of none; each document says so at its top
# Why a request is refused that is right as far as a schema can tell.
BEYOND_A_SCHEMA = (
    "Expected `int`, got `float`",  # to a schema 1.0 is a whole number
    "there is no queue",
    "ttl is shorter than delay",
    "cannot move queue to itself",
    "invalid description",  # it is needed, here or there
    "there is such a key already",
    "the token has a limit already",
)
WAITS = ("timeout", "X-MQS-MAX-WAIT-TIME")

pytestmark = pytest.mark.slow

RIGHT, WRONG = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ANY_TEXT_IS_RIGHT = {"/_move/{reference}"}


def has_something_to_be_wrong(dialect: str, operation: Operation) -> bool:
    has_any = bool(document(dialect).parameters(operation) or "requestBody" in operation.node)
    return has_any and operation.path not in ANY_TEXT_IS_RIGHT


each_operation = pytest.mark.parametrize(
    ("dialect", "asked", "mode"),
    [
        pytest.param(name, operation, mode, id=f"{name}: {operation} {mode.value}")
        for name in NAMES
        for operation in document(name).operations
        for mode in (RIGHT, WRONG)
        if mode is RIGHT or has_something_to_be_wrong(name, operation)
    ],
)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Service]]:
    """For each dialect the service that speaks it."""
    open_to_all = [name for name in NAMES if name != ADMINISTRATION]
    with (
        Service(tmp_path_factory.mktemp("open"), open_to_all) as service,
        Service(tmp_path_factory.mktemp("keys"), [ADMINISTRATION]) as keys,
    ):
        yield dict.fromkeys(open_to_all, service) | {ADMINISTRATION: keys}


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One connection for many requests: a new one for each takes as long as all the rest."""
    with requests.Session() as session:
        yield session


@each_operation
def test_every_answer_is_as_described(
    dialect: str,
    asked: Operation,
    mode: GenerationMode,
    services: dict[str, Service],
    session: requests.Session,
) -> None:
    service = services[dialect]
    schema = schemathesis.openapi.from_path(FOLDER / f"{dialect}.json")
    operation = schema[asked.path][asked.method]
    home = service.furnish(dialect)
    base = document(dialect).bases[0 if mode is RIGHT else -1]
    base_url = f"http://127.0.0.1:{service.ports[dialect]}{base}"

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode), st.sampled_from([home, {}]))
    def ask(case: Case[Any], names: dict[str, str]) -> None:
        cut_waits(case)
        use_names(case, names)
        response = case.call(base_url, session)
        if response.status_code not in MATTERS_OF_HTTP:
            case.validate_response(response, AS_DESCRIBED)
        if mode is RIGHT and response.status_code == 400 and asked.method != "head":
            assert any(reason in response.text for reason in BEYOND_A_SCHEMA), response.text

    ask()


def cut_waits(case: Case[Any]) -> None:
    """Nobody has the time that a consumer may ask for."""
    for given_values in (case.query, case.headers):
        for name in WAITS:
            if str(given_values.get(name, "")).isdigit():
                given_values[name] = "0"


def use_names(case: Case[Any], names: dict[str, str]) -> None:
    """Ask for what is there; a name made up is hardly ever one that is."""
    if case.operation.label == "DELETE /messages/{target}" and names:
        names = names | {"target": names["message_id"]}
    for name in case.path_parameters:
        case.path_parameters[name] = names.get(name, case.path_parameters[name])
