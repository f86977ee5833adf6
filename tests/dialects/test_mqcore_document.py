"""The transcripts of MQ-Core leave out no answer that its document knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.transcripts.reader import Ask, Expect, read_transcript

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts" / "mqcore"

# Every request of the document with its statuses. What no whole request can bring about, 503 and the 400 of a
# body that cannot be read, is in the tests of the dialect.
DOCUMENT = {
    "GET /Q": {200, 404},
    "PUT /Q": {201},
    "DELETE /Q": {200},
    "GET /Q/messages": {200, 204},
    "POST /Q/messages": {201, 404},
    "DELETE /Q/messages/ID": {202},
}
OURS = {
    "PUT /Q": {400, 404},  # a reserved word; no name
    "DELETE /Q": {404},
    "GET /Q/messages": {404},
    "POST /Q/messages": {413},
    "DELETE /Q/messages/ID": {404},
}


def operation(ask: Ask) -> str:
    path = ask.target.text.decode().partition("?")[0]
    path = re.sub(r"^/[^/]+", "/Q", path)
    return f"{ask.method} {re.sub('^/Q/messages/[^/]+$', '/Q/messages/ID', path)}"


def answers() -> Iterator[tuple[str, int]]:
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        asked: dict[str, str] = {}
        for step in read_transcript(path).steps:
            if isinstance(step, Ask):
                asked[step.label] = operation(step)
            elif isinstance(step, Expect):
                yield asked[step.label], step.status


def test_every_status_of_every_request_is_in_a_transcript() -> None:
    seen = set(answers())
    wanted = {(name, status) for table in (DOCUMENT, OURS) for name in table for status in table[name]}
    assert wanted <= seen, sorted(wanted - seen)
