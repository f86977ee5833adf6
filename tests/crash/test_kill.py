"""`kill -9` at any moment, again and again, under load: nothing that was promised is ever broken.

`PENSTOCK_CRASH_ROUNDS=200 pytest tests/crash/test_kill.py -s` goes on for longer, `PENSTOCK_CRASH_SEED=…`
repeats the choices of an earlier run. The moment of a kill is not repeatable to the instruction; that is its
point.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.crash.aftermath import Aftermath, examine
from tests.crash.clients import Clients
from tests.crash.history import History, faults
from tests.crash.server_process import ServerProcess

ROUNDS = int(os.environ.get("PENSTOCK_CRASH_ROUNDS", "20"))
SEED = int(os.environ.get("PENSTOCK_CRASH_SEED", random.SystemRandom().randrange(2**32)))

LOAD_S_MAX = 1.0
START_S_MAX = 0.6  # about what a start takes, so that kills hit every part of it
KILLED_STARTS_SHARE = 0.25
DRAIN_S_MAX = 30.0

# So brief that abandoned messages come again within the test; so long that a claim outlives several crashes.
VISIBILITIES_S = {"brief": 1, "patient": 5}


@pytest.mark.slow
def test_whatever_was_promised_holds_through_every_kill(tmp_path: Path) -> None:
    print(f"{ROUNDS} rounds, PENSTOCK_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    clients = Clients(History(), VISIBILITIES_S, chance.randrange(2**32))
    with ServerProcess(tmp_path) as first:
        first.wait_until_ready()
        for name, visibility_s in VISIBILITIES_S.items():
            first.make_queue(name, visibility_s)
    kept = examine(tmp_path, clients.journal)
    for _ in range(ROUNDS):
        if chance.random() < KILLED_STARTS_SHARE:
            kill_while_starting(tmp_path, chance)
        kept = crash_under_load(tmp_path, clients, kept, chance)
    drain(tmp_path, clients, kept)
    print(clients.history.counts())
    assert clients.history.crashes == ROUNDS


def kill_while_starting(data: Path, chance: random.Random) -> None:
    with ServerProcess(data):
        time.sleep(chance.uniform(0, START_S_MAX))


def crash_under_load(data: Path, clients: Clients, before: Aftermath, chance: random.Random) -> Aftermath:
    with ServerProcess(data) as server:
        server.wait_until_ready()
        assert {name: server.count(name) for name in VISIBILITIES_S} == counts(before)
        clients.start(server)
        time.sleep(chance.uniform(0, LOAD_S_MAX))
    clients.end()
    clients.history.crashes += 1
    after = examine(data, clients.journal)
    assert clients.surprises == []
    assert faults(clients.history, after.ids_by_label) == []
    return after


def counts(aftermath: Aftermath) -> dict[str, int]:
    return {name: aftermath.count_by_queue.get(name, 0) for name in VISIBILITIES_S}


def drain(data: Path, clients: Clients, kept: Aftermath) -> None:
    """Everything that is kept can be had: each message once, as many as the server counts, and no more."""
    with ServerProcess(data) as server:
        server.wait_until_ready()
        drained = {name: drain_queue(server, clients, name) for name in VISIBILITIES_S}
    assert sorted(label for labels in drained.values() for label in labels) == sorted(kept.ids_by_label)
    assert {name: len(labels) for name, labels in drained.items()} == counts(kept)
    assert faults(clients.history, examine(data, clients.journal).ids_by_label) == []


def drain_queue(server: ServerProcess, clients: Clients, name: str) -> list[str]:
    connection = server.connect()
    labels: list[str] = []
    deadline = time.monotonic() + DRAIN_S_MAX
    while server.count(name):
        assert time.monotonic() < deadline, f"{server.count(name)} messages of {name!r} never came"
        label = clients.receive(connection, name, wait_s=1)
        if label is not None:
            clients.delete(connection, label)
            labels.append(label)
    connection.close()
    return labels
