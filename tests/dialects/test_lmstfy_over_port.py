"""What lmstfy promises of bodies that cannot be read and of the headers that the server adds."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.dialects.lmstfy.dialect import Lmstfy
from tests.transcripts.over_port import OverPortStage

PATIENCE_S = 10.0
ULID = rb"X-Request-ID: [0-7][0-9A-HJKMNP-TV-Z]{25}\r\n"
SIZE = b"GET /api/ns/jobs/size HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
EMPTY = b'{"namespace":"ns","queue":"jobs","size":0}'


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[OverPortStage]:
    with OverPortStage([Lmstfy()], tmp_path) as running:
        yield running


def answer(stage: OverPortStage, sent: bytes) -> bytes:
    """All that comes back to these bytes when nothing follows them."""
    with socket.create_connection(stage.address, PATIENCE_S) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    "sent",
    [b"Content-Length: 10\r\n\r\nshort", b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n"],
    ids=["ends early", "not in chunks"],
)
def test_a_body_that_cannot_be_read_publishes_nothing(stage: OverPortStage, sent: bytes) -> None:
    said = answer(stage, b"PUT /api/ns/jobs HTTP/1.1\r\nHost: h\r\n" + sent)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.endswith(b'\r\n\r\n{"error":"failed to read body"}')
    assert answer(stage, SIZE).endswith(EMPTY)


def test_a_body_that_is_announced_as_too_large_is_not_waited_for(stage: OverPortStage) -> None:
    said = answer(stage, b"PUT /api/ns/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 65536\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413 ")
    assert said.endswith(b'\r\n\r\n{"error":"body too large"}')
    assert answer(stage, SIZE).endswith(EMPTY)


@pytest.mark.parametrize(
    "line",
    [b"GET /api/ns/jobs/size", b"GET /api/ns/jobs", b"DELETE /api/ns/jobs", b"GET /api/n.s/jobs", b"GET /"],
)
def test_every_answer_has_a_request_id(stage: OverPortStage, line: bytes) -> None:
    assert re.search(ULID, answer(stage, line + b" HTTP/1.1\r\nHost: h\r\n\r\n"))
