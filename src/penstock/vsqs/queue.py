"""Queues that are directories, for any number of processes and threads at a time."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from penstock.core.errors import PenstockError
from penstock.vsqs.consuming import Consumer
from penstock.vsqs.files import Directory
from penstock.vsqs.following import CLOCK_STEP_S, UNTOLD_S, Follower
from penstock.vsqs.names import (
    NEW,
    READY,
    Unit,
    checked_id,
    checked_queue_name,
    file_name,
    moment_us,
    span_us,
)
from penstock.vsqs.publishing import Publisher

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


def _checked_body(data: Buffer) -> memoryview:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a message is bytes, not {type(data).__name__}")
    return memoryview(data).cast("B")


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
        self._clock_us = clock_us
        self._directory = Directory(self.path)
        self._directory.make()
        self._follower = Follower(self._directory, clock_us)
        self._publisher = Publisher(self._directory, self._follower, clock_us, unit)
        self._consumer = Consumer(self._directory, self._follower, clock_us)
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
        return self.publish_many([data], timeout)[0]

    def publish_many(self, data: Sequence[Buffer], timeout: float | None = None) -> list[str]:
        """Keep messages for good, in this order, and return their ids: much quicker than one by one.

        If it fails, none of them counts as published, though some may have been seen already.
        """
        bodies = [_checked_body(each) for each in data]
        self._take_room(len(bodies), Deadline(timeout))
        try:
            return self._publisher.publish(bodies)
        finally:
            with self._follower.lock:
                self._being_published -= len(bodies)

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
                claimed = self._consumer.claim_oldest(hidden_us)
                expiry_us = self._follower.index.next_expiry_us()
                seen = self._follower.sight()
            if claimed is not None:
                message_id, descriptor = claimed
                data = self._consumer.read(message_id, descriptor)
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
            self._consumer.remove(message_id)
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

    def _take_room(self, count: int, deadline: Deadline) -> None:
        while True:
            with self._follower.lock:
                self._check_open()
                if self.capacity is None or self._occupied() + count <= self.capacity:
                    self._being_published += count
                    return
                seen = self._follower.sight()
            left_s = deadline.left_s()
            if left_s == 0:
                limit = f"it may have {self.capacity} messages"
                raise QueueFullException(
                    f"the queue {self.path} has no room for {count} more: {limit}",
                    hint="consume some of them, or give it a larger capacity",
                )
            self._follower.wait(seen, left_s)

    def _occupied(self) -> int:
        """Messages that are there or that another thread is about to add."""
        return self._follower.refresh().size + self._being_published

    def _until_next(self, expiry_us: int | None, left_s: float | None) -> float | None:
        """How long a consumer may wait before something can be due."""
        if expiry_us is None:
            return left_s
        due_s = (expiry_us - self._clock_us()) / 1_000_000
        wait_s = UNTOLD_S if due_s <= 0 else min(due_s, CLOCK_STEP_S)
        return wait_s if left_s is None else min(wait_s, left_s)

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
