"""The one clock: unix milliseconds that never go back, whatever the machine's clock does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wall_clock_ms() -> int:
    """The machine's idea of the time."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """How the time goes on, whatever is made of the machine's clock."""
    return time.monotonic_ns() // 1_000_000


class SteadyClock:
    """A wall clock that goes on from where it was while the machine's is behind what was already said."""

    def __init__(
        self, wall_ms: Callable[[], int], not_before_ms: int, ticking_ms: Callable[[], int] | None = None
    ) -> None:
        """Without `ticking_ms` it stands still for that long."""
        self._wall_ms = wall_ms
        self._ticking_ms = ticking_ms
        self._last_ms = not_before_ms
        self._last_tick_ms = 0 if ticking_ms is None else ticking_ms()

    def __call__(self) -> int:
        now_ms = self._wall_ms()
        if self._ticking_ms is not None:
            tick_ms = self._ticking_ms()
            if now_ms < self._last_ms:
                now_ms = self._last_ms + tick_ms - self._last_tick_ms
            self._last_tick_ms = tick_ms
        self._last_ms = max(self._last_ms, now_ms)
        return self._last_ms
