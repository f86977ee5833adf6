"""The transcripts of EmoDB leave out no request and no refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.transcripts.reader import Ask, Expect, read_transcript

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts" / "emodb"

# Every request with its statuses. 500 and 503 are ours: see the tests of the dialect.
REQUESTS = {
    "POST Q/send": {200, 400, 413, 415},
    "POST Q/sendbatch": {200, 400, 415},
    "POST _sendbatch": {200, 400, 415},
    "GET Q/poll": {200, 400},
    "POST Q/ack": {200, 400, 413, 415},
    "POST Q/renew": {200, 400, 413, 415},
    "GET Q/peek": {200, 400},
    "GET Q/size": {200, 400},
    "GET Q/claimcount": {200, 400},
    "POST Q/unclaimall": {200, 400},
    "DELETE Q": {200, 400},
    "POST _move": {200, 400},
    "GET _move/R": {200, 404},
    # Each path under a method that it does not take.
    "GET Q/send": {405},
    "PUT Q/sendbatch": {405},
    "GET _sendbatch": {405},
    "POST Q/poll": {405},
    "GET Q/ack": {405},
    "DELETE Q/renew": {405},
    "POST Q/peek": {405},
    "POST Q/size": {405},
    "DELETE Q/claimcount": {405},
    "GET Q/unclaimall": {405},
    "GET Q": {405},
    "GET _move": {405},
    "POST _move/R": {405},
}
SENTENCES = [
    b"Limit must be >0",
    b"Limit must be <=1000",
    b"ClaimTtl must be >=0",
    b"ClaimTtl must be <=1 hour",
    b'"abc" is not a number.',
    b"Missing message Ids",
    b"from is required",
    b"to is required",
    b"cannot move queue to itself",
]


def answered() -> Iterator[tuple[str, str, Expect]]:
    """Each answer of a transcript with the service and the request that it is to."""
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        asked: dict[str, Ask] = {}
        for step in read_transcript(path).steps:
            if isinstance(step, Ask):
                asked[step.label] = step
            elif isinstance(step, Expect):
                yield *service_and_request(asked[step.label]), step


def service_and_request(ask: Ask) -> tuple[str, str]:
    path = ask.target.text.decode().partition("?")[0]
    service, _, rest = path.lstrip("/").partition("/1/")
    rest = re.sub(r"^_move/.*$", "_move/R", rest)
    rest = re.sub(r"^(?!_move|_sendbatch)[^/]+", "Q", rest)
    return service, f"{ask.method} {rest}"


def test_every_status_of_every_request_is_in_a_transcript() -> None:
    seen = {(request, expect.status) for _, request, expect in answered()}
    wanted = {(request, status) for request, statuses in REQUESTS.items() for status in statuses}
    assert wanted <= seen, sorted(wanted - seen)


@pytest.mark.parametrize("service", ["queue", "dedupq"])
def test_both_services_have_every_request(service: str) -> None:
    seen = {request for of, request, expect in answered() if of == service and expect.status == 200}
    assert {request for request, statuses in REQUESTS.items() if 200 in statuses} <= seen


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_of_a_refusal_is_in_a_transcript(sentence: bytes) -> None:
    assert any(expect.body is not None and expect.body.text == sentence for _, _, expect in answered())
