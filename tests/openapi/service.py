"""A running server with a port of its own for each dialect, so that each owns every path that is tried."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.core.ids import from_ulid, to_uuid
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

    def furnish(self, dialect: str) -> dict[str, str]:
        """See to it that a queue has something of everything; the names by which it is found there."""
        if dialect == "lmstfy-admin":
            target = "/token/default?description=home"
            made = json.loads(self._ask("POST", target, port=self.ports[dialect]))
            return {"namespace": "default", "token": made["token"]}
        self._ask("DELETE", "/queues/jobs")
        self._ask("PUT", "/queues/jobs", {"retention_timeout": 3600, "visibility_timeout": 30})
        self._ask("PUT", "/api/default/jobs?ttl=0&tries=1", "soon dead")
        self._ask("GET", "/api/default/jobs?ttr=0")
        self._ask("PUT", "/api/dedup/jobs/bulk?ttl=0&tries=99", [1, 1, 2])
        move = json.loads(self._ask("POST", "/queue/1/_move?from=elsewhere&to=nowhere"))
        for _ in range(4):
            self._ask("PUT", "/api/default/jobs/bulk?ttl=0&tries=99", list(range(64)))
        job = json.loads(self._ask("PUT", "/api/default/jobs?ttl=0", "to be found"))
        message_id = from_ulid(job["job_id"])
        assert message_id is not None
        home = {"queue": "jobs", "namespace": "default", "reference": move["id"], "job_id": job["job_id"]}
        return home | {"target": "jobs", "message_id": to_uuid(message_id)}

    def _ask(self, method: str, target: str, body: object = None, port: int = 0) -> bytes:
        connection = HTTPConnection("127.0.0.1", port or self._shared_port, timeout=PATIENCE_S)
        with closing(connection):
            connection.request(method, target, b"" if body is None else json.dumps(body))
            return connection.getresponse().read()
