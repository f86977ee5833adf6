"""A file that is opened, and opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.stores.sqlite import JournalLimits, SqliteStore
from tests.stores.bench import Bench

HOUR_MS = 3_600_000
KEPT_FOR_AN_HOUR = JournalLimits(age_ms_max=HOUR_MS)
Open = Callable[..., Bench]


def opener(path: Path) -> Iterator[Open]:
    """Opens the file, or closes it and opens it again; in the end it is checked."""
    benches: list[Bench] = []

    def open_again(journal: JournalLimits = KEPT_FOR_AN_HOUR) -> Bench:
        wall_ms = [benches[-1].wall_ms] if benches else []
        if benches:
            benches.pop().store.close()
        benches.append(Bench(SqliteStore.open(path, journal), *wall_ms))
        return benches[-1]

    yield open_again
    for bench in benches:
        bench.store.check()
        bench.store.close()
