r"""Transcripts: what a client sends and what it gets, literally, in a text that a person can read.

    | A comment: why this is so.
    ! oversize = "reject"                 a setting of the dialect, before anything else

    > POST /messages/jobs                 a request: its line, headers, an empty line, its body
    > Content-Type: text/plain
    >
    > hello
    < 201                                 its answer: status, headers, an empty line, the body
    < Content-Type: text/plain
    < no X-TRACE-ID                       this header is not there
    <
    < hello

    @ +30s                                the clock moves; it stands still otherwise. Also ms, m, h, d

    > [slow] GET /messages/jobs           a request whose answer may come later …
    < [slow] waits                        … not yet …
    < [slow] 204                          … now

Headers that are not mentioned may be there or not. A body that is not mentioned is empty; `< ...` is any.
Lines of a body are joined by line feeds. Two kinds of line are bytes with nothing added:

    >\ --frontier\r\n                     with the escapes of Python
    >* 1048576 x                          the same many times over; escapes too

Gaps such as `{id}` are explained in `template`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.transcripts.template import Template

_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FIRST = re.compile(r"(?:\[(?P<label>[a-z0-9-]+)\] )?(?P<rest>.*)")


class Ask(NamedTuple):
    """A request. Without a label its answer is expected at once."""

    line: int
    label: str
    method: str
    target: Template
    headers: list[tuple[str, Template]]
    body: Template


class Expect(NamedTuple):
    """An answer."""

    line: int
    label: str
    status: int
    headers: list[tuple[str, Template]]
    absent: list[str]
    body: Template | None  # None: any


class Waits(NamedTuple):
    """There is no answer yet."""

    line: int
    label: str


class MoveClock(NamedTuple):
    """Time passes."""

    line: int
    milliseconds: int


Step = Ask | Expect | Waits | MoveClock


class Transcript(NamedTuple):
    """One file."""

    path: Path
    settings: dict[str, str | int | float | bool]
    steps: list[Step]


class TranscriptError(Exception):
    """A transcript that cannot be read."""


class _Line(NamedTuple):
    number: int
    mark: str  # ">" or "<", "!" or "@"
    kind: str  # " ": text · "\\": with escapes · "*": repeated
    text: str


def read_transcript(path: Path) -> Transcript:
    """Read a file."""
    settings: dict[str, str | int | float | bool] = {}
    steps: list[Step] = []
    for block in _blocks(path):
        first = block[0]
        match first.mark:
            case "!":
                name, _, value = first.text.partition("=")
                settings[name.strip()] = msgspec.json.decode(value.strip(), type=str | int | float | bool)
            case "@":
                steps.append(MoveClock(first.number, _milliseconds(first)))
            case ">":
                steps.append(_read_ask(block))
            case _:
                steps.append(_read_expect(block))
    return Transcript(path, settings, steps)


def _blocks(path: Path) -> Iterator[list[_Line]]:
    """The lines of one request or answer together."""
    block: list[_Line] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        is_part = text[:1] in {">", "<"}
        if block and not (is_part and text[0] == block[0].mark):
            yield block
            block = []
        if is_part:
            block.append(_read_line(number, text))
        elif text[:1] in {"!", "@"}:
            yield [_Line(number, text[0], " ", text[1:].strip())]
        elif text.strip() and not text.startswith("|"):
            raise TranscriptError(f"{path}:{number}: a line begins with one of | ! > < @")
    if block:
        yield block


def _read_line(number: int, text: str) -> _Line:
    kind = text[1:2] or " "
    if kind not in {" ", "\\", "*"} or text[2:3] not in {"", " "}:
        kind = " " if text[1:2] == " " else "?"
    if kind == "?":
        raise TranscriptError(f"line {number}: {text[0]} is followed by a blank, by \\ or by *")
    return _Line(number, text[0], kind, text[2:] if kind == " " else text[3:])


def _milliseconds(line: _Line) -> int:
    span = re.fullmatch(r"\+(\d+)(ms|s|m|h|d)", line.text)
    if span is None:
        raise TranscriptError(f"line {line.number}: {line.text!r} is not a span such as +30s")
    return int(span[1]) * _MILLISECONDS[span[2]]


def _read_ask(block: list[_Line]) -> Step:
    label, rest = _label_and_rest(block[0])
    method, _, target = rest.partition(" ")
    head, body = _head_and_body(block[1:])
    headers = [_read_header(line) for line in head]
    return Ask(block[0].number, label, method, Template(target.encode()), headers, Template(_joined(body)))


def _read_expect(block: list[_Line]) -> Step:
    number = block[0].number
    label, rest = _label_and_rest(block[0])
    if rest == "waits":
        return Waits(number, label)
    head, body = _head_and_body(block[1:])
    absent = [line.text.removeprefix("no ") for line in head if line.text.startswith("no ")]
    is_any = any(line.text == "..." for line in head)
    headers = [_read_header(line) for line in head if ":" in line.text]
    return Expect(number, label, int(rest), headers, absent, None if is_any else Template(_joined(body)))


def _label_and_rest(line: _Line) -> tuple[str, str]:
    found = _FIRST.fullmatch(line.text)
    assert found is not None, "the pattern fits everything"
    return found["label"] or "", found["rest"]


def _head_and_body(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    for at, line in enumerate(lines):
        if line.kind == " " and not line.text:
            return lines[:at], lines[at + 1 :]
    return lines, []


def _read_header(line: _Line) -> tuple[str, Template]:
    name, colon, value = line.text.partition(":")
    if not colon:
        raise TranscriptError(f"line {line.number}: {line.text!r} is not a header")
    return name, Template(_bytes_of(line._replace(text=value.strip())))


def _joined(lines: list[_Line]) -> bytes:
    pieces: list[bytes] = []
    before = ""
    for line in lines:
        if before == line.kind == " ":
            pieces.append(b"\n")
        pieces.append(_bytes_of(line))
        before = line.kind
    return b"".join(pieces)


def _bytes_of(line: _Line) -> bytes:
    match line.kind:
        case " ":
            return line.text.encode()
        case "\\":
            return _unescaped(line.text)
        case _:
            times, _, text = line.text.partition(" ")
            return _unescaped(text) * int(times)


def _unescaped(text: str) -> bytes:
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")
