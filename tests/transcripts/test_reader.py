"""A transcript that does not hold is found out, and one that cannot be read says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.dialects.mqs.dialect import Mqs
from tests.transcripts.player import play
from tests.transcripts.reader import Ask, TranscriptError, read_transcript
from tests.transcripts.socketless import SocketlessStage
from tests.transcripts.template import Template

SETTING = """
> PUT /queues/jobs
>
> {"retention_timeout": 60, "visibility_timeout": 30}
< 201
< ...

> POST /messages/jobs
> Content-Type: text/plain
>
> one
< 201

"""
RECEIVED = """
> GET /messages/jobs
< 200
< Content-Type: text/plain
< X-MQS-MESSAGE-ID: {id:uuid}
< no X-TRACE-ID
<
< one

> DELETE /messages/{id}
< 204
"""


def play_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    play(read_transcript(path), SocketlessStage([Mqs()]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def test_a_transcript_that_holds_is_silent(path: Path) -> None:
    play_text(path, SETTING + RECEIVED)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("< 204", "< 200"),
        ("< Content-Type: text/plain", "< Content-Type: text/html"),
        ("< Content-Type: text/plain", "< Content-Encoding: gzip"),
        ("< no X-TRACE-ID", "< no Content-Type"),
        ("{id:uuid}", "{id:ulid}"),
        ("<\n< one", "<\n< two"),
        ("<\n< one", ""),
        ("<\n< one", "<\n< one\n< "),
    ],
)
def test_a_transcript_that_does_not_hold_fails_where_it_does_not(path: Path, right: str, wrong: str) -> None:
    assert right in RECEIVED
    with pytest.raises(AssertionError, match=r"a\.txt:\d+: "):
        play_text(path, SETTING + RECEIVED.replace(right, wrong))


def test_an_answer_that_is_there_does_not_wait(path: Path) -> None:
    with pytest.raises(AssertionError, match=r"a\.txt:\d+: answered already"):
        play_text(path, SETTING + "> [a] GET /messages/jobs\n< [a] waits\n")


@pytest.mark.parametrize("text", ["PUT /queues/a", ">PUT /queues/a", "> GET /\n> nonsense", "@ 30s", "@ +30"])
def test_what_cannot_be_read_is_said(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TranscriptError):
        read_transcript(path)


def test_lines_of_a_body_are_joined_and_special_ones_are_bytes(path: Path) -> None:
    path.write_text("> POST /\n>\n> a\n> b\n>\\ \\r\\n\\xff\n>* 3 xy\n> c\n>\n> d", encoding="utf-8")
    ask = read_transcript(path).steps[0]
    assert isinstance(ask, Ask)
    assert ask.body.text == b"a\nb\r\n\xffxyxyxyc\n\nd"


def test_a_gap_is_filled_with_what_it_took_before() -> None:
    taken: dict[str, bytes] = {}
    assert Template(b"{a}, {b:number}, {a}").take(b"x, 7, x", taken)
    assert taken == {"a": b"x", "b": b"7"}
    assert Template(b"/{b}/{a}").filled(taken) == b"/7/x"
    assert not Template(b"{a}").take(b"y", taken)
    assert not Template(b"{c}{c}").take(b"xy", taken)
