"""A disk whose power can be cut: an ext4 image of its own, which is shut down without flushing its log."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

IMAGE_BYTES = 64 * 1024 * 1024
EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
WITHOUT_FLUSHING_THE_LOG = 2


def power_can_be_cut() -> bool:
    tools = all(shutil.which(tool) for tool in ("mkfs.ext4", "mount", "umount"))
    return os.geteuid() == 0 and tools and os.path.exists("/dev/loop-control")


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Disk:
    """Mounted for as long as a `with` lasts."""

    def __init__(self, directory: Path) -> None:
        self._image = directory / "image"
        self.root = directory / "mounted"

    def __enter__(self) -> Self:
        self.root.mkdir()
        with self._image.open("wb") as image:
            image.truncate(IMAGE_BYTES)
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", self._image)
        self._mount()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unmount()

    def cut_power(self) -> None:
        """From now on nothing reaches the disk and every write fails."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING_THE_LOG))
        finally:
            os.close(descriptor)

    def restore_power(self) -> None:
        self._unmount()
        self._mount()

    def _mount(self) -> None:
        run("mount", "-o", "loop", self._image, self.root)

    def _unmount(self) -> None:
        run("umount", self.root)
