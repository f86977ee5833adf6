"""Real servers and daemons on one root, and clients that remember what they were promised."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self

from tests.crash.server_process import environment

PATIENCE_S = 20.0


class Daemon:
    """A process of ours. Killed at the end of a `with`, if it still runs."""

    def __init__(self, root: Path, *command: str, delay_s: float = 10) -> None:
        self.root = root
        self._log = TemporaryFile("w+")  # noqa: SIM115 - closed where the process ends
        settings = ("--store", f"spool:{root}", "--set", f"mqcore.delay={delay_s}", "--log-level", "error")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *command, *settings],
            env=environment(),
            cwd=root.parent,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._log.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()


class MqServer(Daemon):
    """A server that speaks MQ-Core alone."""

    def __init__(self, root: Path, *command: str, delay_s: float = 10, peers: int = 0) -> None:
        command = command or ("serve",)
        listen = ("--listen", "mqcore=127.0.0.1:0", "--set", f"mqcore.peers={peers}")
        super().__init__(root, *command, *listen, delay_s=delay_s)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        assert found is not None, f"it did not start: {self.log()}"
        self.port = int(found[1])
        self._clients: list[Client] = []

    def client(self) -> Client:
        """A connection that is closed with the server."""
        self._clients.append(Client(self.port))
        return self._clients[-1]

    def kill(self) -> None:
        super().kill()
        for client in self._clients:
            client.close()


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def ask(self, method: str, target: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        """The status, the id and the body of the answer."""
        self._connection.request(method, target, body)
        response = self._connection.getresponse()
        return response.status, response.getheader("X-Message-Id", ""), response.read()

    def close(self) -> None:
        self._connection.close()


class Load:
    """Clients that add, fetch and delete until the server is gone."""

    def __init__(self, server: MqServer, queue: str = "jobs") -> None:
        self._port = server.port
        self._queue = queue
        self._lock = threading.Lock()
        self.added: dict[str, bytes] = {}
        self.deleted: set[str] = set()
        self.in_doubt: set[str] = set()
        self.deliveries: Counter[str] = Counter()
        self.enough = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(role,)) for role in "aaafff"]

    def start(self, until_deleted: int) -> None:
        """Begin, and come back when so many were deleted; the clients go on."""
        self._until_deleted = until_deleted
        for thread in self._threads:
            thread.start()
        assert self.enough.wait(PATIENCE_S), "nothing goes on"

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _run(self, role: str) -> None:
        client = Client(self._port)
        try:
            while True:
                if role == "a":
                    self._add(client)
                else:
                    self._fetch(client)
        except (OSError, HTTPException, Refusal):
            pass  # the server is gone, or says that it can promise nothing
        finally:
            client.close()

    def _add(self, client: Client) -> None:
        with self._lock:
            body = f"message {len(self.added)} ".encode() * 400
        status, message_id, _ = client.ask("POST", f"/{self._queue}/messages", body)
        if status != 201:
            raise Refusal
        with self._lock:
            self.added[message_id] = body

    def _fetch(self, client: Client) -> None:
        status, message_id, _ = client.ask("GET", f"/{self._queue}/messages")
        if status not in (200, 204):
            raise Refusal
        if status == 204:
            return
        with self._lock:
            self.deliveries[message_id] += 1
            self.in_doubt.add(message_id)
        status, _, _ = client.ask("DELETE", f"/{self._queue}/messages/{message_id}")
        if status != 202:
            raise Refusal
        with self._lock:
            self.in_doubt.discard(message_id)
            self.deleted.add(message_id)
            if len(self.deleted) >= self._until_deleted:
                self.enough.set()

    def check(self, root: Path) -> None:
        """Every acknowledged message is there and whole, every deleted one stays away."""
        there: dict[str, bytes] = {}
        for folder in ("new", "queues", "delay"):
            for path in (root / folder).rglob("*"):
                if path.is_file():
                    there[path.name.rpartition(":")[2]] = path.read_bytes()
        assert not self.deleted & there.keys(), "a deleted message is back"
        owed = self.added.keys() - self.deleted - self.in_doubt
        assert owed <= there.keys(), f"{len(owed - there.keys())} acknowledged messages are lost"
        for message_id in owed:
            assert there[message_id] == self.added[message_id], "a message is not whole"


class Refusal(Exception):
    """The server answered that it cannot."""
