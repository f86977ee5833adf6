"""What the tests of the stores share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *[
        f"tests.stores.{name}"
        for name in ("bench", "contract_delivery", "contract_endings", "contract_queues", "folding", "twins")
    ]
)

from tests.stores.files import Open, opener  # noqa: E402 - what it imports is to be rewritten


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "penstock.db"


@pytest.fixture
def open_bench(path: Path) -> Iterator[Open]:
    yield from opener(path)
