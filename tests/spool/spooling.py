"""Servers without sockets on one root, what is in its folders, and a disk that fails on demand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from penstock.core.commands import Acknowledge, Claim, CreateQueue, DeleteQueue, Draft, IfMissing, Publish
from penstock.core.ids import MessageId, from_uuid, to_uuid
from penstock.core.model import Content, QueueName
from penstock.core.outcomes import Delivered, Delivery, Ended, Published, QueueShown
from penstock.engine.engine import Engine
from penstock.stores.spool import Disk, SpoolStore, reap
from tests.engine.driving import Driver

DELAY_MS = 10_000
DELAY_IS_OVER_MS = DELAY_MS + 1500  # the kernel's clock goes on while a test's stands still
FOUR = ("new", "queues", "delay", "remove")

T = TypeVar("T")


def queue_name(name: str) -> QueueName:
    return QueueName("default", name)


class FailingDisk(Disk):
    """Counts operations that change something; the one with the chosen number does not happen.

    It fails with an error, or the process ends there: then nothing that comes after it happens either.
    """

    def __init__(self, fails_at: int = -1, fault: BaseException | None = None) -> None:
        super().__init__()
        self.operations = 0
        self.fails_at = fails_at
        self.fault = fault or OSError(5, "Input/output error")
        self.is_ended = False

    def _count(self) -> None:
        self.operations += 1
        if self.is_ended:
            raise Killed
        if self.operations == self.fails_at:
            self.is_ended = isinstance(self.fault, Killed)
            raise self.fault

    def side_by_side(self, sync: Callable[[T], None], things: Iterable[T]) -> None:
        for thing in things:  # in a fixed order, so that a number always means the same operation
            sync(thing)

    def write_new(self, path: str, body: bytes) -> int:
        self._count()
        return super().write_new(path, body)

    def sync_file(self, file: int) -> None:
        self._count()
        super().sync_file(file)

    def sync_directory(self, path: str) -> None:
        self._count()
        super().sync_directory(path)

    def move(self, source: str, target: str) -> None:
        self._count()
        super().move(source, target)

    def unlink(self, path: str) -> None:
        self._count()
        super().unlink(path)

    def make_directory(self, path: str) -> None:
        self._count()
        super().make_directory(path)


class Killed(BaseException):
    """The process ended. No `except Exception` survives that."""


class Server(Driver):
    """An engine on a root, asked in MQ-Core's words. Its clock begins with the real one."""

    def __init__(
        self,
        root: Path,
        *,
        delay_ms: int = DELAY_MS,
        moves: bool = True,
        peers: int = 0,
        disk: Disk | None = None,
        wall_ms: int | None = None,
    ) -> None:
        self.root = root
        self.peers = peers
        now_ms = time.time_ns() // 1_000_000 if wall_ms is None else wall_ms
        self.spool = SpoolStore(root, delay_ms, moves=moves, reaps=False, disk=disk, now_ms=now_ms)
        super().__init__(self.spool, now_ms)
        self.engine = Engine(self.spool, lambda: self.wall_ms, self.spool.ids)

    def put(self, queue: str = "jobs") -> None:
        assert isinstance(self.ask(CreateQueue(queue_name(queue), None, keeps_existing=True)), QueueShown)

    def post(self, body: str, queue: str = "jobs") -> str:
        drafts = (Draft(Content(body.encode())),)
        outcome = self.ask(Publish(queue_name(queue), drafts, IfMissing.REFUSE))
        assert isinstance(outcome, Published), outcome
        return to_uuid(outcome.receipts[0].id)

    def fetch(self, queue: str = "jobs") -> Delivery | None:
        among = self.peers + 1
        outcome = self.ask(Claim((queue_name(queue),), if_missing=IfMissing.EMPTY, among=among))
        assert isinstance(outcome, Delivered), outcome
        return outcome.messages[0] if outcome.messages else None

    def fetched(self, queue: str = "jobs") -> str | None:
        delivery = self.fetch(queue)
        return None if delivery is None else delivery.content.body.decode()

    def delete(self, message_id: str | MessageId, queue: str = "jobs") -> bool:
        bits = from_uuid(message_id) if isinstance(message_id, str) else message_id
        assert bits is not None
        outcome = self.ask(Acknowledge("default", queue, (bits,)))
        assert isinstance(outcome, Ended), outcome
        return outcome.found[0]

    def drop(self, queue: str = "jobs") -> None:
        self.ask(DeleteQueue(queue_name(queue)))

    def reap(self) -> int:
        return reap(self.spool._folders)  # noqa: SLF001 - what the reaper does between two sleeps

    def close(self) -> None:
        self.spool.check()
        self.spool.close()

    def crash(self) -> None:
        """Go as a killed process goes: nothing more is written."""
        self.spool.close()


def tree(root: Path) -> dict[str, str]:
    """Every file in MQ-Core's folders with what is in it."""
    files = [path for folder in FOUR for path in sorted((root / folder).rglob("*")) if path.is_file()]
    found: dict[str, str] = {}
    for path in files:
        with suppress(FileNotFoundError):  # moved or unlinked by a daemon meanwhile
            found[path.relative_to(root).as_posix()] = path.read_text()
    return found
