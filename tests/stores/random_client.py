"""A client of both stores that does things at random and remembers what it was told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import note

from penstock.core.commands import Command, CreateQueue, DescribeMove, Inspect, Republish
from penstock.core.model import Content, Phase, Settings
from penstock.core.outcomes import Delivered, Delivery, MoveShown, Outcome
from tests.engine.driving import lasting_id
from tests.stores.random_commands import NAMES, Lots
from tests.stores.twins import Twins

NEVER_HANDED_OUT = Delivery(lasting_id(0, 1), NAMES[0], Content(b""), Phase.READY, 0, 0, None, None, 0, 0)


class RandomClient:
    """Each of its steps takes the lots by which it goes."""

    def __init__(self, stores: Twins, say: Callable[[str], None] = note) -> None:
        self.stores = stores
        self._say = say
        self._handed_out = [NEVER_HANDED_OUT]
        self._reference = "unknown"
        self._do(*[CreateQueue(name, Settings(100, collapse=name.namespace == "dedup")) for name in NAMES])

    def _do(self, *commands: Command) -> None:
        for command in commands:
            self._say(str(command))
        self._remember(self.stores.ask(*commands))

    def _remember(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Delivered):
                self._handed_out += outcome.messages
            elif isinstance(outcome, MoveShown):
                self._reference = outcome.move.reference

    def step(self, lots: Lots) -> None:
        """Any of the steps, each about as often as it is worth."""
        steps = {
            self.publish: 6,
            self.claim: 6,
            self.do_several_in_one_batch: 2,
            self.answer: 8,
            self.republish: 1,
            self.administer: 5,
            self.let_time_pass: 3,
            self.set_the_clock: 2,
            self.restart: 1,
        }
        lots.one_of([step for step, weight in steps.items() for _ in range(weight)])(lots)

    def publish(self, lots: Lots) -> None:
        self._do(lots.publish())

    def claim(self, lots: Lots) -> None:
        self._do(lots.claim())

    def do_several_in_one_batch(self, lots: Lots) -> None:
        self._do(*[lots.command() for _ in range(lots.one_of([2, 3, 6]))])

    def answer(self, lots: Lots) -> None:
        self._do(lots.answer(lots.some(self._handed_out)))

    def republish(self, lots: Lots) -> None:
        (old, *_) = lots.some(self._handed_out)
        self._do(Inspect(old.queue, old.id), Republish(old.queue, old.id, lots.draft()))

    def administer(self, lots: Lots) -> None:
        self._do(lots.administer(), DescribeMove(self._reference))

    def let_time_pass(self, lots: Lots) -> None:
        self._remember(self.stores.advance(lots.one_of([10, 10, 100, 1000])))

    def set_the_clock(self, lots: Lots) -> None:
        self._remember(self.stores.step_clock(lots.one_of([10, 10, 100, 100, -1000, 100_000])))

    def restart(self, lots: Lots) -> None:
        if lots.one_of([True, False]):
            self.stores.reopen()
        else:
            self.stores.crash(lots.command())
