"""What a crash left on the disk, looked at on a copy, so that the server has to recover from it by itself."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.core.ids import to_uuid
from penstock.journal.formats import JournalPages
from penstock.stores.sqlite import SqliteStore
from tests.crash.clients import Journal, label_of

FILE = "penstock.sqlite"


@dataclass(frozen=True)
class Aftermath:
    """What is kept."""

    ids_by_label: dict[str, list[str]]
    count_by_queue: dict[str, int]


def examine(data: Path, seen: Journal) -> Aftermath:
    """Look at everything; asserts that the file agrees with itself, and with the journal as it was seen."""
    with TemporaryDirectory() as name:
        copy = Path(name) / FILE
        # Without the shared-memory index: after a crash it is worth nothing, and SQLite makes it anew.
        for suffix in ("", "-wal"):
            if (data / f"{FILE}{suffix}").exists():
                shutil.copy(data / f"{FILE}{suffix}", f"{copy}{suffix}")
        with closing(SqliteStore.open(copy)) as store:
            store.check()
            _compare_journal(store, seen)
            return _contents(store)


def _contents(store: SqliteStore) -> Aftermath:
    ids_by_label: dict[str, list[str]] = defaultdict(list)
    count_by_queue: Counter[str] = Counter()
    for message in store.all_messages():
        ids_by_label[label_of(store.content(message).body)].append(to_uuid(message.id))
        count_by_queue[message.queue.name.name] += 1
    return Aftermath(dict(ids_by_label), dict(count_by_queue))


def _compare_journal(store: SqliteStore, seen: Journal) -> None:
    """What a reader of the journal saw before the crash is what it would see after it."""
    new = len(seen.lines) - seen.compared
    if new:
        _, pieces = JournalPages(store.journal_reader()).stream(seen.compared, new, as_arrow=False)
        assert b"".join(pieces).splitlines() == seen.lines[seen.compared :]
    seen.compared = len(seen.lines)
