"""A disk under SQLite that fails at a chosen operation, and knows what a power cut would leave of it.

It is a VFS, SQLite's own view of a disk, with the real file system below. Writes, truncations, syncs and
removals are counted; the one with the chosen number fails and those after it succeed.

What a power cut would leave is kept as Linux keeps it. A write is safe after the next sync of its file. When
that sync fails, the write is gone for good, although the file still shows it to whoever reads it. Everyone
who has the file open is told so once, by the next sync of theirs; the one after that succeeds.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

BASE = "unix"


class SafeFile:
    """What of one file is safe, and what was done to it since its last sync."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.failed_syncs = 0
        self._unsynced: list[tuple[int, bytes | None]] = []  # None: cut off at that offset

    def note(self, offset: int, data: bytes | None) -> None:
        self._unsynced.append((offset, data))

    def sync(self) -> None:
        for offset, data in self._unsynced:
            self.data.extend(bytes(max(0, offset - len(self.data))))
            if data is None:
                del self.data[offset:]
            else:
                self.data[offset : offset + len(data)] = data
        self._unsynced.clear()

    def fail_sync(self) -> None:
        self._unsynced.clear()
        self.failed_syncs += 1


class FaultyDisk(apsw.VFS):
    """The default disk of this process for as long as a `with` lasts."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__("faulty", BASE, makedefault=True)
        self.lock = threading.Lock()  # the store writes from two threads
        self.operations = 0
        self.fails_at = fails_at
        self.failed_at = ""  # what failed, once it has
        self._fails_next = ""
        self._safe: dict[str, SafeFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "the store keeps its temporary tables in memory"
        short_name = Path(path).name
        return FaultyFile(self, self._safe.setdefault(short_name, SafeFile()), name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - as SQLite calls it
        short_name = Path(filename).name
        with self.lock:
            self.count(f"removing {short_name}")
            super().xDelete(filename, syncdir)
            self._safe.pop(short_name, None)

    def count(self, operation: str) -> None:
        """One more operation, unless it is the one that fails."""
        self.operations += 1
        if self.operations == self.fails_at or operation == self._fails_next:
            self._fails_next = ""
            self.failed_at = operation
            raise apsw.IOError(f"{operation} fails, as it was told to")

    def fail_next(self, operation: str) -> None:
        """Let the next operation of this kind fail, for example `syncing penstock.sqlite-wal`."""
        self._fails_next = operation

    def leave_after_power_cut(self, directory: Path) -> None:
        """Write down the files as they would be found."""
        directory.mkdir()
        with self.lock:
            for name, safe in self._safe.items():
                (directory / name).write_bytes(safe.data)


class FaultyFile(apsw.VFSFile):
    """One file that is open on it."""

    def __init__(
        self, disk: FaultyDisk, safe: SafeFile, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(BASE, name, flags)
        self._disk = disk
        self._safe = safe
        self._told_of_failed_syncs = safe.failed_syncs
        self._name = Path(str(name.filename() if isinstance(name, apsw.URIFilename) else name)).name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        with self._disk.lock:
            self._disk.count(f"writing {self._name}")
            super().xWrite(data, offset)
            self._safe.note(offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._disk.lock:
            self._disk.count(f"truncating {self._name}")
            super().xTruncate(newsize)
            self._safe.note(newsize, None)

    def xSync(self, flags: int) -> None:  # noqa: N802
        with self._disk.lock:
            try:
                self._disk.count(f"syncing {self._name}")
            except apsw.IOError:
                self._safe.fail_sync()
            if self._told_of_failed_syncs < self._safe.failed_syncs:
                self._told_of_failed_syncs = self._safe.failed_syncs
                raise apsw.IOError(f"syncing {self._name} fails, and what was written before it is lost")
            super().xSync(flags)
            self._safe.sync()
