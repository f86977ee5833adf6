"""Others on the same machine and disk, each told to sync before it answers, driven by the same driver."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import conversations
from bench.backlog import make_backlog
from bench.conversations import Converse, Whole
from bench.driver import drive
from bench.processes import cpu_seconds
from bench.programs import find_program
from bench.server import Server

START_S_MAX = 10.0
SHALLOW = 1000


@dataclass(frozen=True)
class PeerFigures:
    """What one operation costs."""

    operations_per_second: float
    cpu_us_per_operation: float


Running = tuple[int, int]  # pid, port


def measure_peers(directory: Path, warm_up_seconds: int, seconds: int, rounds: int) -> dict[str, PeerFigures]:
    """Penstock first, then the others; each round measures all of them."""
    found: dict[str, list[PeerFigures]] = {name: [] for name in _PEERS}
    for number in range(rounds):
        for name, (start, converse, is_whole) in _PEERS.items():
            with start(directory / f"{name}-{number}") as (pid, port):
                drive(port, converse, is_whole, warm_up_seconds)
                cpu_before = cpu_seconds(pid)
                answered = drive(port, converse, is_whole, seconds)
                cpu_us = (cpu_seconds(pid) - cpu_before) * 1e6
                found[name].append(PeerFigures(answered / seconds, cpu_us / answered))
    return {name: _medians(figures) for name, figures in found.items()}


def _medians(rounds: list[PeerFigures]) -> PeerFigures:
    return PeerFigures(
        median(figures.operations_per_second for figures in rounds),
        median(figures.cpu_us_per_operation for figures in rounds),
    )


@contextmanager
def _penstock(data: Path) -> Iterator[Running]:
    make_backlog(data, SHALLOW)
    with Server(data) as server:
        yield server.pid, int(server.url.rpartition(":")[2])


@contextmanager
def _beanstalkd(data: Path) -> Iterator[Running]:
    data.mkdir()
    port = _free_port()
    program = find_program("beanstalkd", "beanstalkd")
    # -f0: sync on every write
    command = [program, "-l", "127.0.0.1", "-p", str(port), "-b", str(data), "-f0"]
    with _running(command, port) as running:
        yield running


@contextmanager
def _redis(data: Path) -> Iterator[Running]:
    data.mkdir()
    port = _free_port()
    program = find_program("redis-server", "redis-server")
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(data), "--save", ""]
    with _running([*command, "--appendonly", "yes", "--appendfsync", "always"], port) as running:
        yield running


@contextmanager
def _running(command: list[str], port: int) -> Iterator[Running]:
    # They mention every client that leaves.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_S_MAX
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


_PEERS: dict[str, tuple[Callable[[Path], AbstractContextManager[Running]], Converse, Whole]] = {
    "penstock": (_penstock, conversations.penstock, conversations.is_whole_http),
    "beanstalkd, synced": (_beanstalkd, conversations.beanstalkd, conversations.is_whole_beanstalkd),
    "redis, synced": (_redis, conversations.redis, conversations.is_whole_redis),
}
