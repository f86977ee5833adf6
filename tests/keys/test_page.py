"""The commands on the page about security do what it says they do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "security.md"
LISTENERS = ["--listen", "127.0.0.1:0", "--listen", "lmstfy-admin=127.0.0.1:0"]
DOCUMENTED = ["http://127.0.0.1:8080", "http://127.0.0.1:7778"]
PENSTOCK = f'penstock() {{ {sys.executable} -m penstock "$@" 2>>said-to-people.txt; }}\n'


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}


@contextmanager
def serving(directory: Path) -> Iterator[list[str]]:
    """A server over the data that the commands use; where it listens."""
    command = [sys.executable, "-m", "penstock", "serve", *LISTENERS]
    with subprocess.Popen(
        command, cwd=directory, env=environment(), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            announced = [server.stdout.readline() for _ in range(3)]
            yield re.findall(r"http://\S+", "".join(announced))
        finally:
            server.terminate()


def run(block: str, directory: Path) -> str:
    # An answer need not end in a line end, so each command is followed by one.
    commands = [f"{line.removeprefix('$ ')}; echo" for line in block.splitlines() if line.startswith("$ ")]
    done = subprocess.run(
        ["bash", "-ec", PENSTOCK + "\n".join(commands)],
        cwd=directory,
        env=environment(),
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def words(text: str) -> list[str]:
    """The words of an output, but for ids and dates, which are others at each run."""
    without_ids = re.sub(r'(^|removed |")[a-z2-7]{8}(?=  | \(|":)', r"\1ID", text, flags=re.MULTILINE)
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", without_ids).split()


def test_the_commands_of_the_page_answer_as_written(tmp_path: Path) -> None:
    first, *rest = re.findall(r"^```console\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    answered = run(first, tmp_path)  # before the server is started
    with serving(tmp_path) as addresses:
        block = "".join(rest)
        for documented, address in zip(DOCUMENTED, addresses, strict=True):
            block = block.replace(documented, address)
        answered += run(block, tmp_path)
    outputs = [line for line in "".join([first, *rest]).splitlines() if not line.startswith("$ ")]
    assert words(answered) == words("\n".join(outputs))
