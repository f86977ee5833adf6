"""Measures what a request costs on this machine, with few messages waiting and with many: `make bench`.

Rounds of shallow and deep alternate, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bench import report
from bench.backlog import BATCH, make_backlog
from bench.budgets import verdicts
from bench.measuring import Figures, Rounds, Wrk
from bench.peers import measure_peers
from bench.processes import Memory, memory
from bench.programs import find_program
from bench.server import Server

SCENARIOS = ("publish", "cycle", "size")
SHALLOW = 1000


def main() -> None:
    options = _options()
    console = Console()
    wrk = Wrk(find_program("wrk", "wrk"), options.warm_up, options.seconds)
    made_here = options.json.parent
    made_here.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="bench-", dir=made_here) as name:
        directory = Path(name)
        shallow, deep, held = _measure(wrk, directory, options.depth, options.rounds, console)
        by_depth = {SHALLOW: shallow, options.depth: deep}
        report.show_figures(console, by_depth)
        judged = verdicts(shallow, deep, held)
        report.show_verdicts(console, judged)
        written = {
            "machine": report.described_machine(),
            "rounds_by_depth": report.as_json(by_depth),
            "memory": asdict(held),
            "budgets": [asdict(verdict) for verdict in judged],
        }
        if options.peers:
            peers = measure_peers(directory, options.warm_up, options.seconds, options.rounds)
            report.show_peers(console, peers)
            written["peers"] = {name: asdict(figures) for name, figures in peers.items()}
    report.write_json(options.json, written)
    console.print(f"Medians of {options.rounds} round(s); all of it is in {options.json}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--depth", type=int, default=5_000_000, help="messages in the deep queue")
    parser.add_argument("--rounds", type=int, default=5, help="rounds whose median is taken")
    parser.add_argument("--seconds", type=int, default=8, help="how long each measurement takes")
    parser.add_argument("--warm-up", type=int, default=2, help="seconds before each measurement")
    parser.add_argument("--peers", action="store_true", help="also measure beanstalkd and Redis")
    parser.add_argument(
        "--json",
        type=Path,
        default=Path("dist/bench.json"),
        help="where the figures go; data is made beside it",
    )
    options = parser.parse_args()
    options.depth = max(BATCH, options.depth // BATCH * BATCH)
    return options


def _measure(
    wrk: Wrk, directory: Path, depth: int, rounds: int, console: Console
) -> tuple[Rounds, Rounds, Memory]:
    shallow: Rounds = {scenario: [] for scenario in SCENARIOS}
    deep: Rounds = {scenario: [] for scenario in SCENARIOS}
    make_backlog(directory / "deep", depth)
    with Server(directory / "deep") as deep_server:
        for number in range(rounds):
            for scenario in SCENARIOS:
                console.print(f"round {number + 1} of {rounds}: {scenario}", style="dim")
                shallow[scenario].append(_measure_shallow(wrk, directory / f"{scenario}-{number}", scenario))
                deep[scenario].append(wrk.measure(deep_server, scenario))
        held = memory(deep_server.pid)
    return shallow, deep, held


def _measure_shallow(wrk: Wrk, data: Path, scenario: str) -> Figures:
    """On a server of its own: what an earlier scenario published would make the queue deep."""
    make_backlog(data, SHALLOW)
    with Server(data) as server:
        return wrk.measure(server, scenario)


if __name__ == "__main__":
    main()
