"""Adding messages: named, written, synced, and only then shown.

A message is written under a name that nobody reads, synced, and moved to its id without ever replacing a
file; then the directory is synced. Many at a time share their syncs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from penstock.vsqs.files import Directory
from penstock.vsqs.following import Follower
from penstock.vsqs.names import NEW, Unit, file_name, id_after, id_at, moment_us

# A clock that ticks a thousand times a second names a thousand messages. More than that may be published in a
# burst, with ids ahead of the clock; but the id of a message must be in the past before whoever failed to
# delete it in time can do so too late, or a new process might have used it again.
_AHEAD_US_MAX = 10_000_000
_CLOCK_STEP_US_MIN = 1_000_000

# Syncing a group writes whatever else waits to be written on that file system: too much for a few messages.
_GROUP_MIN = 8


class Publisher:
    """Writes messages into one directory."""

    def __init__(
        self, directory: Directory, follower: Follower, clock_us: Callable[[], int], unit: Unit
    ) -> None:
        self._directory = directory
        self._follower = follower
        self._clock_us = clock_us
        self._unit: Unit = unit
        self._last_id_us = 0

    def publish(self, bodies: Sequence[memoryview]) -> list[str]:
        """Keep messages for good, in this order; if that fails, leave none as far as that can be helped."""
        shown: list[str] = []
        try:
            while len(shown) < len(bodies):
                self._publish_run(bodies[len(shown) :], shown)
            self._directory.sync()
        except BaseException:
            self._withdraw(shown)
            raise
        return shown

    def _publish_run(self, bodies: Sequence[memoryview], shown: list[str]) -> None:
        """Publish up to the first one that somebody got in the way of, which then gets another id."""
        ids: list[str] = []
        try:
            self._write_drafts(bodies, ids)
            while ids and self._show(ids[0]):
                shown.append(ids.pop(0))
        finally:
            self._withdraw([file_name(message_id, NEW) for message_id in ids])

    def _write_drafts(self, bodies: Sequence[memoryview], ids: list[str]) -> None:
        group = self._directory.begin_group() if len(bodies) >= _GROUP_MIN else None
        try:
            for body in bodies:
                message_id, descriptor = self._start_draft()
                ids.append(message_id)
                try:
                    self._directory.write(descriptor, body)
                    if group is None:
                        self._directory.sync_file(descriptor)
                finally:
                    self._directory.close(descriptor)
            if group is not None:
                self._directory.sync_group(group)
        finally:
            if group is not None:
                self._directory.close(group)

    def _show(self, message_id: str) -> bool:
        """False if a program that did not look took the id, or one that cleaned up took the draft."""
        try:
            self._directory.move_to_new_name(file_name(message_id, NEW), message_id)
        except (FileExistsError, FileNotFoundError):
            return False
        return True

    def _withdraw(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                self._directory.remove_if_there(name)
            except OSError:
                pass  # what brought us here is what has to be told

    def _start_draft(self) -> tuple[str, int]:
        """A new file to write to, of an id that no other message has or will have."""
        while True:
            with self._follower.lock:
                message_id = self._next_id()
                wait_us = self._too_far_ahead_us(message_id)
                descriptor = None if wait_us else self._create_draft(message_id)
            if descriptor is not None:
                return message_id, descriptor
            time.sleep(wait_us / 1_000_000)

    def _next_id(self) -> str:
        """The present moment, or the one after the last id where that is still to come."""
        last_us = max(self._follower.refresh().highest_us, self._last_id_us)
        message_id = id_at(self._clock_us(), self._unit)
        return message_id if moment_us(message_id) > last_us else id_after(last_us, self._unit)

    def _too_far_ahead_us(self, message_id: str) -> int:
        """How long to wait until an id may be used: not at all if it is the clock that stepped back."""
        wait_us = moment_us(message_id) - self._clock_us() - _AHEAD_US_MAX
        return wait_us if 0 < wait_us <= _CLOCK_STEP_US_MIN else 0

    def _create_draft(self, message_id: str) -> int | None:
        """None if somebody else has the id."""
        draft = file_name(message_id, NEW)
        try:
            descriptor = self._directory.create(draft)
        except FileExistsError:
            return None
        except FileNotFoundError:
            self._directory.make()
            return None
        # From now on nobody else begins a message of this id, and whoever did so before is known by now.
        if self._follower.refresh().extensions(message_id) in {(NEW,), ()}:
            self._last_id_us = moment_us(message_id)
            return descriptor
        self._directory.close(descriptor)
        self._directory.remove_if_there(draft)
        return None
