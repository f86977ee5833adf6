"""The file keeps the contract, and every test of it ends with a restart."""

from __future__ import annotations

from pathlib import Path

from penstock.core.store import Store
from penstock.stores.sqlite import SqliteStore
from tests.stores.contract import StoreContract


class TestSqliteStore(StoreContract):
    """One file in a directory."""

    def open_store(self, directory: Path, opened_before: Store | None) -> Store:
        if opened_before is not None:
            opened_before.close()
        return SqliteStore.open(directory / "penstock.db")
