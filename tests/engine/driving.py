"""An engine driven by hand: its clock stands still until a test moves it, and time costs nothing."""

from __future__ import annotations

from penstock.core.commands import Command
from penstock.core.ids import MessageId, make_id
from penstock.core.outcomes import Outcome
from penstock.core.store import Store
from penstock.engine.engine import WAITERS_MAX, Engine

RUNS_MAX = 2000  # then a command that is not answered never will be
START_MS = 1_000_000


class Inbox:
    """Somebody who asked, and what they were told."""

    def __init__(self, *, has_gone: bool = False) -> None:
        self.outcomes: list[Outcome] = []
        self.has_gone = has_gone

    def answer(self, outcome: Outcome) -> bool:
        if self.has_gone:
            return False
        self.outcomes.append(outcome)
        return True

    @property
    def outcome(self) -> Outcome | None:
        """The one answer there is, None before it came."""
        assert len(self.outcomes) <= 1, "answered twice"
        return self.outcomes[0] if self.outcomes else None


def lasting_id(now_ms: int, sequence: int) -> MessageId:
    """An id that is the same in every run, with a tag that no neighbour has."""
    return make_id(now_ms, sequence, (now_ms + sequence) * 2_654_435_761 % 2**32)


class Driver:
    """Submits, runs and moves the clock."""

    def __init__(self, store: Store, wall_ms: int = START_MS, waiters_max: int = WAITERS_MAX) -> None:
        self.wall_ms = wall_ms
        self._waiters_max = waiters_max
        self.start(store)

    def start(self, store: Store) -> None:
        """Begin with a store, or go on with it as after a restart: whoever waited is gone."""
        self.store = store
        self.engine = Engine(store, lambda: self.wall_ms, lasting_id, self._waiters_max)

    def submit(self, command: Command, *, has_gone: bool = False) -> Inbox:
        """Put a command into the next batch."""
        inbox = Inbox(has_gone=has_gone)
        self.engine.submit(command, inbox)
        return inbox

    def ask(self, command: Command) -> Outcome:
        """Do a command to its end; what it set off is done too."""
        inbox = self.submit(command)
        self.settle()
        outcome = inbox.outcome
        assert outcome is not None, f"{command} waits"
        return outcome

    def settle(self) -> None:
        """Run until there is nothing left to do at this moment."""
        self.engine.run()
        for _ in range(RUNS_MAX):
            if self.engine.milliseconds_to_next() != 0:
                return
            self.engine.run()
        raise AssertionError("there is always more to do")

    def advance(self, milliseconds: int) -> None:
        """Let time pass, and what is due meanwhile happen at the moment at which it is due."""
        end_ms = self.wall_ms + milliseconds
        self.settle()
        while (
            wait_ms := self.engine.milliseconds_to_next()
        ) is not None and self.wall_ms + wait_ms <= end_ms:
            self.wall_ms += int(wait_ms)
            self.settle()
        self.wall_ms = end_ms
        self.settle()

    def jump(self, milliseconds: int) -> None:
        """Let time pass as if the machine slept meanwhile: all that is due is due at once."""
        self.wall_ms += milliseconds
        self.settle()
