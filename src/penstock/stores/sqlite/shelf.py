"""One queue in memory: the first messages of each run, all claims, and the tallies."""

from __future__ import annotations

from penstock.core.model import Counts, Phase, Queue
from penstock.stores.sqlite.window import Deadlines, Window

# The runs in which messages stand. Those in `places` are numbered as there.
IN_ORDER = 8  # ready since their publish: the file has them by sequence, without a place
EXPIRY = 9  # by the moment at which they expire, besides where they stand otherwise
PLACED_RUNS = (Phase.READY, Phase.DELAYED, Phase.DEAD, Phase.COPY, EXPIRY)
ALL_RUNS = (*PLACED_RUNS, IN_ORDER)


class Shelf:
    """What is known of a queue without asking the file."""

    __slots__ = (
        "deadlines",
        "in_order_hint",
        "is_deleted",
        "next_due_ms",
        "oldest_hint",
        "queue",
        "tally",
        "windows",
    )

    def __init__(self, queue: Queue, tally: list[int] | None = None, *, is_deleted: bool = False) -> None:
        self.queue = queue
        self.is_deleted = is_deleted
        self.tally = tally or [0] * len(Phase)  # messages in each phase
        is_new = tally is None
        self.windows = {run: Window(is_whole=is_new or self._is_surely_empty(run)) for run in ALL_RUNS}
        self.deadlines = Deadlines()
        self.next_due_ms: int | None = None  # when it is looked at by itself, if that is arranged
        # Where to begin to look in the file: no message that is sought has a lower sequence.
        self.in_order_hint = 0  # of those that are ready since their publish, and not in the window
        self.oldest_hint = 0  # of those that are not dead

    def _is_surely_empty(self, run: int) -> bool:
        if run == EXPIRY:
            return self.is_empty
        return self.tally[Phase.READY if run == IN_ORDER else run] == 0

    def counts(self) -> Counts:
        """How many messages are in each phase."""
        tally = self.tally
        return Counts(
            tally[Phase.READY] + tally[Phase.COPY],
            tally[Phase.DELAYED],
            tally[Phase.CLAIMED],
            tally[Phase.DEAD],
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is no message left of it."""
        return not any(self.tally)
