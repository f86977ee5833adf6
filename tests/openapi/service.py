"""A running server with a port of its own for each dialect, so that each owns every path that is tried."""

from __future__ import annotations

import json
import re
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.crash.server_process import PATIENCE_S, environment, serve_command


class Service:
    """Stopped at the end of a `with`, where it must not have had anything to complain about."""

    def __init__(self, directory: Path, dialects: list[str]) -> None:
        self._log_path = directory / "log.txt"
        listeners = [argument for name in dialects for argument in ("--listen", f"{name}=127.0.0.1:0")]
        with self._log_path.open("w") as log:
            self._process = subprocess.Popen(
                serve_command(directory / "data", *listeners),
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        announced = [self._process.stdout.readline() for _ in range(2 + len(dialects))]
        addresses = re.findall(r"http://127\.0\.0\.1:(\d+)", "".join(announced))
        assert len(addresses) == 1 + len(dialects), self._log_path.read_text()
        shared, *own = map(int, addresses)
        self._shared_port = shared
        self.ports = dict(zip(dialects, own, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        assert self._log_path.read_text() == ""

    def furnish(self) -> None:
        """Let there be a queue "jobs" with a bit of everything, whatever became of the one before."""
        settings = json.dumps({"retention_timeout": 3600, "visibility_timeout": 30}).encode()
        connection = HTTPConnection("127.0.0.1", self._shared_port, timeout=PATIENCE_S)
        for method, target, body in [
            ("PUT", "/queues/jobs", settings),
            ("DELETE", "/queues/jobs", b""),
            ("PUT", "/queues/jobs", settings),
            ("PUT", "/api/default/jobs?ttl=0&tries=1", b"soon dead"),
            ("GET", "/api/default/jobs?ttr=0", b""),
            ("PUT", "/api/default/jobs/bulk?ttl=0&tries=99", json.dumps(list(range(50))).encode()),
            ("PUT", "/api/dedup/jobs/bulk?ttl=0&tries=99", json.dumps([1, 1, 2]).encode()),
            ("POST", "/messages/jobs", bytes(range(256))),
        ]:
            connection.request(method, target, body)
            connection.getresponse().read()
        connection.close()
