"""The power fails in the middle of everything: on a file system of its own, by the real kernel.

Where the machine cannot mount one this fails and says so; `PENSTOCK_CRASH_WITHOUT_DISKS=1` leaves it out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.vsqs import Queue
from penstock.vsqs.names import NEW, file_name, parse
from tests.crash.disk_image import DiskImage
from tests.vsqs.support import names_in

CUTS = int(os.environ.get("PENSTOCK_CRASH_POWER_CUTS", "5"))
LINES_BEFORE_CUT = 60

# Each says what it is told, as soon as it is told it. Once the power is gone their calls fail, and they end.
PUBLISHER = """
import sys
from penstock.vsqs import Queue
queue = Queue(sys.argv[1])
number = 0
while True:
    number += 1
    body = f"{sys.argv[2]} {number} ".encode() * 500
    print("published", queue.publish(body), body[:20].decode(), flush=True)
"""
CONSUMER = """
import sys
from penstock.vsqs import Queue
queue = Queue(sys.argv[1])
while True:
    message_id, body = queue.receive()
    print("received", message_id, flush=True)
    if int(message_id) % 3:
        queue.delete(message_id)
        print("deleted", message_id, flush=True)
"""


def start(program: str, directory: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, str(directory), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def words_until_cut(
    publishers: list[subprocess.Popen[str]],
    consumers: list[subprocess.Popen[str]],
    cut: Callable[[], None],
) -> list[list[str]]:
    """What they said before the power failed, and after, until they noticed."""
    lines = []
    for _ in range(LINES_BEFORE_CUT):
        assert publishers[0].stdout is not None
        lines.append(publishers[0].stdout.readline())
    cut()
    for publisher in publishers:
        output, errors = publisher.communicate(timeout=30)
        assert "OSError: [Errno " in errors, "it was told that the disk is gone"
        lines += output.splitlines()
    for consumer in consumers:
        consumer.kill()  # it may be waiting for what will not come
        lines += consumer.communicate(timeout=30)[0].splitlines()
    return [line.split() for line in lines]


@pytest.mark.slow
def test_after_a_power_cut_what_was_acknowledged_is_there_whole_and_what_was_deleted_is_not(
    tmp_path: Path,
) -> None:
    with DiskImage(tmp_path, size_mb=64) as disk:
        for number in range(CUTS):
            directory = disk.root / f"queue-{number}"
            publishers = [start(PUBLISHER, directory, str(each)) for each in range(2)]
            consumers = [start(CONSUMER, directory, "") for _ in range(2)]
            words = words_until_cut(publishers, consumers, disk.cut_power)
            disk.restart()
            check(directory, words)


@pytest.mark.slow
def test_after_a_power_cut_no_acknowledged_delete_is_undone_though_nothing_else_was_synced(
    tmp_path: Path,
) -> None:
    with DiskImage(tmp_path, size_mb=64) as disk:
        for number in range(CUTS):
            directory = disk.root / f"queue-{number}"
            with Queue(directory) as queue:
                ids = set(queue.publish_many([b"payload"] * 500))  # more than there is time for
            consumer = start(CONSUMER, directory, "")
            assert consumer.stdout is not None
            words = [consumer.stdout.readline().split() for _ in range(12 + number)]
            disk.cut_power()
            output, _ = consumer.communicate(timeout=30)
            words += [line.split() for line in output.splitlines()]
            disk.restart()
            deleted = {message_id for said, message_id in words if said == "deleted"}
            there = {name.split(".")[0] for name in names_in(directory)}
            assert deleted
            assert there.isdisjoint(deleted)
            assert len(ids - deleted - there) <= 1, "one delete may have been done and not yet acknowledged"


def check(directory: Path, words: list[list[str]]) -> None:
    published = {said[1]: " ".join(said[2:4]) for said in words if said[0] == "published"}
    received = {said[1] for said in words if said[0] == "received"}
    deleted = {said[1] for said in words if said[0] == "deleted"}
    assert published
    assert deleted
    there = {
        file.id: (directory / file_name(*file)).read_bytes()
        for file in map(parse, names_in(directory))
        if file is not None and file.extension != NEW
    }
    # Of a message that was received nobody knows whether its consumer was about to have it deleted.
    in_doubt = {id_ for id_ in received - deleted if int(id_) % 3}
    assert published.keys() - deleted - in_doubt <= there.keys()
    assert there.keys().isdisjoint(deleted)
    for message_id, body in there.items():
        assert len(body) == len(body.split(b" ")[0] + body.split(b" ")[1] + b"  ") * 500, "it is not whole"
        assert message_id not in published or body.decode().startswith(published[message_id])
    with Queue(directory) as queue:
        assert queue.size() == len(there)
        queue.publish(b"business as usual")
