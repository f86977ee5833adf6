"""New messages on their way to `new`.

A body is written beside MQ-Core's folders, synced, and renamed into `new` only then: whoever looks there,
a mover of another make included, never sees a part of a message, nor one that a power cut could take away.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from penstock.core.errors import StoreFailed, StoreFull
from penstock.core.events import Event, MessagePublished
from penstock.core.ids import MessageId, to_uuid
from penstock.stores.spool.folders import Folders

OPEN_FILES_MAX = 256  # bodies written and not yet synced
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE}


def refusal(folders: Folders, exc: OSError) -> StoreFull | StoreFailed:
    """What an error means to whoever wants something kept."""
    kind = StoreFull if exc.errno in _NO_ROOM else StoreFailed
    return kind(f"nothing more can be written in {folders.root}: {exc.strerror}")


class Incoming:
    """Bodies that are written and not yet where others see them."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._files: dict[MessageId, int] = {}
        self.bodies: dict[MessageId, bytes] = {}

    def path(self, message_id: MessageId) -> str:
        return f"{self._folders.incoming}/{to_uuid(message_id)}"

    @property
    def is_full(self) -> bool:
        return len(self._files) >= OPEN_FILES_MAX

    def write(self, events: Sequence[Event]) -> None:
        """Write the bodies of all publishes among the events, or none."""
        written: list[MessageId] = []
        for event in events:
            if isinstance(event, MessagePublished):
                try:
                    self._write(event.id, event.content.body)
                except OSError as exc:
                    for message_id in written:
                        self.drop(message_id)
                    raise refusal(self._folders, exc) from exc
                written.append(event.id)

    def _write(self, message_id: MessageId, body: bytes) -> None:
        disk = self._folders.disk
        try:
            self._files[message_id] = disk.write_new(self.path(message_id), body)
        except FileNotFoundError:  # somebody tidied up our folder
            self._folders.make()
            self._files[message_id] = disk.write_new(self.path(message_id), body)
        self.bodies[message_id] = body

    def drop(self, message_id: MessageId) -> None:
        """A message that is over before anybody else saw it."""
        self._folders.disk.close_file(self._files.pop(message_id))
        del self.bodies[message_id]
        self._folders.disk.unlink(self.path(message_id))

    def abandon(self) -> None:
        """Leave what was never committed to a reaper."""
        for file in self._files.values():
            self._folders.disk.close_file(file)
        self._files.clear()

    def synced(self) -> list[MessageId]:
        """Sync all bodies; the messages that can be shown now."""
        files, self._files = self._files, {}
        if not files:
            return []
        disk = self._folders.disk
        try:
            disk.side_by_side(disk.sync_file, files.values())
        finally:
            for file in files.values():
                disk.close_file(file)
        self.bodies.clear()
        return list(files)
