"""Unlinks what was removed: MQ-Core's third daemon, and the last of our own that is left over."""

from __future__ import annotations

import logging
import threading
import time

from penstock.stores.spool.folders import Folders
from penstock.stores.spool.names import split

log = logging.getLogger(__name__)

EVERY_S = 5.0
GATHERED_FOR_S = 0.05  # so that many deletions are one sweep
LEFT_OVER_AFTER_NS = 3_600_000_000_000  # a body still unfinished after an hour was a crash


def reap(folders: Folders) -> int:
    """Unlink the messages in `remove`, and what deleted queues and crashes left; how many files it was."""
    disk = folders.disk
    removed = [name for name in disk.files(folders.remove) if split(name) is not None]
    count = sum(_unlink(folders, f"{folders.remove}/{name}") for name in removed)
    for name in disk.directories(folders.deleted):
        path = f"{folders.deleted}/{name}"
        count += sum(_unlink(folders, f"{path}/{file_name}") for file_name in disk.files(path))
        try:
            disk.remove_directory(path)
        except OSError as exc:  # another reaper was quicker, or somebody keeps things of their own there
            log.debug("%s stays: %s", path, exc)
    for name in disk.files(folders.incoming):
        times = disk.times(f"{folders.incoming}/{name}")
        if times is not None and times.written_at_ns < time.time_ns() - LEFT_OVER_AFTER_NS:
            count += _unlink(folders, f"{folders.incoming}/{name}")
    return count


def _unlink(folders: Folders, path: str) -> int:
    try:
        folders.disk.unlink(path)
    except FileNotFoundError:
        return 0  # another reaper was quicker
    return 1


class Reaper:
    """Reaps on a thread of its own, soon after it was told that there is something."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._is_wanted = threading.Event()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="spool-reaper", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to unlink."""
        self._is_wanted.set()

    def stop(self) -> None:
        """End, after the sweep under way."""
        self._is_stopping.set()
        self._is_wanted.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._is_stopping.wait(GATHERED_FOR_S):
            try:
                reap(self._folders)
            except OSError as exc:  # nothing depends on it: what stays now goes at a later sweep
                log.warning("the reaper cannot unlink everything: %s", exc)
            self._is_wanted.wait(EVERY_S)
            self._is_wanted.clear()
