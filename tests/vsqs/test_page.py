"""The page about VSQS does what it says."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.test_pages import ROOT, blocks

PAGE = ROOT / "docs" / "vsqs.md"
MOMENT = re.compile(r"\b1[0-9]{12}\b")
SAID = re.compile(r"# (.*)$", re.MULTILINE)


def without_moments(text: str) -> str:
    return MOMENT.sub("ID", text)


def test_the_programs_of_the_page_print_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = "\n".join(blocks(PAGE, "python"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})  # noqa: S102 - it is our own page
    assert printed.getvalue().splitlines() == SAID.findall(program)


def test_the_commands_of_the_page_answer_as_written(tmp_path: Path) -> None:
    lines = blocks(PAGE, "console")
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    command = f'penstock() {{ "{sys.executable}" -m penstock "$@"; }}'
    script = "\n".join([command, "exec 2>&1", *(f"{each}; echo" for each in commands)])
    done = subprocess.run(["bash", "-ec", script], cwd=tmp_path, capture_output=True, check=False, text=True)
    expected = [line for line in lines if not line.startswith("$ ")]
    answered = [line for line in done.stdout.splitlines() if line]
    assert list(map(without_moments, answered)) == list(map(without_moments, expected))
