"""A directory on which the N-th operation goes wrong."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

from penstock.vsqs.files import Directory


class Fault:
    """Counts operations on files and strikes at one of them."""

    def __init__(self, strikes_at: int | None, strike: Callable[[str], None]) -> None:
        self.operations: list[str] = []
        self._strikes_at = strikes_at
        self._strike = strike

    def before(self, operation: str) -> None:
        self.operations.append(operation)
        if len(self.operations) == self._strikes_at:
            self._strike(operation)


def fail(operation: str) -> None:
    """The disk is full, or broken: for the program there is no difference."""
    raise OSError(errno.ENOSPC, f"{operation} fails, as it was told to")


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FaultyDirectory(Directory):
    """Every operation that changes something, or makes it stay, can go wrong. A write can do so halfway."""

    def __init__(self, path: str, fault: Fault) -> None:
        super().__init__(path)
        self._fault = fault

    def create(self, name: str) -> int:
        self._fault.before(f"create {name}")
        return super().create(name)

    def write(self, descriptor: int, data: memoryview) -> None:
        self._fault.before("write")
        super().write(descriptor, data[: len(data) // 2])
        self._fault.before("write the rest")
        super().write(descriptor, data[len(data) // 2 :])

    def sync_file(self, descriptor: int) -> None:
        self._fault.before("sync the file")
        super().sync_file(descriptor)

    def sync_group(self, descriptor: int) -> None:
        self._fault.before("sync the files")
        super().sync_group(descriptor)

    def open(self, name: str) -> int:
        self._fault.before(f"open {name}")
        return super().open(name)

    def read(self, descriptor: int) -> bytes:
        self._fault.before("read")
        return super().read(descriptor)

    def move(self, name: str, new_name: str) -> None:
        self._fault.before(f"move {name} to {new_name}")
        super().move(name, new_name)

    def move_to_new_name(self, name: str, new_name: str) -> None:
        self._fault.before(f"move {name} to {new_name}")
        super().move_to_new_name(name, new_name)

    def link(self, name: str, new_name: str) -> None:
        self._fault.before(f"link {name} to {new_name}")
        super().link(name, new_name)

    def remove(self, name: str) -> None:
        self._fault.before(f"remove {name}")
        super().remove(name)

    def sync(self) -> None:
        self._fault.before("sync the directory")
        super().sync()
