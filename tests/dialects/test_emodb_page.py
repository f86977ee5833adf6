"""The commands on the page about EmoDB do what it says they do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from penstock.dialects.emodb import Emodb
from penstock.dialects.mqs import Mqs
from penstock.dialects.native import Native
from tests.transcripts.over_port import OverPortStage

PAGE = Path(__file__).parent.parent.parent / "docs" / "dialects" / "emodb.md"
DOCUMENTED_ADDRESS = "127.0.0.1:8080"
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def words(text: str) -> list[str]:
    """The words of an output; an id is another at each run."""
    return re.sub(UUID, "ID", text).split()


def test_the_commands_of_the_page_answer_as_written(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    lines = "".join(re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)).splitlines()
    with OverPortStage([Emodb(), Mqs(), Native()], tmp_path) as stage:
        # An answer need not end in a line end, so each command is followed by one.
        script = "\n".join(f"{line.removeprefix('$ ')}; echo" for line in lines if line.startswith("$ "))
        script = script.replace(DOCUMENTED_ADDRESS, "{}:{}".format(*stage.address))
        done = subprocess.run(
            ["bash", "-ec", script], cwd=tmp_path, capture_output=True, check=False, text=True, timeout=60
        )
    assert done.stderr == ""
    assert words(done.stdout) == words("\n".join(line for line in lines if not line.startswith("$ ")))
