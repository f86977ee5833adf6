"""What the kernel tells of changes in directories.

Called through ctypes: it is three functions, and a dependency for them would be one more thing to install.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import NamedTuple

MODIFIED_AND_CLOSED = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATED = 0x100
DELETED = 0x200
MOVED_ITSELF = 0x800
UNMOUNTED = 0x2000
OVERFLOWED = 0x4000
UNWATCHED = 0x8000
IS_DIRECTORY = 0x40000000
_ONLY_DIRECTORIES = 0x01000000

FILES_COME_AND_GO = MODIFIED_AND_CLOSED | MOVED_FROM | MOVED_TO | DELETED | MOVED_ITSELF
FOLDERS_COME_AND_GO = MOVED_FROM | MOVED_TO | CREATED | DELETED | MOVED_ITSELF

_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES = 1 << 20


class Change(NamedTuple):
    """Something happened to a name in a watched directory."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One queue of changes. Where the kernel has none to give it is silent, and says so."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int | None = self._c.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor == -1:
            self.descriptor = None

    def watch(self, path: str, mask: int) -> int | None:
        """Watch a directory; None if there is none, or if no more can be watched."""
        if self.descriptor is None:
            return None
        watch = self._c.inotify_add_watch(self.descriptor, os.fsencode(path), mask | _ONLY_DIRECTORIES)
        if watch >= 0:
            return int(watch)
        number = ctypes.get_errno()
        if number in (errno.ENOSPC, errno.ENOMEM, errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return None
        raise OSError(number, os.strerror(number), path)

    def unwatch(self, watch: int) -> None:
        """Stop watching. A directory that is gone is no longer watched anyway."""
        if self.descriptor is not None:
            self._c.inotify_rm_watch(self.descriptor, watch)

    def changes(self) -> list[Change]:
        """All changes so far, in their order."""
        found: list[Change] = []
        while self.descriptor is not None:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length
                found.append(Change(watch, mask, name))
        return found

    def close(self) -> None:
        """Let go of it."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
