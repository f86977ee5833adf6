"""What the figures may be, and whether they are."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from bench.measuring import Rounds, medians
from bench.processes import Memory

CPU_US_MAX = 45.0  # per request of the cycle
P99_PER_P50_MAX = 4.0  # of a publish
DEPTH_SHARE_MAX = 0.15  # by which depth may change the cost of a request
MEMORY_MB_MAX = 250.0  # with the deep queue


@dataclass(frozen=True)
class Verdict:
    """One budget and its figure."""

    name: str
    figure: str
    budget: str
    is_kept: bool


def verdicts(shallow: Rounds, deep: Rounds, memory: Memory) -> list[Verdict]:
    cpu_us = medians(shallow["cycle"]).cpu_us_per_request
    tail = median(figures.p99_ms / figures.p50_ms for figures in shallow["publish"])
    found = [
        Verdict("cycle: CPU per request", f"{cpu_us:.1f} µs", f"≤ {CPU_US_MAX:.0f} µs", cpu_us <= CPU_US_MAX),
        Verdict("publish: p99 / p50", f"{tail:.1f}", f"≤ {P99_PER_P50_MAX:.0f}", tail <= P99_PER_P50_MAX),
    ]
    for scenario in deep:
        change = _change_by_depth(shallow, deep, scenario)
        budget = f"within ± {DEPTH_SHARE_MAX:.0%}"
        name = f"{scenario}: CPU, deep against shallow"
        found.append(Verdict(name, f"{change:+.1%}", budget, abs(change) <= DEPTH_SHARE_MAX))
    peak = f"{memory.peak_mb:.0f} MB"
    is_small = memory.peak_mb < MEMORY_MB_MAX
    found.append(Verdict("memory with the deep queue, peak", peak, f"< {MEMORY_MB_MAX:.0f} MB", is_small))
    return found


def _change_by_depth(shallow: Rounds, deep: Rounds, scenario: str) -> float:
    """The median of the rounds' own changes: both sides of a round had the same machine."""
    pairs = zip(shallow[scenario], deep[scenario], strict=True)
    return median(many.cpu_us_per_request / few.cpu_us_per_request for few, many in pairs) - 1
