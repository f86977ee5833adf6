"""A root and servers on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import WITHOUT_DISKS
from tests.spool.naive import NaiveMqCore
from tests.spool.spooling import Server

collect_ignore = ["test_own_disk.py"] if WITHOUT_DISKS else []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers on the root; at the end each has to agree with the folders."""
    servers: list[Server] = []

    def begin(**options: Any) -> Server:
        servers.append(Server(root, **options))
        return servers[-1]

    yield begin
    for server in servers:
        if server.spool.descriptor is not None:
            server.settle()
            server.close()


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    """One server with the queue `jobs`."""
    server = start()
    server.put()
    return server


@pytest.fixture
def naive(root: Path) -> NaiveMqCore:
    return NaiveMqCore(root)
