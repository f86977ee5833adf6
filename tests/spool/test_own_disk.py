"""The power fails under load: on a file system of its own, by the real kernel.

Where the machine cannot mount one this fails and says so; `PENSTOCK_CRASH_WITHOUT_DISKS=1` leaves it out.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.crash.disk_image import DiskImage
from tests.spool.processes import Load, MqServer
from tests.spool.spooling import Server

ROUNDS = int(os.environ.get("PENSTOCK_CRASH_POWER_CUTS", "5"))
AFTER_CUT_S = 0.1  # the server lives on without its disk, and may be tempted to promise something


@pytest.mark.slow
def test_every_promise_holds_through_power_cuts_in_mid_load(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    loads: list[Load] = []
    with DiskImage(tmp_path, size_mb=200) as disk:
        root = disk.root / "spool"
        for _ in range(ROUNDS):
            with MqServer(root, delay_s=1) as server:
                server.client().ask("PUT", "/jobs")
                load = Load(server)
                load.start(until_deleted=chance.randrange(1, 60))
                disk.cut_power()
                time.sleep(AFTER_CUT_S)
            load.join()
            loads.append(load)
            disk.restart()
            for each in loads:
                each.deleted |= load.deleted & each.added.keys()
                each.in_doubt |= load.in_doubt & each.added.keys()
                each.check(root)
        print(
            sum(len(load.added) for load in loads),
            "added",
            sum(len(load.deleted) for load in loads),
            "deleted",
        )
        server_after = Server(root)
        server_after.advance(12_000)
        while (delivery := server_after.fetch()) is not None:
            server_after.delete(delivery.id)
        server_after.close()
