"""Where files are, and how they go from one folder to the next.

Every step in the life of a message is one rename, and whoever's rename succeeds has made that step. A file
that is not there any more was taken by somebody else: that is an answer, not a fault.

Besides MQ-Core's four folders there is one of our own, `.penstock`, for what must not be seen in them:

    .penstock/incoming/ID     being written; renamed into `new` once it is synced
    .penstock/deleted/Q.ID    the folder of a deleted queue, until its files are unlinked
    .penstock/mover.lock      held for the instant in which one server gives a message back to its queue
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum

from penstock.core.errors import StoreFailed
from penstock.core.model import Phase
from penstock.stores.spool.disk import Disk


class Moved(Enum):
    """How a rename went."""

    DONE = 1
    GONE = 2  # the file is not there: somebody else moved or removed it
    NOWHERE = 3  # its queue has no folder


class Folders:
    """The directories of one root."""

    def __init__(self, root: str, disk: Disk) -> None:
        self.disk = disk
        self.root = root
        self.new = f"{root}/new"
        self.queues = f"{root}/queues"
        self.delay = f"{root}/delay"
        self.remove = f"{root}/remove"
        self.own = f"{root}/.penstock"
        self.incoming = f"{self.own}/incoming"
        self.deleted = f"{self.own}/deleted"
        self.lock = f"{self.own}/mover.lock"

    @property
    def four(self) -> tuple[str, str, str, str]:
        """MQ-Core's own."""
        return (self.new, self.queues, self.delay, self.remove)

    def make(self) -> None:
        """Make what is missing, and see that a rename can reach everything."""
        try:
            os.makedirs(self.root, 0o750, exist_ok=True)
            for path in (*self.four, self.own, self.incoming, self.deleted):
                self.disk.make_directory(path)
            devices = {self.disk.device(path) for path in (*self.four, self.incoming, self.deleted)}
            self.sync([self.root, self.own])
        except OSError as exc:
            raise StoreFailed(
                f"cannot make the folders in {self.root}: {exc.strerror}", "Is it a directory, and writable?"
            ) from exc
        if len(devices) > 1:
            raise StoreFailed(
                f"the folders in {self.root} are on several file systems",
                "Messages are moved by renaming them, which cannot leave a file system.",
            )

    def queue(self, queue: str) -> str:
        """The folder of a queue."""
        return f"{self.queues}/{queue}"

    def path(self, phase: Phase, queue: str, name: str) -> str:
        """Where a message is in a phase."""
        match phase:
            case Phase.READY:
                return f"{self.queues}/{queue}/{name}"
            case Phase.CLAIMED:
                return f"{self.delay}/{queue}:{name}"
            case Phase.DELAYED:
                return f"{self.new}/{queue}:{name}"
            case _:
                raise AssertionError(f"there is no folder for {phase.name}")

    def folder(self, phase: Phase, queue: str) -> str:
        """The directory to be synced when a message came into a phase or left it."""
        return self.path(phase, queue, "").rpartition("/")[0]

    def removed(self, queue: str, name: str) -> str:
        """Where a message waits to be unlinked."""
        return f"{self.remove}/{queue}:{name}"

    def move(self, source: str, target: str) -> Moved:
        """Rename a file, unless somebody else has."""
        try:
            self.disk.move(source, target)
        except FileNotFoundError:
            return self._move_after_all(source, target)
        return Moved.DONE

    def _move_after_all(self, source: str, target: str) -> Moved:
        """Either there is no such file or no such folder, and a rename does not say which."""
        if self.disk.times(source) is None:
            return Moved.GONE
        folder = target.rpartition("/")[0]
        if folder not in self.four and not self.disk.is_directory(folder):
            return Moved.NOWHERE
        # One of the four was removed under us. It is nobody's message, so it is simply made again.
        self.disk.make_directory(folder)
        try:
            self.disk.move(source, target)
        except FileNotFoundError:
            return Moved.GONE
        return Moved.DONE

    def sync(self, paths: Iterable[str]) -> None:
        """Wait until the names in directories are on stable media."""
        self.disk.side_by_side(self._sync, paths)

    def _sync(self, path: str) -> None:
        try:
            self.disk.sync_directory(path)
        except FileNotFoundError:
            # The folder of a queue that somebody deleted takes its names along; the four must be there.
            if path in self.four:
                raise

    def where(self, queue: str, name: str) -> Phase | None:
        """The phase in which a message is by its folder; None if it is in none of them.

        It may be moved between two looks, from a folder not yet looked into to one that was. Its next move
        but one takes a consumer, so a second round does not miss it.
        """
        for phase in (Phase.READY, Phase.CLAIMED, Phase.DELAYED) * 2:
            if self.disk.times(self.path(phase, queue, name)) is not None:
                return phase
        return None
