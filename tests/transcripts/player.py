"""Plays a transcript to something that answers requests, and says where the answers differ."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol, assert_never

from tests.transcripts.reader import Ask, Expect, MoveClock, Transcript, Waits

STARTS_AT_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z, so that times can be written out


class Question(NamedTuple):
    """A request with its gaps filled."""

    method: str
    target: str
    headers: list[tuple[str, bytes]]
    body: bytes


class Answer(NamedTuple):
    """What came back; names of headers in lower case."""

    status: int
    headers: dict[str, bytes]
    body: bytes


class Stage(Protocol):
    """Where a transcript is played."""

    def ask(self, label: str, question: Question) -> None:
        """Send a request."""
        ...

    def answer(self, label: str) -> Answer:
        """The answer, waited for if it takes a moment."""
        ...

    def has_answer(self, label: str) -> bool:
        """Whether the answer is there by now."""
        ...

    def move_clock(self, milliseconds: int) -> None:
        """Let time pass, and everything happen that then is due."""
        ...


def play(transcript: Transcript, stage: Stage) -> None:
    """Play all steps."""
    taken: dict[str, bytes] = {}
    for step in transcript.steps:
        match step:
            case Ask():
                stage.ask(step.label, _filled(step, taken))
            case Expect():
                _compare(transcript.path, step, stage.answer(step.label), taken)
            case Waits():
                assert not stage.has_answer(step.label), f"{transcript.path}:{step.line}: answered already"
            case MoveClock():
                stage.move_clock(step.milliseconds)
            case _:
                assert_never(step)


def _filled(ask: Ask, taken: dict[str, bytes]) -> Question:
    headers = [(name, value.filled(taken)) for name, value in ask.headers]
    return Question(ask.method, ask.target.filled(taken).decode(), headers, ask.body.filled(taken))


def _compare(path: Path, expect: Expect, answer: Answer, taken: dict[str, bytes]) -> None:
    at = f"{path}:{expect.line}"
    assert answer.status == expect.status, f"{at}: {answer}"
    for name, value in expect.headers:
        found = answer.headers.get(name.lower())
        assert found is not None, f"{at}: there is no {name}: {answer}"
        assert value.take(found, taken), f"{at}: {name} is {found!r}, not {value.text!r}"
    for name in expect.absent:
        assert name.lower() not in answer.headers, f"{at}: there is a {name}: {answer}"
    if expect.body is not None:
        is_same = expect.body.take(answer.body, taken)
        assert is_same, f"{at}: the body is\n{_short(answer.body)}, not\n{_short(expect.body.text)}"


def _short(body: bytes) -> str:
    return repr(body) if len(body) <= 2000 else f"{body[:1000]!r} … ({len(body)} bytes)"
