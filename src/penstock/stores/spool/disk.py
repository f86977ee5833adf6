"""Every file operation there is here, one method each, so that a test can let any one of them fail."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

SYNCS_AT_ONCE = 8  # concurrent syncs share one write of the file system's log


T = TypeVar("T")


class Times(NamedTuple):
    """What a file system says of a file."""

    size: int
    written_at_ns: int
    moved_at_ns: int


class Disk:
    """The file system."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(SYNCS_AT_ONCE, "spool-sync")

    def write_new(self, path: str, body: bytes) -> int:
        """Make a file and write it; the open file is still to be synced."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        try:
            unwritten = memoryview(body)
            while unwritten:
                unwritten = unwritten[os.write(file, unwritten) :]
        except BaseException:
            os.close(file)
            os.unlink(path)
            raise
        return file

    def sync_file(self, file: int) -> None:
        """Wait until a file is on stable media."""
        os.fsync(file)

    def sync_directory(self, path: str) -> None:
        """Wait until the names in a directory are on stable media."""
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def side_by_side(self, sync: Callable[[T], None], things: Iterable[T]) -> None:
        """Sync many things. One after the other, each would wait for a flush of its own."""
        things = list(things)
        if len(things) == 1:
            sync(things[0])
        else:
            list(self._pool.map(sync, things))

    def close_file(self, file: int) -> None:
        """Let go of an open file."""
        os.close(file)

    def move(self, source: str, target: str) -> None:
        """Give a file or directory another name, in one step."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """Remove a file for good."""
        os.unlink(path)

    def read(self, path: str) -> bytes:
        """All bytes of a regular file."""
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            pieces = [os.read(file, os.fstat(file).st_size + 1)]
            while pieces[-1]:
                pieces.append(os.read(file, 1 << 20))
        finally:
            os.close(file)
        return b"".join(pieces)

    def times(self, path: str) -> Times | None:
        """Size and times of a file; None if there is none of that name."""
        try:
            status = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return Times(status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def files(self, path: str) -> list[str]:
        """The names of the regular files in a directory; none if there is no such directory."""
        try:
            with os.scandir(path) as entries:
                return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def directories(self, path: str) -> list[str]:
        """The names of the directories in a directory."""
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of that name."""
        return os.path.isdir(path) and not os.path.islink(path)

    def make_directory(self, path: str) -> None:
        """Make a directory, unless there is one."""
        try:
            os.mkdir(path, 0o750)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        os.rmdir(path)

    def device(self, path: str) -> int:
        """The file system that a directory is on."""
        return os.stat(path).st_dev

    def open_lock(self, path: str) -> int:
        """A file to be locked, made if there is none."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)

    def try_lock(self, lock: int) -> bool:
        """Take a lock that no other process has; False if one has it."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, lock: int) -> None:
        """Let go of a lock."""
        fcntl.flock(lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
