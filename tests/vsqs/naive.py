"""The document, word for word and nothing else: every call lists the directory.

It is the other program on a shared directory in the tests, and what the benchmark compares with. It knows
nothing of the library.
"""

from __future__ import annotations

import os
import time
from pathlib import Path


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class NaiveQueue:
    """A queue as a reader of the document would write it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def publish(self, data: bytes) -> str:
        while True:
            message_id = str(now_ms())
            new = self.path / f"{message_id}.new"
            try:
                descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                continue
            with open(descriptor, "wb") as file:
                if self._others_of(message_id):
                    new.unlink()
                    continue
                file.write(data)
            new.rename(self.path / message_id)
            return message_id

    def _others_of(self, message_id: str) -> list[str]:
        names = os.listdir(self.path)
        return [name for name in names if name.split(".")[0] == message_id and name != f"{message_id}.new"]

    def receive(self, visibility_timeout_ms: int = 10_000) -> tuple[str, bytes] | tuple[None, None]:
        """Looks once."""
        while True:
            names = os.listdir(self.path)
            if self._requeued(names):
                continue
            ready = sorted((name for name in names if "." not in name), key=int)
            if not ready:
                return None, None
            for name in ready:
                consumed = self.path / f"{name}.{now_ms() + visibility_timeout_ms}"
                try:
                    (self.path / name).rename(consumed)
                except FileNotFoundError:
                    continue
                return name, consumed.read_bytes()

    def _requeued(self, names: list[str]) -> bool:
        expired = False
        for name in names:
            message_id, _, extension = name.partition(".")
            if extension.isdigit() and int(extension) <= now_ms():
                expired = True
                try:
                    (self.path / name).rename(self.path / message_id)
                except FileNotFoundError:
                    pass
        return expired

    def delete(self, message_id: str) -> None:
        for name in os.listdir(self.path):
            if name.split(".")[0] == message_id:
                (self.path / name).unlink(missing_ok=True)
