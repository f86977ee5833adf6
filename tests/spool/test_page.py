"""The page about the spool does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.documents.test_pages import DOCUMENTED_ADDRESSES, ROOT, blocks, words
from tests.spool.processes import MqServer

PAGE = ROOT / "docs" / "spool.md"


def test_the_commands_of_the_spools_page_answer_as_written(tmp_path: Path) -> None:
    lines = blocks(PAGE, "console")
    commands = [f"{line.removeprefix('$ ')}; echo" for line in lines if line.startswith("$ ")]
    with MqServer(tmp_path / "spool") as server:
        script = DOCUMENTED_ADDRESSES.sub(f"127.0.0.1:{server.port}", "\n".join(commands))
        done = subprocess.run(
            ["bash", "-ec", script], cwd=tmp_path, capture_output=True, check=False, text=True, timeout=60
        )
    assert done.stderr == ""
    assert words([done.stdout]) == words([line for line in lines if not line.startswith("$ ")])


def test_the_programs_of_the_spools_page_exist() -> None:
    started = [line.split() for line in blocks(PAGE, "sh")]
    assert len(started) == 4
    for _, *command in started:
        known = command[: command.index("--store")]
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *known, "--help"], capture_output=True, check=False, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "--store" in done.stdout
