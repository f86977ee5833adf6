"""What the kernel knows of a process: the time it computed, the memory it holds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Memory:
    """In millions of bytes."""

    now_mb: float
    peak_mb: float


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    user_ticks, system_ticks = after_name[11:13]
    return (int(user_ticks) + int(system_ticks)) / _TICKS_PER_SECOND


def memory(pid: int) -> Memory:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return Memory(_megabytes(status, "VmRSS"), _megabytes(status, "VmHWM"))


def _megabytes(status: str, name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None, f"Linux tells {name} of a running process"
    return int(found[1]) * 1024 / 1e6
