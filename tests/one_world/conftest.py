"""A world for each test, and the table of who publishes and who consumes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.one_world.clients import EVERYBODY, IN_DEDUP, IN_DEFAULT, Client, EmodbClient, LmstfyClient
from tests.one_world.world import World

PAIRS_IN_DEFAULT = list(product(IN_DEFAULT, IN_DEFAULT))
PAIRS = PAIRS_IN_DEFAULT + list(product(IN_DEDUP, IN_DEDUP))


class Pair(NamedTuple):
    """Two clients at the same queue, "jobs", which is there."""

    publisher: Client
    consumer: Client
    namespace: str


def _named(pair: tuple[str, str]) -> str:
    return " to ".join(pair)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture(params=PAIRS, ids=_named)
def pair(request: pytest.FixtureRequest, world: World) -> Pair:
    """Every publisher with every consumer of the same namespace."""
    publisher, consumer = (EVERYBODY[name](world) for name in request.param)
    if publisher.namespace == "default":  # the other namespace has no word for making a queue
        world.make_queue("jobs")
    return Pair(publisher, consumer, publisher.namespace)


@pytest.fixture(params=PAIRS_IN_DEFAULT, ids=_named)
def pair_in_default(request: pytest.FixtureRequest, world: World) -> Pair:
    """Every publisher with every consumer, where mqs can set a queue up; the test makes it."""
    publisher, consumer = (EVERYBODY[name](world) for name in request.param)
    return Pair(publisher, consumer, "default")


@pytest.fixture(params=IN_DEFAULT)
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """Every client of the default namespace."""
    return IN_DEFAULT[request.param](world)


@pytest.fixture
def emodb(world: World) -> EmodbClient:
    return EmodbClient(world)


@pytest.fixture
def lmstfy(world: World) -> LmstfyClient:
    return LmstfyClient(world)
