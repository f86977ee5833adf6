"""A Penstock server to be measured: a real process on a data directory of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

STOP_S_MAX = 10


class Server:
    """Runs for as long as a `with` lasts."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def __enter__(self) -> Self:
        command = [
            sys.executable,
            "-m",
            "penstock",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "error",
        ]
        self._process = subprocess.Popen(
            [*command, "--data", str(self._data)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline())
        if address is None:
            sys.exit("bench: the server did not start")
        self.url = address[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(STOP_S_MAX)

    @property
    def pid(self) -> int:
        return self._process.pid
