"""Two stores, the memory store and a file, to which the same is done; after each step nothing may differ."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp

from penstock.core import rules
from penstock.core.commands import Command
from penstock.core.outcomes import Outcome
from penstock.stores.memory import MemoryStore
from penstock.stores.sqlite import JournalLimits, SqliteStore
from tests.engine.driving import Driver, Inbox, lasting_id
from tests.stores.folding import contents, fold, records_of


class Twins:
    """Two engines over two stores, with the same clock and the same ids."""

    def __init__(self, directory: Path, journal: JournalLimits | None = None) -> None:
        self._directory = directory
        self._journal = journal or JournalLimits()
        self._path = self._new_path()
        self._memory = Driver(MemoryStore())
        self._sqlite = Driver(SqliteStore.open(self._path, self._journal))
        self._waiting: list[tuple[Inbox, Inbox]] = []
        self._compared_to = 0

    def _new_path(self) -> Path:
        return Path(mkdtemp(dir=self._directory)) / "penstock.db"

    def ask(self, *commands: Command) -> list[Outcome]:
        """Do commands in one batch. All answers that are there then, also to those who waited."""
        self._waiting += [
            (self._memory.submit(command), self._sqlite.submit(command)) for command in commands
        ]
        return self._settle()

    def advance(self, milliseconds: int) -> list[Outcome]:
        """Let time pass."""
        self._memory.advance(milliseconds)
        self._sqlite.advance(milliseconds)
        return self._settle()

    def step_clock(self, milliseconds: int) -> list[Outcome]:
        """Set the wall clock forward or back."""
        self._memory.jump(milliseconds)
        self._sqlite.jump(milliseconds)
        return self._settle()

    def reopen(self) -> None:
        """Close the file and open it again."""
        self.compare_contents()
        self._sqlite.store.close()
        self._start_over(self._path)

    def crash(self, command: Command) -> None:
        """Open a copy of the files, as a process leaves them that is killed before its commit."""
        store = self._sqlite.store
        _, events = rules.decide(store, command, self._sqlite.engine.now_ms(), lasting_id)
        store.apply(events, self._sqlite.engine.now_ms(), "")
        store.all_messages()  # writes what was applied, so that there is something to roll back
        copy = self._new_path()
        for file in self._path.parent.iterdir():
            shutil.copy(file, copy.parent)
        store.close()
        shutil.rmtree(self._path.parent)
        self._path = copy
        self._start_over(copy)

    def _start_over(self, path: Path) -> None:
        """Whoever waited is gone with the process."""
        self._waiting.clear()
        wall_ms = self._memory.wall_ms
        self._memory = Driver(self._memory.store, wall_ms)
        self._sqlite = Driver(SqliteStore.open(path, self._journal), wall_ms)
        self._settle()
        self.compare_contents()

    def close(self) -> None:
        """Compare everything once more and let go."""
        try:
            self.compare_contents()
        finally:
            self._sqlite.store.close()
            shutil.rmtree(self._path.parent)

    # What is compared

    def _settle(self) -> list[Outcome]:
        self._memory.settle()
        self._sqlite.settle()
        self._compare_journals()
        return self._compared_answers()

    def _compared_answers(self) -> list[Outcome]:
        for in_memory, in_sqlite in self._waiting:
            assert in_memory.outcome == in_sqlite.outcome
        answers = [inbox.outcome for inbox, _ in self._waiting if inbox.outcome is not None]
        self._waiting = [pair for pair in self._waiting if pair[0].outcome is None]
        return answers

    def _compare_journals(self) -> None:
        """What happened since the last look, and was not forgotten since, is the same in the same order."""
        trimmed_to, _ = self._sqlite.store.journal_reader().bounds()
        after = max(self._compared_to, trimmed_to)
        assert records_of(self._memory.store, after) == records_of(self._sqlite.store, after)
        self._compared_to = self._memory.store.last_sequence

    def compare_contents(self) -> None:
        """Everything is the same. Not asked after each step: to look at everything fills all windows."""
        records = records_of(self._memory.store)
        in_sqlite = contents(self._sqlite.store, records)
        assert in_sqlite == contents(self._memory.store, records)
        assert in_sqlite == contents(fold(records), records)
        self._sqlite.store.check()
        self._memory.store.check()
