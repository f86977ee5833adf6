"""The file itself: who owns it, its transactions, syncs and checkpoints.

SQLite in WAL mode with full syncs: a commit is one append to the log and one sync. The log is brought
into the file by checkpoints. A checkpoint of a long log takes hundreds of milliseconds, so most of it is
done on a thread of its own beside the commits; the rest, which is short by then, between two of them,
after which SQLite starts the log over at its beginning.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import apsw

from penstock.core.errors import StoreBusy, StoreFailed, StoreTooNew

VERSION = 1
APPLICATION_ID = 0x50454E53  # "PENS"
CACHE_KIB = 32 * 1024
LOG_PAGES_BEFORE_CHECKPOINT = 2048  # 8 MiB
LOG_PAGES_MAX = 32 * LOG_PAGES_BEFORE_CHECKPOINT  # then it is brought in at once, whatever it takes

_CANNOT_OPEN = "Is it a Penstock file, is there room on the disk, and may this user write there?"


class DataFile:
    """The one connection that writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = _own(path)
        try:
            self.connection = _connect(path)
        except BaseException:
            os.close(self._lock)
            raise
        self._log_pages = 0
        self.is_in_transaction = False
        self._checkpointer = Checkpointer(path)
        self.connection.set_wal_hook(self._note_log_pages)

    def _note_log_pages(self, connection: apsw.Connection, name: str, pages: int) -> int:  # noqa: ARG002
        self._log_pages = pages
        return apsw.SQLITE_OK

    def begin(self) -> apsw.Connection:
        """The connection, inside a transaction."""
        if not self.is_in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")
            self.is_in_transaction = True
        return self.connection

    def commit(self) -> None:
        """End the transaction, synced."""
        if self.is_in_transaction:
            self.connection.execute("COMMIT")
            self.is_in_transaction = False
            if self._log_pages > LOG_PAGES_BEFORE_CHECKPOINT:
                self._shorten_log()

    def _shorten_log(self) -> None:
        pages_left = self._log_pages - self._checkpointer.pages_done
        if pages_left > LOG_PAGES_BEFORE_CHECKPOINT // 4 and self._log_pages <= LOG_PAGES_MAX:
            self._checkpointer.wake()
            return
        # Most of it is in the file already: bring in the rest, and the log starts over.
        with suppress(apsw.BusyError):  # the checkpointer is still at it; the next commit tries again
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._log_pages = 0
            self._checkpointer.pages_done = 0

    def close(self) -> None:
        """Let go of the file. What was not committed is not kept."""
        self._checkpointer.stop()
        with suppress(apsw.Error):  # the log that could not be brought in stays for the next start
            self.connection.close(force=True)
        os.close(self._lock)


class Checkpointer:
    """Brings the log into the file on a thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_wanted = threading.Event()
        self._is_stopping = False
        self.pages_done = 0  # of the log, at the last look
        self._thread = threading.Thread(target=self._work, name="checkpointer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Ask for a checkpoint, unless one is under way."""
        self._is_wanted.set()

    def stop(self) -> None:
        """End, after the checkpoint under way."""
        self._is_stopping = True
        self._is_wanted.set()
        self._thread.join()

    def _work(self) -> None:
        # A fault here is not ours to answer for: the writer meets it at its next commit or checkpoint.
        with suppress(apsw.Error):
            connection = apsw.Connection(str(self._path))
            connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")
            while self._is_wanted.wait() and not self._is_stopping:
                self._is_wanted.clear()
                with suppress(apsw.BusyError):  # the writer is at it itself
                    self.pages_done = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)[1]
            connection.close()


def _own(path: Path) -> int:
    """Take the lock that makes this process the only one to write the file."""
    lock_path = path.with_suffix(".lock")
    lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        owner = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise StoreBusy(
            f"{path} is in use by another penstock (process {owner})",
            "Stop that one first, or give this one a directory of its own with --data.",
        ) from exc
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode("ascii"))
    return lock


def _connect(path: Path) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(path))
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # SQLite answers with the mode in force rather than with an error.
        if connection.pragma("journal_mode", "wal") != "wal":
            raise StoreFailed(f"cannot open {path}: it cannot be written with a log", _CANNOT_OPEN)
        connection.execute(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY"
        )
        if _is_blank(connection):
            _create(connection)
        _check_version(path, connection)
        # A first write makes the log's file; then its name, too, has to survive a power cut.
        connection.execute("UPDATE state SET only_row = 1")
    except apsw.Error as exc:
        raise StoreFailed(f"cannot open {path}: {exc}", _CANNOT_OPEN) from exc
    _sync_directory(path.parent)
    return connection


def _is_blank(connection: apsw.Connection) -> bool:
    """Whether nothing was ever made in it: new, or left so by a start that did not get far."""
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return tables == (0,) and connection.pragma("application_id") == 0


def _create(connection: apsw.Connection) -> None:
    schema = files("penstock.stores.sqlite").joinpath("schema.sql").read_text("utf-8")
    with connection:
        connection.execute(schema)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}")


def _check_version(path: Path, connection: apsw.Connection) -> None:
    application_id = connection.pragma("application_id")
    version = connection.pragma("user_version")
    if application_id != APPLICATION_ID:
        raise StoreTooNew(f"{path} is not a Penstock file", "Give another directory with --data.")
    if version != VERSION:
        raise StoreTooNew(
            f"{path} has format {version}, this Penstock knows format {VERSION}",
            "Use the version of Penstock that wrote it, or a later one.",
        )


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
