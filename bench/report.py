"""The figures, for people and for programs."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.budgets import Verdict
from bench.measuring import Figures, Rounds, medians
from bench.peers import PeerFigures


def show_figures(console: Console, by_depth: dict[int, Rounds]) -> None:
    table = Table("scenario", title="64 keep-alive connections, 200-byte bodies, every answer synced")
    for name in ("depth", "requests/s", "CPU µs/request", "best round", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right")
    for scenario in next(iter(by_depth.values())):
        for depth, rounds in by_depth.items():
            table.add_row(scenario, f"{depth:,}", *_cells(rounds[scenario]))
    console.print(table)


def _cells(rounds: list[Figures]) -> tuple[str, ...]:
    middle = medians(rounds)
    best_us = min(figures.cpu_us_per_request for figures in rounds)
    cpu = (f"{middle.cpu_us_per_request:.1f}", f"{best_us:.1f}")
    return (f"{middle.requests_per_second:,.0f}", *cpu, f"{middle.p50_ms:.2f}", f"{middle.p99_ms:.2f}")


def show_verdicts(console: Console, verdicts: list[Verdict]) -> None:
    table = Table("budget", title="Budgets")
    for name in ("figure", "may be", ""):
        table.add_column(name, justify="right")
    for verdict in verdicts:
        word = "[green]kept[/]" if verdict.is_kept else "[red]over[/]"
        table.add_row(verdict.name, verdict.figure, verdict.budget, word)
    console.print(table)


def show_peers(console: Console, peers: dict[str, PeerFigures]) -> None:
    table = Table("cycle, one driver for all", title="Side by side, every write synced")
    for name in ("operations/s", "CPU µs/operation", "CPU, Penstock = 1"):
        table.add_column(name, justify="right")
    ours = peers["penstock"].cpu_us_per_operation
    for name, figures in peers.items():
        cpu_us = figures.cpu_us_per_operation
        table.add_row(name, f"{figures.operations_per_second:,.0f}", f"{cpu_us:.1f}", f"{cpu_us / ours:.2f}")
    console.print(table)


def write_json(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def described_machine() -> dict[str, Any]:
    """Enough to tell whether two reports can be compared."""
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }


def as_json(by_depth: dict[int, Rounds]) -> dict[str, Any]:
    """Every round by itself."""
    return {
        str(depth): {scenario: [asdict(row) for row in figures] for scenario, figures in rounds.items()}
        for depth, rounds in by_depth.items()
    }
