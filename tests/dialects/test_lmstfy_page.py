"""The commands on the page about lmstfy do what it says they do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from penstock.dialects.lmstfy import Lmstfy
from penstock.dialects.native import Native
from tests.transcripts.over_port import OverPortStage

PAGE = Path(__file__).parent.parent.parent / "docs" / "dialects" / "lmstfy.md"
DOCUMENTED_ADDRESS = "127.0.0.1:8080"


def test_the_commands_of_the_page_answer_as_written(tmp_path: Path) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    with OverPortStage([Lmstfy(), Native()], tmp_path) as stage:
        script = "\n".join(f"{command}; echo" for command in commands)
        script = script.replace(DOCUMENTED_ADDRESS, "{}:{}".format(*stage.address))
        done = subprocess.run(
            ["bash", "-ec", script], cwd=tmp_path, capture_output=True, check=False, text=True
        )
    assert done.stderr == ""
    assert done.stdout.split() == [
        word for line in lines if not line.startswith("$ ") for word in line.split()
    ]
