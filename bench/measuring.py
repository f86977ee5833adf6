"""One measurement: wrk on one side, the server's own time on the other."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.processes import cpu_seconds
from bench.server import Server

CONNECTIONS = 64
WRK_THREADS = 1  # it is never the slower side, and leaves the other processor to the server
LOAD = Path(__file__).with_name("load.lua")


@dataclass(frozen=True)
class Figures:
    """What one scenario costs at one depth."""

    requests_per_second: float
    cpu_us_per_request: float
    p50_ms: float
    p99_ms: float


class Wrk:
    """The load generator."""

    def __init__(self, program: str, warm_up_seconds: int, seconds: int) -> None:
        self._program = program
        self._warm_up_seconds = warm_up_seconds
        self._seconds = seconds

    def measure(self, server: Server, scenario: str) -> Figures:
        self._drive(server, scenario, self._warm_up_seconds)
        cpu_before = cpu_seconds(server.pid)
        result = self._drive(server, scenario, self._seconds)
        cpu = cpu_seconds(server.pid) - cpu_before
        return Figures(
            requests_per_second=result["requests"] / result["seconds"],
            cpu_us_per_request=cpu / result["requests"] * 1e6,
            p50_ms=result["p50_ms"],
            p99_ms=result["p99_ms"],
        )

    def _drive(self, server: Server, scenario: str, seconds: int) -> dict[str, float]:
        load = ["--threads", str(WRK_THREADS), "--connections", str(CONNECTIONS), "--duration", f"{seconds}s"]
        command = [self._program, *load, "--latency", "--script", str(LOAD), server.url, "--", scenario]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        if result["failures"]:
            sys.exit(f"bench: {result['failures']:.0f} requests of {scenario} failed\n{done.stdout}")
        return result


Rounds = dict[str, list[Figures]]  # by scenario, in the order in which they were measured


def medians(rounds: list[Figures]) -> Figures:
    """The figure in the middle, each by itself."""
    return Figures(
        requests_per_second=median(figures.requests_per_second for figures in rounds),
        cpu_us_per_request=median(figures.cpu_us_per_request for figures in rounds),
        p50_ms=median(figures.p50_ms for figures in rounds),
        p99_ms=median(figures.p99_ms for figures in rounds),
    )
