"""The ring on disk: `keys.json`, shared by a running server and the command line.

It is never changed in place. Under a lock the next one is written beside it, synced and renamed over it, so
that a reader finds the old ring or the new one, and after a crash one of the two is there. No file at all
means that keys are not in use; an empty ring means that nobody gets in.
"""

from __future__ import annotations

import fcntl
import os
import time
from base64 import b32encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from penstock.core.errors import KeyFileError
from penstock.keys.ring import KEYS_MAX, Fresh, Key, KeyRing

FILE_NAME = "keys.json"
VERSION = 1
FILE_BYTES_MAX = 64 * 1024 * 1024
LOCK_PATIENCE_S = 5.0
_LOCK_EVERY_S = 0.02
_ID_BYTES = 5
_SECRET_BYTES = 20  # 160 bits

Signature = tuple[int, int, int]  # which file it is, when it was written, how long it is
T = TypeVar("T")


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    keys: Annotated[tuple[Key, ...], Meta(max_length=KEYS_MAX)]


def draw() -> Fresh:
    """An id and a text that nobody can guess, and the time."""
    key_id = _letters(_ID_BYTES)
    return Fresh(key_id, f"pk_{key_id}_{_letters(_SECRET_BYTES)}", time.time_ns() // 1_000_000)


def _letters(count: int) -> str:
    return b32encode(token_bytes(count)).decode().lower()


class KeyFile:
    """The file in one data directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME

    def signature(self) -> Signature | None:
        """What differs after every change; None: there is no file, or none that can be looked at."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> KeyRing | None:
        """The ring; None: there is no file."""
        try:
            with self.path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise KeyFileError(f"cannot read {self.path}: {exc.strerror}") from exc
        return _decoded(data, self.path)

    def change(self, edit: Callable[[KeyRing, Fresh], tuple[KeyRing, T]]) -> T:
        """Put another ring in the place of this one; synced when it returns.

        What comes with the new ring is returned. The same ring again writes nothing.
        """
        try:
            with self._locked():
                before = self.read() or KeyRing()
                after, result = edit(before, draw())
                if after is not before:  # or else a mere look would begin to keep everybody out
                    self._write(after)
                return result
        except OSError as exc:
            raise KeyFileError(
                f"cannot change {self.path}: {exc.strerror}", hint="Nothing was changed."
            ) from exc

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Beside the file, because the file itself is replaced.
        lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._await_lock(lock)
            yield
        finally:
            os.close(lock)

    def _await_lock(self, lock: int) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise KeyFileError(
                        f"another process has been changing {self.path} for {LOCK_PATIENCE_S:.0f} s",
                        hint="Try again once it is done.",
                    ) from None
                time.sleep(_LOCK_EVERY_S)

    def _write(self, ring: KeyRing) -> None:
        data = msgspec.json.format(msgspec.json.encode(_Contents(VERSION, ring.keys)), indent=1) + b"\n"
        beside = self.path.with_suffix(".new")
        beside.unlink(missing_ok=True)  # left by a crash, with whatever rights it has
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(self.path)
        _sync_directory(self.path.parent)


def _sync_directory(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _decoded(data: bytes, path: Path) -> KeyRing:
    if len(data) > FILE_BYTES_MAX:
        raise KeyFileError(f"{path} is larger than {FILE_BYTES_MAX} bytes")
    try:
        contents = msgspec.json.decode(data, type=_Contents)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise KeyFileError(
            f"{path} is not a file of keys: {exc}", hint="`penstock key` writes it; put a copy back."
        ) from exc
    if contents.version != VERSION:
        raise KeyFileError(f"{path} is of version {contents.version}; this program knows version {VERSION}")
    for what in ([key.id for key in contents.keys], [key.text_sha256 for key in contents.keys]):
        if len(set(what)) != len(what):
            raise KeyFileError(f"{path} has a key twice")
    return KeyRing(contents.keys)
