"""The memory store keeps the contract; it is the one that the others are compared with."""

from __future__ import annotations

from pathlib import Path

from penstock.core.store import Store
from penstock.stores.memory import MemoryStore
from tests.stores.contract import StoreContract


class TestMemoryStore(StoreContract):
    """It has nothing to open again: what there is stays."""

    def open_store(self, directory: Path, opened_before: Store | None) -> Store:  # noqa: ARG002
        return opened_before or MemoryStore()
