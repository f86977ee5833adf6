"""A queue with messages in it, made through the store itself: over HTTP it would take an hour."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from pathlib import Path

from rich.progress import track

from penstock.core.commands import Command, CreateQueue, Draft, Publish
from penstock.core.model import Content, QueueName, Settings
from penstock.core.outcomes import Outcome, Published, QueueShown
from penstock.engine.engine import Engine
from penstock.stores.sqlite import SqliteStore

QUEUE = QueueName("default", "bench")
BODY_BYTES = 200
BATCH = 1000
FILE_BYTES_PER_MESSAGE = 700  # what it takes on the disk, generously

# Nothing comes back or expires while it is measured.
_SETTINGS = Settings(visibility_ms=3_600_000, retention_ms=30 * 86_400_000)


class _Satisfied:
    """Takes an outcome if it is a success."""

    def answer(self, outcome: Outcome) -> bool:
        assert isinstance(outcome, QueueShown | Published), outcome
        return True


def make_backlog(data: Path, depth: int) -> None:
    """Make a data directory with one queue of so many messages."""
    data.mkdir()
    free_bytes = shutil.disk_usage(data).free
    if free_bytes < depth * FILE_BYTES_PER_MESSAGE:
        sys.exit(f"bench: {depth:,} messages need {depth * FILE_BYTES_PER_MESSAGE / 1e9:.1f} GB on {data}")
    with closing(SqliteStore.open(data / "penstock.sqlite")) as store:
        engine = Engine(store)
        _ask(engine, CreateQueue(QUEUE, _SETTINGS))
        drafts = (Draft(Content(b"x" * BODY_BYTES)),) * BATCH
        batches = range(depth // BATCH)
        for _ in track(batches, f"publishing {depth:,} messages", disable=depth <= BATCH):
            _ask(engine, Publish(QUEUE, drafts))


def _ask(engine: Engine, command: Command) -> None:
    engine.submit(command, _Satisfied())
    engine.run()
