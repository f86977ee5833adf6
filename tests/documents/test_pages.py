"""The commands in the documentation do what it says they do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transcripts.over_port import OverPortStage
from tests.transcripts.speakers import speakers

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted((ROOT / "docs" / "dialects").glob("*.md")), ROOT / "docs" / "journal.md"]
README = ROOT / "README.md"
DOCUMENTED_ADDRESSES = re.compile(r"(127\.0\.0\.1|localhost):8080")
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MOMENT = r"\b1[0-9]{12}\b"  # unix milliseconds


def blocks(path: Path, language: str) -> list[str]:
    """The lines of all fenced blocks in one language."""
    found = re.findall(rf"^```{language}\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return "".join(found).splitlines()


def words(lines: list[str]) -> list[str]:
    """The words of an output; an id and the time are others at each run."""
    return re.sub(MOMENT, "MOMENT", re.sub(UUID, "ID", "\n".join(lines))).split()


def run_against_a_server(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    with OverPortStage(speakers("mqcore", {}), directory) as stage:
        here = DOCUMENTED_ADDRESSES.sub("{}:{}".format(*stage.address), script)
        # `python` on a page is one that has Penstock.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-ec", here],
            cwd=directory,
            env=os.environ | {"PATH": path},
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_commands_of_a_page_answer_as_written(page: Path, tmp_path: Path) -> None:
    lines = blocks(page, "console")
    # An answer need not end in a line end, so each command is followed by one.
    commands = [f"{line.removeprefix('$ ')}; echo" for line in lines if line.startswith("$ ")]
    assert commands, "a page shows how to try what it is about"
    done = run_against_a_server("\n".join(commands), tmp_path)
    assert done.stderr == ""
    assert words([done.stdout]) == words([line for line in lines if not line.startswith("$ ")])


def test_the_requests_of_the_readme_succeed(tmp_path: Path) -> None:
    requests = [line for line in blocks(README, "sh") if line.startswith("curl ")]
    assert requests
    script = "\n".join(line.replace("curl ", "curl -sS --fail-with-body ", 1) for line in requests)
    done = run_against_a_server(script, tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "hello" in done.stdout


def test_the_commands_of_the_readme_are_understood() -> None:
    started = [line.split() for line in blocks(README, "sh") if line.startswith(".venv/bin/penstock ")]
    assert started
    for _, command, *flags in started:
        assert command == "serve"
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "config", *flags], capture_output=True, check=False, text=True
        )
        assert done.returncode == 0, done.stderr
