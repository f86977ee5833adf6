"""The transcripts of mqs leave out no answer that its document knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.transcripts.reader import Ask, Expect, read_transcript

# Every operation of the document with its statuses. 500 is a fault of ours: see the tests of the dialect.
DOCUMENT = {
    "PUT /queues/Q": {201, 400, 409},
    "POST /queues/Q": {200, 400, 404},
    "DELETE /queues/Q": {200, 404},
    "GET /queues": {200, 400},
    "GET /queues/Q": {200, 404},
    "POST /messages/X": {200, 201, 404},
    "GET /messages/X": {200, 204, 404},
    "DELETE /messages/X": {204, 400, 404},
}
EXTENSIONS = {
    "POST /messages/X": {400, 413},  # multipart and trace ids; oversize = "reject"
    "GET /messages/X": {400},  # how many, and how long to wait
    "DELETE /messages/X": {200},  # delete_status = 200
    "GET /health": {200},
}


def operation(ask: Ask) -> str:
    path = ask.target.text.decode().partition("?")[0]
    path = re.sub(r"^/queues/[^/]*$", "/queues/Q", path)
    return f"{ask.method} {re.sub('^/messages/[^/]*$', '/messages/X', path)}"


def answers() -> Iterator[tuple[str, int]]:
    for path in sorted((Path(__file__).parent / "mqs").glob("*.txt")):
        asked: dict[str, str] = {}
        for step in read_transcript(path).steps:
            if isinstance(step, Ask):
                asked[step.label] = operation(step)
            elif isinstance(step, Expect):
                yield asked[step.label], step.status


def test_every_status_of_every_operation_is_in_a_transcript() -> None:
    seen = set(answers())
    wanted = {(name, status) for table in (DOCUMENT, EXTENSIONS) for name in table for status in table[name]}
    assert wanted <= seen, sorted(wanted - seen)
