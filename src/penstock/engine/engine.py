"""One batch at a time: decide, apply, one commit, then all answers.

    submit, submit, submit …            (requests read in one turn of the server's loop)
        └─▶ run:  tend what is due  ─▶  decide and apply each command  ─▶  commit  ─▶  answer all

Each command is decided on what the ones before it left behind, and nobody is answered before the commit
that keeps their command's events. So concurrent requests share one sync, and success means synced.

A claim that finds nothing and has time goes to the waiting room. Whatever makes a message ready (a
publish, a delay that is over, a claim that lapsed) serves the first in line within the same batch.

The engine is plain and synchronous. Whoever drives it calls `run` when something was submitted, and
again after `milliseconds_to_next`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from penstock.core import administration, rules
from penstock.core.commands import Claim, Command, Renew
from penstock.core.errors import StoreError, StoreFull
from penstock.core.events import (
    Event,
    MessageMoved,
    MessagePublished,
    MessageReadied,
    MessageRespawned,
    QueueDeleted,
)
from penstock.core.ids import MessageId
from penstock.core.model import Phase, QueueName
from penstock.core.outcomes import Crashed, Delivered, Outcome, Refused, Unavailable, Unfinished
from penstock.core.sharing import without
from penstock.core.store import Store
from penstock.core.traits import expressible
from penstock.engine.asker import Asker, Nobody
from penstock.engine.clock import SteadyClock, wall_clock_ms
from penstock.engine.lots import IdMaker
from penstock.engine.waiting import Waiter, WaitingRoom

log = logging.getLogger(__name__)

BATCH_COMMANDS_MAX = 1024  # so that the first in a batch does not wait for ever for the last
ROUNDS_MAX = 4  # how often an unfinished claim is tried again within one batch
TRIM_EVERY_MS = 1000
WAITERS_MAX = 100_000

_NOBODY = Nobody()
_NOTHING = Delivered(())
_UNAVAILABLE = Unavailable()


class Engine:
    """Turns commands into outcomes over one store."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int] = wall_clock_ms,
        ids: Callable[[int, int], MessageId] | None = None,
        waiters_max: int = WAITERS_MAX,
    ) -> None:
        self._store = store
        self._others = store.others
        self._is_alone = store.others is None and not store.traits.are_limited
        self.now_ms = SteadyClock(clock, store.last_moment_ms())
        self._ids = ids or IdMaker()
        self._waiters_max = waiters_max
        self._pending: deque[tuple[Command, Asker]] = deque()
        self._unfinished: list[tuple[Command, Asker]] = []
        self._answers: list[tuple[Command, Asker, Outcome]] = []
        self._waiting = WaitingRoom()
        self._has_uncommitted = False
        self._next_trim_ms = 0
        self.decided_at_ms = 0  # the moment at which the last batch was decided
        self.is_healthy = True

    def submit(self, command: Command, asker: Asker) -> None:
        """Queue a command for the next batch."""
        self._pending.append((command, asker))

    def withdraw(self, asker: Asker) -> bool:
        """Let an asker who has gone wait no longer; False if it did not wait."""
        return self._waiting.withdraw(asker)

    @property
    def waiting(self) -> int:
        """How many consumers wait."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether everything submitted was answered, but for those who wait."""
        return not self._pending and not self._unfinished

    def run(self) -> None:
        """Do one batch."""
        if self.is_healthy:
            try:
                self._decide_batch()
                if self._has_uncommitted:
                    self._store.commit()
                    self._has_uncommitted = False
            except Exception as fault:  # noqa: BLE001 - whatever it is, nothing may be promised any more
                self._fail(fault)
        else:
            self._refuse_everything()
        self._answer_all()

    def milliseconds_to_next(self) -> float | None:
        """How long until `run` has something to do of itself; None: until somebody submits."""
        if self._pending or self._unfinished:
            return 0
        if not self.is_healthy:
            return None
        if self._store.moves_under_way() or self._store.deleted_queues():
            return 0
        moments = (self._next_trim_ms, self._store.next_due_ms(), self._waiting.next_deadline_ms())
        return max(0, min(moment for moment in moments if moment is not None) - self.now_ms())

    def end_waits(self) -> None:
        """Answer all who wait as if their time were up."""
        for waiter in self._waiting.everybody():
            self._give_up(waiter)
        self._answer_all()

    # One batch

    def _decide_batch(self) -> None:
        now_ms = self.decided_at_ms = self.now_ms()
        if self._others is not None:
            self._wake_for(self._others.follow(now_ms), now_ms)
        self._do_what_is_due(now_ms)
        if self._unfinished:
            self._pending.extend(self._unfinished)
            self._unfinished.clear()
        pending = self._pending
        for _ in range(min(len(pending), BATCH_COMMANDS_MAX)):
            command, asker = pending[0]  # still pending should the store fail under it
            outcome = self._settle(command, now_ms)
            pending.popleft()
            if isinstance(outcome, Unfinished):
                self._unfinished.append((outcome.rest, asker))
            elif isinstance(command, Claim) and self._may_wait(command, outcome):
                self._waiting.admit(command, asker, now_ms + command.wait_ms)
            else:
                self._answers.append((command, asker, outcome))
        for waiter in self._waiting.out_of_time(now_ms):
            self._give_up(waiter)

    def _settle(self, command: Command, now_ms: int) -> Outcome:
        """Decide one command and apply what happens by it."""
        if not self._is_alone:
            return self._settle_with_care(command, now_ms)
        outcome, events = self._decide(command, now_ms)
        if events:
            self._apply(events, now_ms, command.dialect)
        if isinstance(outcome, Unfinished) and isinstance(command, Claim):
            return self._settle_at_once(command, now_ms)
        return outcome

    def _settle_at_once(self, command: Claim, now_ms: int) -> Outcome:
        """Go on with a claim that had to clear the line first: a consumer is there and waits."""
        for _ in range(ROUNDS_MAX):
            outcome, events = self._decide(command, now_ms)
            if events:
                self._apply(events, now_ms, command.dialect)
            if not isinstance(outcome, Unfinished):
                return outcome
        return Unfinished(command)

    def _settle_with_care(self, command: Command, now_ms: int) -> Outcome:
        """The same on a store that cannot keep everything, or that others change too."""
        wanted = expressible(self._store.traits, command)
        if isinstance(wanted, Refused):
            return wanted
        if self._others is not None:
            self._others.look_for(wanted)
        for _ in range(ROUNDS_MAX):
            outcome, events = self._decide(wanted, now_ms)
            try:
                if events:
                    self._apply(events, now_ms, wanted.dialect)
            except StoreFull as fault:
                log.error("%s", fault)  # noqa: TRY400 - no fault of ours: where it came from tells nothing
                return _UNAVAILABLE
            outcome = self._without_taken(wanted, outcome)
            if not (isinstance(outcome, Unfinished) and isinstance(wanted, Claim)):
                return outcome
        return Unfinished(wanted)

    def _without_taken(self, command: Command, outcome: Outcome) -> Outcome:
        return outcome if self._others is None else without(self._others.taken(), command, outcome)

    def _decide(self, command: Command, now_ms: int) -> tuple[Outcome, list[Event]]:
        try:
            return rules.decide(self._store, command, now_ms, self._ids)
        except StoreError:
            raise
        except Exception:
            log.exception("deciding %s failed", type(command).__name__)
            return Crashed(), []

    def _apply(self, events: Sequence[Event], now_ms: int, dialect: str) -> None:
        self._store.apply(events, now_ms, dialect)
        self._has_uncommitted = True
        if self._waiting.by_asker:
            self._wake(events, now_ms)

    def _do_what_is_due(self, now_ms: int) -> None:
        store = self._store
        happened: list[Event] = []
        for queue in store.due_queues(now_ms):
            happened += self._follow(rules.tend(store, queue, now_ms), now_ms)
        # One move after the other, so that two in opposite directions cannot toss messages for ever.
        for move in store.moves_under_way()[:1]:
            happened += self._follow(administration.carry_on_move(store, move), now_ms)
        for queue in store.deleted_queues():
            happened += self._follow(administration.clear_deleted(store, queue), now_ms)
        # Woken only now: who waits at several queues gets what is due in the first of them.
        if happened and self._waiting.by_asker:
            self._wake(happened, now_ms)
        if now_ms >= self._next_trim_ms:
            has_more = store.trim_journal(now_ms)
            self._has_uncommitted = True
            self._next_trim_ms = now_ms + (0 if has_more else TRIM_EVERY_MS)

    def _follow(self, events: list[Event], now_ms: int) -> list[Event]:
        """Apply what happened of itself."""
        if events:
            self._store.apply(events, now_ms, "")
            self._has_uncommitted = True
        return events

    # Waiting

    def _may_wait(self, command: Claim, outcome: Outcome) -> bool:
        return (
            command.wait_ms > 0
            and isinstance(outcome, Delivered)
            and not outcome.messages
            and len(self._waiting) < self._waiters_max
        )

    def _wake(self, events: Sequence[Event], now_ms: int) -> None:
        self._wake_for(filter(None, map(self._woken_by, events)), now_ms)

    def _wake_for(self, queues: Iterable[QueueName], now_ms: int) -> None:
        """Serve those who wait for any of these queues."""
        names = deque(queues)
        while names:
            name = names.popleft()
            while (served := self._serve_first(name, now_ms)) is not None:
                names.extend(filter(None, map(self._woken_by, served)))

    def _woken_by(self, event: Event) -> QueueName | None:
        """The queue whose waiters an event concerns."""
        match event:
            case MessagePublished() | MessageReadied() | MessageRespawned():
                number = event.queue
            case MessageMoved():
                number = event.target
            case QueueDeleted():
                self._answer_waiters_of_deleted()
                return None
            case _:
                return None
        if event.phase is not Phase.READY:
            return None
        queue = self._store.queue_by_number(number)
        return None if queue is None else queue.name

    def _serve_first(self, name: QueueName, now_ms: int) -> list[Event] | None:
        """Give the first in line what there is; None if there is nobody or nothing."""
        waiter = self._waiting.first_for(name)
        queue = self._store.queue(name)
        if waiter is None or queue is None or not self._store.counts(queue).ready:
            return None
        outcome, events = self._decide(waiter.command, now_ms)
        if events:
            self._store.apply(events, now_ms, waiter.command.dialect)
            self._has_uncommitted = True
        outcome = self._without_taken(waiter.command, outcome)
        if isinstance(outcome, Unfinished):
            return events or None
        if isinstance(outcome, Delivered) and not outcome.messages:
            return None
        self._waiting.dismiss(waiter)
        self._answers.append((waiter.command, waiter.asker, outcome))
        return events

    def _answer_waiters_of_deleted(self) -> None:
        """Those who wait only where there is a queue hear that there is none."""
        for waiter in self._waiting.everybody():
            outcome, _ = self._decide(waiter.command, self.now_ms())
            if not isinstance(outcome, Delivered | Unfinished):
                self._waiting.dismiss(waiter)
                self._answers.append((waiter.command, waiter.asker, outcome))

    def _give_up(self, waiter: Waiter) -> None:
        self._waiting.dismiss(waiter)
        self._answers.append((waiter.command, waiter.asker, _NOTHING))

    # Answers and faults

    def _answer_all(self) -> None:
        answers, self._answers = self._answers, []
        for command, asker, outcome in answers:
            try:
                is_taken = asker.answer(outcome)
            except Exception:
                log.exception("answering %s failed", type(command).__name__)  # the others still get theirs
                is_taken = False
            if not is_taken and isinstance(command, Claim) and isinstance(outcome, Delivered):
                self._give_back(command, outcome)

    def _give_back(self, command: Claim, outcome: Delivered) -> None:
        """Release what was claimed for a consumer who has gone, so that the next one gets it at once."""
        if command.only_looks:
            return
        for delivery in outcome.messages:
            release = Renew(delivery.queue, (delivery.id,), 0, delivery.attempt, command.dialect)
            self.submit(release, _NOBODY)

    def _fail(self, fault: Exception) -> None:
        """Never promise anything on this store again: a second sync may report success for lost data."""
        log.critical("the store failed; restart to go on from what was kept", exc_info=fault)
        self.is_healthy = False
        self._answers = [(command, asker, _UNAVAILABLE) for command, asker, _ in self._answers]
        self._refuse_everything()

    def _refuse_everything(self) -> None:
        waiting = [(waiter.command, waiter.asker) for waiter in self._waiting.everybody()]
        for waiter in self._waiting.everybody():
            self._waiting.dismiss(waiter)
        for command, asker in [*self._pending, *self._unfinished, *waiting]:
            self._answers.append((command, asker, _UNAVAILABLE))
        self._pending.clear()
        self._unfinished.clear()
