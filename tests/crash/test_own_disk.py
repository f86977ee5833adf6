"""The power fails under load, and a disk is really full: on a file system of its own, by the real kernel.

Where the machine cannot mount one these tests fail and say so; `PENSTOCK_CRASH_WITHOUT_DISKS=1` leaves them
out.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.crash.aftermath import Aftermath, examine
from tests.crash.clients import Clients
from tests.crash.disk_image import DiskImage
from tests.crash.history import History, faults
from tests.crash.server_process import PATIENCE_S, ServerProcess

ROUNDS = int(os.environ.get("PENSTOCK_CRASH_POWER_CUTS", "5"))
SEED = int(os.environ.get("PENSTOCK_CRASH_SEED", random.SystemRandom().randrange(2**32)))

LOAD_S_MAX = 1.0


@pytest.mark.slow
def test_whatever_was_promised_holds_through_every_power_cut(tmp_path: Path) -> None:
    print(f"{ROUNDS} rounds, PENSTOCK_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    clients = Clients(History(), {"q": 2}, chance.randrange(2**32))
    with DiskImage(tmp_path, size_mb=500) as disk:
        data = disk.root / "data"
        with ServerProcess(data) as server:
            server.wait_until_ready().make_queue("q", visibility_s=2)
        kept = Aftermath({}, {"q": 0})
        for _ in range(ROUNDS):
            cut_power_under_load(disk, data, clients, kept, chance)
            kept = examine(data, clients.journal)
            assert faults(clients.history, kept.ids_by_label) == []
    print(clients.history.counts())
    # The journal's pages are read from the disk, and say that they cannot be.
    assert set(clients.surprises) <= {
        f"{request} was answered 503" for request in ("publish", "receive", "delete", "journal")
    }


def cut_power_under_load(
    disk: DiskImage, data: Path, clients: Clients, before: Aftermath, chance: random.Random
) -> None:
    with ServerProcess(data) as server:
        server.wait_until_ready()
        assert server.count("q") == before.count_by_queue.get("q", 0)
        clients.start(server)
        time.sleep(chance.uniform(0, LOAD_S_MAX))
        clients.lose_power()
        disk.cut_power()
        assert server.ask("POST", "/messages/q", b"too late")[0].status == 503
    clients.end()
    clients.history.crashes += 1
    disk.restart()


def test_a_first_start_that_the_power_failed_can_be_made_again(tmp_path: Path) -> None:
    with DiskImage(tmp_path, size_mb=50) as disk:
        with ServerProcess(disk.root / "data") as server:
            server.wait_until_ready()
            disk.cut_power()
        disk.restart()
        with ServerProcess(disk.root / "data") as server:
            server.wait_until_ready().make_queue("q", visibility_s=2)


def test_a_disk_without_space_left_loses_nothing_that_was_promised(tmp_path: Path) -> None:
    clients = Clients(History(), {"q": 30}, seed=1)
    with DiskImage(tmp_path, size_mb=30) as disk:
        data = disk.root / "data"
        with ServerProcess(data) as server:
            server.wait_until_ready().make_queue("q", visibility_s=30)
            ballast = disk.root / "ballast"
            fill(ballast, leave_bytes=3_000_000)
            clients.start(server)
            wait_until_refused(server)
            clients.end()
        kept = examine(data, clients.journal)
        assert faults(clients.history, kept.ids_by_label) == []
        ballast.unlink()
        with ServerProcess(data) as server:
            server.wait_until_ready()
            assert server.count("q") == kept.count_by_queue["q"]
            assert server.ask("POST", "/messages/q", b"x")[0].status == 201


def fill(ballast: Path, leave_bytes: int) -> None:
    """Take almost all of the disk, for good: a write that is only promised would be taken back."""
    free = os.statvfs(ballast.parent)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bfree * free.f_frsize - leave_bytes)


def wait_until_refused(server: ServerProcess) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while server.ask("GET", "/health")[0].status == 200:
        assert time.monotonic() < deadline, "a full disk is noticed"
        time.sleep(0.02)
