"""Every transcript, played without sockets and over a real port."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.keys.file import KeyFile
from tests.transcripts.over_port import OverPortStage
from tests.transcripts.player import play
from tests.transcripts.reader import read_transcript
from tests.transcripts.socketless import SocketlessStage
from tests.transcripts.speakers import speakers

HERE = Path(__file__).parent

each_transcript = pytest.mark.parametrize(
    "path", sorted(HERE.glob("*/*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)


@each_transcript
def test_without_sockets_a_transcript_is_as_written(path: Path) -> None:
    transcript = read_transcript(path)
    play(transcript, SocketlessStage(speakers(path.parent.name, transcript.settings)))


@each_transcript
def test_over_a_port_a_transcript_is_as_written(path: Path, tmp_path: Path) -> None:
    transcript = read_transcript(path)
    dialects = speakers(path.parent.name, transcript.settings)
    with OverPortStage(dialects, tmp_path, KeyFile(tmp_path)) as stage:
        play(transcript, stage)
