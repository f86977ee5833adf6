"""Clients made of plain sockets, for what has to be measured or cut off."""

from __future__ import annotations

import re
import select
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.crash.server_process import PATIENCE_S


def request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Told(NamedTuple):
    """One answer."""

    status: int
    head: bytes
    body: bytes


class Caller:
    """One connection. Closed at the end of a `with`."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, method: str, target: str, body: bytes = b"", *headers: str) -> None:
        self.socket.sendall(request(method, target, body, *headers))

    def ask(self, method: str, target: str, body: bytes = b"", *headers: str) -> Told:
        self.send(method, target, body, *headers)
        return self.told()

    def told(self) -> Told:
        """The next answer, waited for."""
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            self._receive()
        head, self._received = self._received[: end + 4], self._received[end + 4 :]
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head)
        length_bytes = int(length[1]) if length else 0
        while len(self._received) < length_bytes:
            self._receive()
        body, self._received = self._received[:length_bytes], self._received[length_bytes:]
        return Told(int(head[9:12]), head, body)

    def has_answer(self, within_s: float = 0.0) -> bool:
        return bool(select.select([self.socket], [], [], within_s)[0])

    def is_closed(self) -> bool:
        return self.socket.recv(1) == b""

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        assert data, f"the connection ended after {self._received!r}"
        self._received += data


def milliseconds_since(begun_at: float) -> float:
    return (time.perf_counter() - begun_at) * 1000


def cpu_seconds(process_id: int) -> float:
    """What all threads of a process have used of a processor so far."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in _tasks(process_id)) / 1e9


def is_held(process_id: int) -> bool:
    """Whether a signal has stopped every thread of a process; it takes a moment to reach them."""
    states = [(task / "stat").read_text().rpartition(") ")[2][0] for task in _tasks(process_id)]
    return set(states) == {"T"}


def _tasks(process_id: int) -> list[Path]:
    return list(Path(f"/proc/{process_id}/task").iterdir())
