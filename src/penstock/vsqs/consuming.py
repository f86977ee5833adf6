"""Taking messages: what expired is requeued, the oldest is claimed, and an id is enough to remove one.

All of this is done with the follower's lock held, so that threads of a process do not race each other; other
processes win and lose races by the renames of the file system alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from penstock.vsqs.files import Directory
from penstock.vsqs.following import Follower
from penstock.vsqs.names import NEW, expiry_like, file_name

log = logging.getLogger(__name__)

# A file that cannot be read is tried again after this.
_PASSED_OVER_US = 60_000_000


class Consumer:
    """Takes messages from one directory."""

    def __init__(self, directory: Directory, follower: Follower, clock_us: Callable[[], int]) -> None:
        self._directory = directory
        self._follower = follower
        self._clock_us = clock_us

    def claim_oldest(self, hidden_us: int) -> tuple[str, int] | None:
        """Claim the oldest message, once nothing is left to requeue: its id and its open file."""
        while True:
            index = self._follower.refresh()
            now_us = self._clock_us()
            expired = index.expired(now_us)
            for file in expired:
                self._move(file_name(file.id, file.extension), file.id)
            if expired:
                continue
            message_id = index.oldest_ready()
            if message_id is None:
                return None
            expiry_us = now_us + hidden_us
            while expiry_like(message_id, expiry_us) in index.extensions(message_id):
                expiry_us += 1000  # another message of the same id, by a program that did not look first
            claimed = file_name(message_id, expiry_like(message_id, expiry_us))
            if self._move(message_id, claimed):
                descriptor = self._open(message_id, claimed)
                if descriptor is not None:
                    return message_id, descriptor

    def read(self, message_id: str, descriptor: int) -> bytes | None:
        """The body of a claimed message, whose file is closed by this; None if it cannot be read."""
        try:
            return self._directory.read(descriptor)
        except OSError as error:
            # It is claimed like any other, so it is tried again when the claim is over.
            self._say(message_id, error)
            return None
        finally:
            self._directory.close(descriptor)

    def remove(self, message_id: str) -> None:
        """Remove a message in whatever state it is."""
        while not self._remove_all(message_id, self._extensions(message_id)):
            pass  # it was moved meanwhile

    def _open(self, message_id: str, claimed: str) -> int | None:
        """The file of a message that is ours; opened any earlier, it could be another message's by now."""
        try:
            return self._directory.open(claimed)
        except FileNotFoundError:
            self._follower.look_again(claimed)  # deleted by its id, or expired by another's clock
        except OSError as error:
            self._say(message_id, error)
            self._follower.index.pass_over(message_id, self._clock_us() + _PASSED_OVER_US)
            self._move(claimed, message_id)
        return None

    def _say(self, message_id: str, error: OSError) -> None:
        log.warning("message %s in %s is passed over: %s", message_id, self._directory.path, error.strerror)

    def _move(self, name: str, new_name: str) -> bool:
        """False if somebody else was quicker."""
        try:
            self._directory.move(name, new_name)
        except FileNotFoundError:
            self._follower.look_again(name)
            return False
        except FileExistsError:
            self._follower.look_again(new_name)
            return False
        return True

    def _extensions(self, message_id: str) -> tuple[str, ...]:
        """What to remove of an id."""
        extensions = self._follower.refresh().extensions(message_id)
        if not extensions and not self._follower.is_told_of_changes:
            # A file that is renamed during a listing may be missing from it, but hardly from two.
            extensions = self._follower.refresh().extensions(message_id)
        # Beside a message, a draft is that of a publisher who is about to find the id taken.
        return tuple(each for each in extensions if each != NEW) or extensions

    def _remove_all(self, message_id: str, extensions: tuple[str, ...]) -> bool:
        """False if one of these files was not there."""
        for extension in extensions:
            name = file_name(message_id, extension)
            try:
                self._directory.remove(name)
            except FileNotFoundError:
                self._follower.look_again(name)
                return False
        return True
