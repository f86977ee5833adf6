"""The one clock: unix milliseconds that never go back, whatever the machine's clock does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wall_clock_ms() -> int:
    """The machine's idea of the time."""
    return time.time_ns() // 1_000_000


class SteadyClock:
    """A wall clock that stands still while the machine's is behind what was already said."""

    def __init__(self, wall_ms: Callable[[], int], not_before_ms: int) -> None:
        self._wall_ms = wall_ms
        self._last_ms = not_before_ms

    def __call__(self) -> int:
        self._last_ms = max(self._last_ms, self._wall_ms())
        return self._last_ms
