"""A file system of its own in a file, so that its power can be cut: ext4 on a loop device.

`cut_power` tells the kernel to stop all writing to the device at once, the file system's own log included.
What was not written to the device by then is gone, as if the machine had lost its power; mounting again
recovers what a real restart would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from types import TracebackType
from typing import Self

UNMOUNT_S_MAX = 10.0

_AS_ROOT = () if os.geteuid() == 0 else ("sudo", "-n")

# A process that waits for a word, because starting one would take longer than many a sync.
# EXT4_IOC_SHUTDOWN, that is _IOR('X', 125, __u32), with "without flushing the log".
_SWITCH = """
import fcntl, os, struct, sys
if sys.stdin.readline():
    directory = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.ioctl(directory, 2 << 30 | 4 << 16 | ord("X") << 8 | 125, struct.pack("I", 2))
"""


class DiskImage:
    """Mounted for as long as a `with` lasts."""

    def __init__(self, directory: Path, size_mb: int) -> None:
        self.root = directory / "mounted"
        self._image = directory / "disk.img"
        self._size_mb = size_mb

    def __enter__(self) -> Self:
        self.root.mkdir()
        with self._image.open("wb") as image:
            image.truncate(self._size_mb * 1_000_000)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self._mount()
        _run(*_AS_ROOT, "chown", str(os.geteuid()), str(self.root))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._switch.communicate()
        self._unmount()

    def cut_power(self) -> None:
        _, complaint = self._switch.communicate("now\n")
        assert self._switch.returncode == 0, complaint

    def restart(self) -> None:
        """Bring the disk back as the machine would after a cut. Nobody may have a file on it open."""
        self._unmount()
        self._mount()

    def _mount(self) -> None:
        _run(*_AS_ROOT, "mount", "-o", "loop", str(self._image), str(self.root))
        command = [*_AS_ROOT, sys.executable, "-c", _SWITCH, str(self.root)]
        self._switch = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)

    def _unmount(self) -> None:
        deadline = time.monotonic() + UNMOUNT_S_MAX
        while True:
            try:
                _run(*_AS_ROOT, "umount", str(self.root))
                return
            except AssertionError:  # the kernel still writes, or has not let go of a killed process yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{' '.join(command[:3])} … failed: {done.stderr.strip()}. A disk of its own needs Linux, ext4, loop "
        "devices, and to be root or to have sudo without a password. "
        "PENSTOCK_CRASH_WITHOUT_DISKS=1 leaves these tests out."
    )
