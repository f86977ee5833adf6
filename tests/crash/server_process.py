"""A real server in a process of its own, to be asked, killed and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 20.0  # longer than anything here takes; reached only by a test that fails


def serve_command(data: Path, *arguments: str) -> list[str]:
    """The command that serves a data directory at any free port."""
    return [
        *(sys.executable, "-m", "penstock", "serve", "--data", str(data)),
        *("--listen", "127.0.0.1:0", "--log-level", "error", *arguments),
    ]


def environment() -> dict[str, str]:
    """Ours, but for variables that the server would take for settings of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}


class ServerProcess:
    """One life of a server. Killed at the end of a `with`, if it still runs."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.process = subprocess.Popen(
            serve_command(data), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._log: list[str] = []
        # Read all the time: a full pipe would hold the server up.
        self._log_reader = threading.Thread(target=self._read_log)
        self._log_reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def wait_until_ready(self) -> Self:
        """Read where it listens. It writes nothing more to its output, so the pipe cannot fill."""
        assert self.process.stdout is not None
        self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if found is None:
            raise AssertionError(f"the server did not start: {self.log()}")
        self.port = int(found[1])
        return self

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(self, method: str, target: str, body: bytes | None = None) -> tuple[HTTPResponse, bytes]:
        """One request on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, target, body)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def make_queue(self, name: str, visibility_s: int) -> None:
        settings = json.dumps({"retention_timeout": 86_400, "visibility_timeout": visibility_s})
        response, answer = self.ask("PUT", f"/queues/{name}", settings.encode())
        assert response.status == 201, answer

    def count(self, queue: str) -> int:
        """How many messages the server says a queue has, claimed ones included."""
        response, answer = self.ask("GET", f"/queues/{queue}")
        assert response.status == 200, answer
        described: dict[str, Any] = json.loads(answer)
        return int(described["status"]["messages"])

    def kill(self) -> None:
        """End it at whatever instruction it is."""
        self.process.kill()
        self._reap()

    def terminate(self) -> float:
        """Ask it to stop; the seconds that it took."""
        begun_at = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self._reap()
        return time.monotonic() - begun_at

    def log(self) -> str:
        """What it has said of its troubles."""
        return "".join(self._log)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self._log.extend(lines)

    def _reap(self) -> None:
        self.process.wait(PATIENCE_S)
        self._log_reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
