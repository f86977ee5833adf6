"""One of many processes at a queue, and what all of them together saw.

Run as a program it publishes or consumes for a while and writes down when it did what. Times are of the
monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from penstock.vsqs import Queue
from penstock.vsqs.watching import Watcher
from tests.vsqs.naive import NaiveQueue

ROOT = Path(__file__).parent.parent.parent
VISIBILITY_S = 1.0
# The two clocks that are compared, of files and of observers, are set apart by at most this.
CLOCKS_APART_S = 0.01
IDLE_S = 3 * VISIBILITY_S
FORGETS = 0.02  # how often a consumer dies before it deletes


class Published(NamedTuple):
    """A publish that was acknowledged."""

    publisher: int
    number: int
    id: str


class Received(NamedTuple):
    """A delivery: the call began and ended then, and so did its delete, if there was one."""

    id: str
    publisher: int
    number: int
    began_s: float
    ended_s: float
    deleted_s: float | None


def publish(queue: Queue | NaiveQueue, publisher: int, until_s: float) -> Iterator[Published]:
    number = 0
    while time.monotonic() < until_s:
        yield Published(publisher, number, queue.publish(f"{publisher} {number}".encode()))
        number += 1


def look(queue: Queue | NaiveQueue) -> tuple[str, bytes] | tuple[None, None]:
    if isinstance(queue, Queue):
        return queue.receive(visibility_timeout=VISIBILITY_S, timeout=0.1)
    return queue.receive(round(VISIBILITY_S * 1000))


def consume(queue: Queue | NaiveQueue, seed: int, until_s: float) -> Iterator[Received]:
    """Goes on until everybody has stopped publishing and nothing has come for a while."""
    chance = random.Random(seed)
    idle_since_s = until_s
    while (began_s := time.monotonic()) < idle_since_s + IDLE_S:
        message_id, data = look(queue)
        ended_s = time.monotonic()
        if message_id is None or data is None:
            time.sleep(0.002)  # those who look once would do nothing else
            continue
        idle_since_s = max(until_s, ended_s)
        publisher, number = map(int, data.split())
        deleted_s = None
        if chance.random() >= FORGETS:
            queue.delete(message_id)
            deleted_s = time.monotonic()
        yield Received(message_id, publisher, number, began_s, ended_s, deleted_s)


def main(kind: str, role: str, directory: str, number: str, until_s: str) -> None:
    if kind == "listing":
        Watcher.subscribe = lambda *_: None  # type: ignore[method-assign]
    queue = NaiveQueue(Path(directory)) if kind == "naive" else Queue(directory)
    seen: Iterator[Published | Received]
    act = publish if role == "publish" else consume
    seen = act(queue, int(number), float(until_s))
    for each in seen:
        print(json.dumps(each))


def run_crowd(
    directory: Path, publishers: list[str], consumers: list[str], seconds: float
) -> tuple[list[Published], list[Received]]:
    """Let processes of these kinds publish and consume; what they saw when all was quiet again."""
    processes: list[tuple[str, subprocess.Popen[str]]] = []
    until_s = time.monotonic() + seconds
    for role, kinds in (("publish", publishers), ("consume", consumers)):
        for number, kind in enumerate(kinds):
            command = [sys.executable, "-m", "tests.vsqs.crowd", kind, role, str(directory), str(number)]
            process = subprocess.Popen([*command, str(until_s)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
            processes.append((role, process))
    outputs = [(role, process.communicate(timeout=seconds + 120)[0]) for role, process in processes]
    assert [process.returncode for _, process in processes] == [0] * len(processes)
    lines = [(role, json.loads(line)) for role, output in outputs for line in output.splitlines()]
    published = [Published(*line) for role, line in lines if role == "publish"]
    return published, [Received(*line) for role, line in lines if role == "consume"]


def check(published: list[Published], received: list[Received]) -> None:
    """Nothing is lost, invented, doubled, brought back or out of order."""
    ids = {(each.publisher, each.number): each.id for each in published}
    deliveries: defaultdict[tuple[int, int], list[Received]] = defaultdict(list)
    for delivery in sorted(received, key=lambda each: each.ended_s):
        assert ids[delivery.publisher, delivery.number] == delivery.id
        deliveries[delivery.publisher, delivery.number].append(delivery)
    assert deliveries.keys() == ids.keys(), "something was lost"
    for each in deliveries.values():
        _check_one(each)
    _check_order(published, deliveries)


def _check_one(deliveries: list[Received]) -> None:
    assert deliveries[-1].deleted_s is not None, (
        "it was delivered to one who did not delete it, and never again"
    )
    for former, latter in pairwise(deliveries):
        assert latter.ended_s - former.began_s >= VISIBILITY_S - CLOCKS_APART_S, "doubled within its timeout"
        assert former.deleted_s is None or latter.began_s < former.deleted_s, "back after it was deleted"


def _check_order(published: list[Published], deliveries: dict[tuple[int, int], list[Received]]) -> None:
    """What one publisher published is first delivered in its order."""
    in_order = sorted(published)
    for former, latter in pairwise(in_order):
        if former.publisher == latter.publisher:
            began_s = deliveries[former.publisher, former.number][0].began_s
            assert began_s <= deliveries[latter.publisher, latter.number][0].ended_s, "out of order"


if __name__ == "__main__":
    main(*sys.argv[1:])
