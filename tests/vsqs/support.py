"""A clock to move, calls that wait, and short ways to look at a directory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

NOW_MS = 1415776871123  # the moment in the document


SOON_S = 5  # a busy machine takes its time
Result = TypeVar("Result")


class Clock:
    """Tells the time it was told."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.now_us = now_ms * 1000

    def __call__(self) -> int:
        return self.now_us

    def advance_ms(self, span_ms: float) -> None:
        self.now_us += round(span_ms * 1000)


def names_in(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def put(directory: Path, *names: str) -> None:
    """Files whose content is their name, as another program would leave them."""
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_bytes(name.encode())


def memory_directory() -> str | None:
    """Where syncs cost nothing, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a fresh directory below it


class Started(Generic[Result]):
    """A call in a thread of its own, which had time to begin waiting."""

    def __init__(self, call: Callable[[], Result], begins_within_s: float = 0.05) -> None:
        self._call = call
        self._results: list[Result] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._thread.join(begins_within_s)

    def _run(self) -> None:
        self._results.append(self._call())

    def is_waiting(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> Result:
        self._thread.join(SOON_S)
        assert self._results, "it still waits, or failed"
        return self._results[0]
