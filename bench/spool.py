"""What publish, fetch and delete cost on a spool with few and with many messages waiting.

    python bench/spool.py [--root DIR] [--depths 10,10000,100000] [--operations 300]

Each operation is one command through the engine, synced like any other, without HTTP. Beside it the same
steps by the document alone: a program that lists the folder of the queue to find the oldest message. Medians
in microseconds; give `--root /dev/shm/…` to leave the disk's syncs out and see our own cost.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from penstock.core.commands import Acknowledge, Claim, CreateQueue, Draft, IfMissing, Publish
from penstock.core.ids import MessageId
from penstock.core.model import Content, QueueName
from penstock.core.outcomes import Delivered, Outcome, Published
from penstock.engine.engine import Engine
from penstock.stores.spool import SpoolStore

QUEUE = QueueName("default", "jobs")
BODY = b"x" * 1000
Medians = tuple[float, ...]
DELAY_MS = 3_600_000  # nothing comes back while it is measured


class Answer:
    """Takes one outcome."""

    outcome: Outcome | None = None

    def answer(self, outcome: Outcome) -> bool:
        self.outcome = outcome
        return True


class Ours:
    """The store, by way of the engine."""

    name = "spool"

    def __init__(self, root: Path) -> None:
        begun_at = time.perf_counter()
        self._store = SpoolStore(root, DELAY_MS)
        self.start_s = time.perf_counter() - begun_at
        self._engine = Engine(self._store, ids=self._store.ids)
        self._ask(CreateQueue(QUEUE, None, keeps_existing=True))

    def _ask(self, command: CreateQueue | Publish | Claim | Acknowledge) -> Outcome | None:
        asker = Answer()
        self._engine.submit(command, asker)
        self._engine.run()
        return asker.outcome

    def publish(self) -> None:
        assert isinstance(self._ask(Publish(QUEUE, (Draft(Content(BODY)),), IfMissing.REFUSE)), Published)

    def fetch(self) -> MessageId:
        outcome = self._ask(Claim((QUEUE,)))
        assert isinstance(outcome, Delivered)
        return outcome.messages[0].id

    def delete(self, message_id: MessageId) -> None:
        self._ask(Acknowledge("default", "jobs", (message_id,)))

    def close(self) -> None:
        self._store.close()


class Listing:
    """The document, word by word, with the same syncs."""

    name = "listing"
    start_s = 0.0

    def __init__(self, root: Path) -> None:
        self._root = root

    def _sync(self, *folders: str) -> None:
        for folder in folders:
            directory = os.open(self._root / folder, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)

    def publish(self) -> None:
        name = str(uuid.uuid1())
        path = self._root / "new" / f"jobs:{name}"
        with path.open("wb") as file:
            file.write(BODY)
            file.flush()
            os.fsync(file.fileno())
        self._sync("new")
        path.rename(self._root / "queues" / "jobs" / name)

    def fetch(self) -> MessageId:
        folder = self._root / "queues" / "jobs"
        oldest = min((uuid.UUID(name) for name in os.listdir(folder)), key=lambda name: name.time)
        target = self._root / "delay" / f"jobs:{oldest}"
        (folder / str(oldest)).rename(target)
        target.read_bytes()
        self._sync("queues/jobs", "delay")
        return oldest.bytes

    def delete(self, message_id: MessageId) -> None:
        name = f"jobs:{uuid.UUID(bytes=message_id)}"
        (self._root / "delay" / name).rename(self._root / "remove" / name)
        self._sync("delay", "remove")
        (self._root / "remove" / name).unlink()

    def close(self) -> None:
        pass


Program = Ours | Listing


def fill(root: Path, count: int) -> None:
    """Put messages where a mover would have put them."""
    folder = root / "queues" / "jobs"
    folder.mkdir(parents=True)
    for other in ("new", "delay", "remove"):
        (root / other).mkdir()
    for _ in range(count):
        (folder / str(uuid.uuid1())).write_bytes(BODY)
    os.sync()


def microseconds(deed: Callable[[], object]) -> float:
    begun_at = time.perf_counter()
    deed()
    return (time.perf_counter() - begun_at) * 1e6


def measure(programs: dict[int, Program], operations: int) -> dict[int, Medians]:
    """Medians of publish, fetch and delete by depth.

    The depths take turns, so that whatever else the machine does falls on all of them alike.
    """
    taken: dict[int, tuple[list[float], list[float], list[float]]] = {d: ([], [], []) for d in programs}
    for _ in range(operations):
        for depth, program in programs.items():
            published, fetched, deleted = taken[depth]
            published.append(microseconds(program.publish))
            begun_at = time.perf_counter()
            message_id = program.fetch()
            fetched.append((time.perf_counter() - begun_at) * 1e6)
            deleted.append(microseconds(partial(program.delete, message_id)))
    return {depth: tuple(map(statistics.median, times)) for depth, times in taken.items()}


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=Path, help="directory to work in; it is emptied")
    parser.add_argument("--depths", default="10,10000,100000")
    parser.add_argument("--operations", type=int, default=300)
    options = parser.parse_args()
    base = options.root or Path(tempfile.mkdtemp(prefix="penstock-spool-"))
    depths = [int(depth) for depth in options.depths.split(",")]
    print(f"{'depth':>8} {'program':>8} {'publish':>9} {'fetch':>9} {'delete':>9}   start")
    for kind, operations in ((Ours, options.operations), (Listing, min(50, options.operations))):
        programs: dict[int, Program] = {}
        notes: dict[int, str] = {}
        for depth in depths:
            root = base / f"{kind.name}-{depth}"
            shutil.rmtree(root, ignore_errors=True)
            fill(root, depth)
            before_mb = resident_mb()
            program: Program = kind(root)
            programs[depth] = program
            notes[depth] = f"{program.start_s:6.2f} s, {resident_mb() - before_mb:.0f} MB"
        for depth, medians in measure(programs, operations).items():
            shown = " ".join(f"{median:9.0f}" for median in medians)
            print(f"{depth:>8} {kind.name:>8} {shown} {notes[depth] if kind is Ours else ''}", flush=True)
        for program in programs.values():
            program.close()
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
