"""Queues that are directories, for any number of processes and threads at a time."""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

from penstock.core.errors import PenstockError
from penstock.vsqs.files import Directory
from penstock.vsqs.following import CLOCK_STEP_S, UNTOLD_S, Follower
from penstock.vsqs.names import (
    NEW,
    READY,
    Unit,
    checked_id,
    checked_queue_name,
    expiry_like,
    file_name,
    id_after,
    id_at,
    moment_us,
    span_us,
)

log = logging.getLogger(__name__)

# A file that cannot be read is tried again after this.
_PASSED_OVER_US = 60_000_000

# A clock that ticks a thousand times a second names a thousand messages. More than that may be published in a
# burst, with ids ahead of the clock; but the id of a message must be in the past before whoever failed to
# delete it in time can do so too late, or a new process might have used it again.
_AHEAD_US_MAX = 10_000_000
_CLOCK_STEP_US_MIN = 1_000_000

Buffer = bytes | bytearray | memoryview


def wall_clock_us() -> int:
    return time.time_ns() // 1000


class QueueFullException(PenstockError):
    """A queue has as many messages as it may, and had them until the time was up."""


class StoredMessage(NamedTuple):
    """One message as a listing shows it."""

    id: str
    state: str  # "new" while it is being written, then "ready" or "consumed"
    expires_at_us: int | None  # until when it is being consumed
    size: int


class Deadline:
    """When to stop waiting. At zero one looks once."""

    def __init__(self, timeout_s: float | None) -> None:
        self._at_s = None if timeout_s is None else time.monotonic() + timeout_s

    def left_s(self) -> float | None:
        """None: there is no end."""
        return None if self._at_s is None else max(0.0, self._at_s - time.monotonic())


class Queue:
    """One directory of messages: the oldest first, each hidden while somebody works on it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        capacity: int | None = None,
        *,
        unit: Unit = "ms",
        clock_us: Callable[[], int] = wall_clock_us,
    ) -> None:
        """Use a directory, and make it if it is not there.

        A `publish` waits while `capacity` messages or more are there. New ids are milliseconds, or
        microseconds with `unit="us"`; either are read.
        """
        if unit not in {"ms", "us"}:
            raise ValueError(f"an id counts 'ms' or 'us', not {unit!r}")
        self.path = os.path.abspath(path)
        self.capacity = capacity
        self._unit: Unit = unit
        self._clock_us = clock_us
        self._directory = Directory(self.path)
        self._directory.make()
        self._follower = Follower(self._directory, clock_us)
        self._last_id_us = 0
        self._being_published = 0
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, data: Buffer, timeout: float | None = None) -> str:
        """Keep a message for good and return its id.

        Raises `QueueFullException` if the queue has no room for it within `timeout` seconds (None: waits
        for as long as it takes, 0: looks once).
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a message is bytes, not {type(data).__name__}")
        self._take_room(Deadline(timeout))
        try:
            return self._publish(memoryview(data).cast("B"))
        finally:
            with self._follower.lock:
                self._being_published -= 1

    def receive(
        self, visibility_timeout: float = 10, timeout: float | None = None
    ) -> tuple[str, bytes] | tuple[None, None]:
        """The id and the data of the oldest message, which nobody else gets for `visibility_timeout` seconds.

        If there is none within `timeout` seconds (None: waits for as long as it takes, 0: looks once) it is
        `(None, None)`. Whoever does not `delete` the message leaves it to the next.
        """
        hidden_us = span_us(visibility_timeout)
        deadline = Deadline(timeout)
        while True:
            with self._follower.lock:
                self._check_open()
                claimed = self._claim_oldest(hidden_us)
                expiry_us = self._follower.index.next_expiry_us()
                seen = self._follower.sight()
            if claimed is not None:
                message_id, descriptor = claimed
                data = self._read(message_id, descriptor)
                if data is not None:
                    return message_id, data
            elif (left_s := deadline.left_s()) == 0:
                return None, None
            else:
                self._follower.wait(seen, self._until_next(expiry_us, left_s))

    def delete(self, message_id: str | int) -> None:
        """End a message for good, whoever has it; nothing happens if there is none of that id."""
        message_id = checked_id(message_id)
        with self._follower.lock:
            self._check_open()
            while not self._remove_all(message_id, self._extensions_to_delete(message_id)):
                pass  # it was moved meanwhile
        # Also if somebody else removed it, who may not have synced yet.
        self._sync_if_there()

    def size(self) -> int:
        """How many messages there are, those included that are being consumed."""
        with self._follower.lock:
            self._check_open()
            return self._follower.refresh().size

    def messages(self) -> Iterator[StoredMessage]:
        """Everything in the queue, oldest first."""
        with self._follower.lock:
            self._check_open()
            files = list(self._follower.refresh().files())
        for file in files:
            size = self._directory.size(file_name(file.id, file.extension))
            if size is not None:
                is_consumed = file.extension not in (READY, NEW)
                expires_at_us = moment_us(file.extension) if is_consumed else None
                state = "consumed" if is_consumed else file.extension or "ready"
                yield StoredMessage(file.id, state, expires_at_us, size)

    def close(self) -> None:
        """Let go of the directory. Those who wait on it stop."""
        with self._follower.lock:
            self._is_closed = True
            self._follower.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError(f"the queue {self.path} was closed")

    # Publishing

    def _take_room(self, deadline: Deadline) -> None:
        while True:
            with self._follower.lock:
                self._check_open()
                if self.capacity is None or self._occupied() < self.capacity:
                    self._being_published += 1
                    return
                seen = self._follower.sight()
            left_s = deadline.left_s()
            if left_s == 0:
                raise QueueFullException(
                    f"the queue {self.path} has {self.capacity} messages and room for no more",
                    hint="consume some of them, or give it a larger capacity",
                )
            self._follower.wait(seen, left_s)

    def _occupied(self) -> int:
        """Messages that are there or that another thread is about to add."""
        return self._follower.refresh().size + self._being_published

    def _publish(self, data: memoryview) -> str:
        while True:
            message_id, descriptor = self._start_draft()
            draft = file_name(message_id, NEW)
            try:
                try:
                    self._directory.write(descriptor, data)
                    self._directory.sync_file(descriptor)
                finally:
                    self._directory.close(descriptor)
                self._directory.move_to_new_name(draft, message_id)
            except FileExistsError:
                # Only a program that does not look first can have taken the id meanwhile.
                self._directory.remove_if_there(draft)
                continue
            except FileNotFoundError:
                continue  # taken for a leftover by somebody whose clock is an hour ahead
            except BaseException:
                self._withdraw(draft)
                raise
            self._sync_or_withdraw(message_id)
            return message_id

    def _start_draft(self) -> tuple[str, int]:
        """A new file to write to, of an id that no other message has or will have."""
        while True:
            with self._follower.lock:
                self._check_open()
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

    def _sync_or_withdraw(self, message_id: str) -> None:
        try:
            self._directory.sync()
        except BaseException:
            self._withdraw(message_id)
            raise

    def _withdraw(self, name: str) -> None:
        """Leave nothing behind of what is reported as failed, as far as that can be done."""
        try:
            self._directory.remove_if_there(name)
        except OSError:
            pass  # the failure that brought us here is the one to report

    # Receiving

    def _claim_oldest(self, hidden_us: int) -> tuple[str, int] | None:
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

    def _open(self, message_id: str, claimed: str) -> int | None:
        """The file of a message that is ours; opened any earlier, it could be another message's by now."""
        try:
            return self._directory.open(claimed)
        except FileNotFoundError:
            self._follower.look_again(claimed)  # deleted by its id, or expired by another's clock
        except OSError as error:
            log.warning("message %s in %s is passed over: %s", message_id, self.path, error.strerror)
            self._follower.index.pass_over(message_id, self._clock_us() + _PASSED_OVER_US)
            self._move(claimed, message_id)
        return None

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

    def _read(self, message_id: str, descriptor: int) -> bytes | None:
        try:
            return self._directory.read(descriptor)
        except OSError as error:
            # It is claimed like any other, so it is tried again when the claim is over.
            log.warning("message %s in %s cannot be read: %s", message_id, self.path, error.strerror)
            return None
        finally:
            self._directory.close(descriptor)

    def _until_next(self, expiry_us: int | None, left_s: float | None) -> float | None:
        """How long a consumer may wait before something can be due."""
        if expiry_us is None:
            return left_s
        due_s = (expiry_us - self._clock_us()) / 1_000_000
        wait_s = UNTOLD_S if due_s <= 0 else min(due_s, CLOCK_STEP_S)
        return wait_s if left_s is None else min(wait_s, left_s)

    # Deleting

    def _extensions_to_delete(self, message_id: str) -> tuple[str, ...]:
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

    def _sync_if_there(self) -> None:
        try:
            self._directory.sync()
        except FileNotFoundError:
            pass  # with the directory went the message


class QueueManager:
    """The queues below one directory."""

    def __init__(self, path: str | os.PathLike[str] = ".") -> None:
        self.path = os.path.abspath(path)
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get_queue(self, name: str, capacity: int | None = None, *, unit: Unit = "ms") -> Queue:
        """The queue of that name, which is made if there is none."""
        queue = Queue(os.path.join(self.path, checked_queue_name(name)), capacity, unit=unit)
        self._queues.add(queue)
        return queue

    def close(self) -> None:
        """Close all queues that came from here."""
        for queue in tuple(self._queues):
            queue.close()
