"""Every request of every transcript with the answer that it really gets, over a port.

Beside the transcripts of the dialects there are a few in here, for what is described and nobody asks there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from penstock.keys.file import KeyFile
from penstock.server.routing import Router
from tests.transcripts.over_port import OverPortStage
from tests.transcripts.player import Answer, Question, play
from tests.transcripts.reader import Transcript, read_transcript
from tests.transcripts.speakers import speakers

HERE = Path(__file__).parent
FOLDERS = (HERE.parent / "transcripts", HERE / "transcripts")


class Exchange(NamedTuple):
    """A request in one dialect, and its answer."""

    dialect: str
    question: Question
    answer: Answer
    transcript: str

    def __str__(self) -> str:
        return f"{self.transcript}: {self.question.method} {self.question.target[:100]} {self.answer.status}"


class _Recorder:
    """A stage that remembers what is said on another."""

    def __init__(self, stage: OverPortStage, router: Router, transcript: str) -> None:
        self._stage = stage
        self._router = router
        self._transcript = transcript
        self._asked: dict[str, Question] = {}
        self.exchanges: list[Exchange] = []

    def ask(self, label: str, question: Question) -> None:
        self._asked[label] = question
        self._stage.ask(label, question)

    def answer(self, label: str) -> Answer:
        question, answer = self._asked.pop(label), self._stage.answer(label)
        dialect = self._router.route(question.method, question.target.partition("?")[0])
        self.exchanges.append(Exchange(dialect.name, question, answer, self._transcript))
        return answer

    def has_answer(self, label: str) -> bool:
        return self._stage.has_answer(label)

    def move_clock(self, milliseconds: int) -> None:
        self._stage.move_clock(milliseconds)


@cache
def exchanges() -> list[Exchange]:
    """All of them; played once, for a test needs them together."""
    paths = [path for folder in FOLDERS for path in sorted(folder.glob("*/*.txt"))]
    return [exchange for path in paths for exchange in _played(read_transcript(path))]


def of_dialect(name: str) -> list[Exchange]:
    return [exchange for exchange in exchanges() if exchange.dialect == name]


def _played(transcript: Transcript) -> list[Exchange]:
    folder = transcript.path.parent.name
    dialects = speakers(folder, transcript.settings)
    with (
        TemporaryDirectory() as directory,
        OverPortStage(dialects, Path(directory), KeyFile(Path(directory))) as stage,
    ):
        recorder = _Recorder(stage, Router(dialects, dialects[0]), f"{folder}/{transcript.path.stem}")
        play(transcript, recorder)
    return recorder.exchanges
