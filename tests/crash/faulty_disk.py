"""A disk under SQLite that fails at a chosen operation, and remembers what a power cut would have left.

It is a VFS: SQLite's own view of a disk, with the real file system below. Writes, truncations, syncs and removals
are counted. The one with the chosen number fails; those after it succeed, because that is how a disk with one
bad moment behaves, and because a kernel reports success for a sync after a failed one although the data is gone.

What was synced by then is copied to `synced`, file by file. From the failure on nothing is: whoever goes on
promising breaks those promises.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

BASE = "unix"


class FaultyDisk(apsw.VFS):
    """The default disk of this process for as long as a `with` lasts."""

    def __init__(self, synced: Path, fails_at: int | None = None) -> None:
        super().__init__("faulty", BASE, makedefault=True)
        self.operations = 0
        self.has_failed = False
        self._synced = synced
        self._fails_at = fails_at

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "the store keeps its temporary tables in memory"
        return FaultyFile(self, Path(path), name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - as SQLite calls it
        self.count()
        super().xDelete(filename, syncdir)
        if not self.has_failed:
            (self._synced / Path(filename).name).unlink(missing_ok=True)

    def count(self) -> None:
        """One more operation, unless it is the one that fails."""
        self.operations += 1
        if self.operations == self._fails_at:
            self.has_failed = True
            raise apsw.IOError("the disk has failed, as it was told to")

    def keep(self, path: Path) -> None:
        """A file was synced: what is in it now stays."""
        if not self.has_failed:
            shutil.copy(path, self._synced / path.name)


class FaultyFile(apsw.VFSFile):
    """One file on it."""

    def __init__(
        self, disk: FaultyDisk, path: Path, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(BASE, name, flags)
        self._disk = disk
        self._path = path

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.count()
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.count()
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.count()
        super().xSync(flags)
        self._disk.keep(self._path)


def as_after_a_crash(source: Path, target: Path) -> None:
    """Copy the files that a next start would find; the shared-memory index is not one that it believes."""
    target.mkdir()
    for path in source.iterdir():
        if not path.name.endswith("-shm"):
            shutil.copy(path, os.fspath(target))
