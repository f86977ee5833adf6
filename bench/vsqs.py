"""What a VSQS queue costs with ever more messages waiting, beside a version that lists the directory.

    python -m bench.vsqs [--directory DIR] [--waiting N,N,…] [--seconds S]

Run it on a disk to see what users get (syncs decide) and on a memory file system (/dev/shm) to see what the
program itself costs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from penstock.vsqs import Queue
from tests.vsqs.naive import NaiveQueue

BODY = b"x" * 200
# Backlogs are written without syncs, so that a hundred thousand files take seconds.
OLDEST_MS = 1_500_000_000_000
ROUNDS = 10  # all in turn, so that a busy minute of the machine is everybody's
HEADS = ("", "waiting", "publish µs", "per s", "receive+delete µs", "per s")


def fill(path: Path, waiting: int) -> None:
    path.mkdir(parents=True)
    for number in range(waiting):
        (path / str(OLDEST_MS + number)).write_bytes(BODY)


class Measured:
    """One queue of a steady depth, and what its operations cost."""

    def __init__(self, name: str, queue: Queue | NaiveQueue, waiting: int) -> None:
        self.name = name
        self.waiting = waiting
        self._queue = queue
        self._publishes: list[float] = []
        self._receives: list[float] = []
        self._cycle()  # opening and the first listing are paid once
        self._publishes.clear()
        self._receives.clear()

    def run(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            self._cycle()

    def _cycle(self) -> None:
        began = time.perf_counter()
        self._queue.publish(BODY)
        published = time.perf_counter()
        message_id, _ = self._queue.receive()
        assert message_id is not None
        self._queue.delete(message_id)
        self._publishes.append(published - began)
        self._receives.append(time.perf_counter() - published)

    def medians(self) -> tuple[float, float]:
        """Of publish and of receive and delete; a neighbour's burst does not count in a median."""
        return statistics.median(self._publishes), statistics.median(self._receives)

    def __str__(self) -> str:
        published, received = self.medians()
        return (
            f"{self.name:<10}{self.waiting:>10,}{published * 1e6:>14,.0f}{1 / published:>12,.0f}"
            f"{received * 1e6:>20,.0f}{1 / received:>12,.0f}"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--directory", type=Path, default=None, help="where to make the queues")
    arguments.add_argument("--waiting", default="10,10000,100000", help="depths to measure at")
    arguments.add_argument("--seconds", type=float, default=3.0, help="how long to measure each")
    given = arguments.parse_args()
    depths = [int(depth) for depth in given.waiting.split(",")]
    print("{:<10}{:>10}{:>14}{:>12}{:>20}{:>12}".format(*HEADS))
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        all_measured = []
        for name, kind in (("indexed", Queue), ("listing", NaiveQueue)):
            for waiting in depths:
                path = Path(directory) / f"{name}-{waiting}"
                fill(path, waiting)
                all_measured.append(Measured(name, kind(path), waiting))
        for _ in range(ROUNDS):
            for measured in all_measured:
                measured.run(given.seconds / ROUNDS)
        for measured in all_measured:
            print(measured)


if __name__ == "__main__":
    main()
