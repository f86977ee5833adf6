"""Commands drawn at random, weighted so that most of them find something to do.

There are few queues, bodies and spans of time: so equal bodies meet, queues are made again under their
names, and many things fall due in the same millisecond. Where a choice stands several times in a list, it
is worth making often.
"""

from __future__ import annotations

from random import Random

from penstock.core import commands as c
from penstock.core.model import Content, Phase, QueueName, Redrive, Settings
from penstock.core.outcomes import Delivery

NAMES = [
    QueueName("default", "a"),
    QueueName("default", "b"),
    QueueName("default", "dead"),
    QueueName("dedup", "a"),
    QueueName("dedup", "dead"),
]
PHASES = [
    (Phase.READY,),
    (Phase.READY, Phase.DELAYED, Phase.CLAIMED, Phase.COPY),
    (Phase.DEAD, Phase.CLAIMED),
    tuple(Phase),
]


class Lots:
    """One drawing of lots: the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.one_of = self._random.choice

    def name(self) -> QueueName:
        return self.one_of([*NAMES, NAMES[0], NAMES[3]])

    def limit(self) -> int:
        return self.one_of([1, 2, 7])

    def span_ms(self) -> int:
        return self.one_of([0, 10, 10, 100, 1000])

    def some(self, drawn: list[Delivery]) -> list[Delivery]:
        """One to three of the last ones."""
        return self._random.choices(drawn[-10:], k=self.one_of([1, 1, 2, 3]))

    def command(self) -> c.Command:
        """Something that a producer or a consumer does."""
        return self.publish() if self.one_of([True, False]) else self.claim()

    # Messages

    def draft(self) -> c.Draft:
        return c.Draft(
            Content(
                self.one_of([b"1", b" 1", b"2", b"{}", b"\xff", b""]),
                self.one_of(["application/octet-stream", "text/plain"]),
                self.one_of([None, "gzip"]),
                self.one_of([None, "trace"]),
            ),
            delay_ms=self.one_of([None, None, None, 0, 10, 100]),
            ttl_ms=self.one_of([None, None, None, None, 10, 1000]),
            tries=self.one_of([None, None, 1, 2]),
        )

    def publish(self) -> c.Command:
        if self.one_of([True, True, False]):
            return self.publish_to_one()
        return c.PublishAll((self.publish_to_one(), self.publish_to_one()), "emodb")

    def publish_to_one(self) -> c.Publish:
        return c.Publish(
            self.name(),
            tuple(self.draft() for _ in range(self.one_of([1, 2, 4]))),
            self.one_of([c.IfMissing.CREATE, c.IfMissing.CREATE, c.IfMissing.REFUSE]),
            self.one_of([None, None, None, None, "k", "l"]),
            self.one_of(["mqs", "lmstfy"]),
        )

    def claim(self) -> c.Command:
        names = dict.fromkeys(self.name() for _ in range(self.one_of([1, 2, 3])))
        return c.Claim(
            tuple(names),
            self.limit(),
            hidden_ms=self.one_of([None, None, 10, 10, 100, 0]),
            wait_ms=self.one_of([0, 0, 50]),
            if_missing=self.one_of([c.IfMissing.EMPTY, c.IfMissing.EMPTY, c.IfMissing.REFUSE]),
            only_looks=self.one_of([False, False, False, False, True]),
            among=self.one_of([1, 1, 1, 3]),
            dialect=self.one_of(["mqs", "lmstfy"]),
        )

    def answer(self, deliveries: list[Delivery]) -> c.Command:
        """What a consumer says of deliveries; an old number, or none, is sometimes given back."""
        first = deliveries[0]
        ids = tuple(delivery.id for delivery in deliveries)
        attempt = self.one_of([None, first.attempt, first.attempt - 1])
        if self.one_of([True, False]):
            return c.Renew(first.queue, ids, self.span_ms(), attempt)
        return c.Acknowledge(first.queue.namespace, self.one_of([None, first.queue.name]), ids, attempt)

    # Queues

    def settings(self, name: QueueName) -> Settings:
        """With a redrive policy more often than not, also one that leads back to the queue itself."""
        return Settings(
            visibility_ms=self.one_of([10, 100]),
            delay_ms=self.one_of([0, 0, 0, 10]),
            retention_ms=self.one_of([None, None, None, 1000, 10]),
            deduplicate=self.one_of([True, False]),
            collapse=name.namespace == "dedup",
            redrive=self.one_of([None, Redrive(1, "dead"), Redrive(2, "dead"), Redrive(1, "a")]),
        )

    def administer(self) -> c.Command:
        name = self.name()
        draw = self.one_of([self.change, self.change, self.change, self.sweep, self.sweep, self.look])
        return draw(name)

    def change(self, name: QueueName) -> c.Command:
        match self.one_of(["update", "update", "update", "update", "create", "delete"]):
            case "update":
                return c.UpdateQueue(name, self.settings(name))
            case "create":
                return c.CreateQueue(name, self.settings(name), self.one_of([True, False]))
            case _:
                return c.DeleteQueue(name)

    def sweep(self, name: QueueName) -> c.Command:
        match self.one_of(["purge", "drop", "respawn", "respawn", "release", "move"]):
            case "purge":
                return c.Purge(name, self.one_of(PHASES))
            case "drop":
                return c.DropDead(name, self.limit())
            case "respawn":
                return c.Respawn(name, self.limit(), self.one_of([None, 100]))
            case "release":
                return c.ReleaseAll(name)
            case _:
                return c.StartMove(name, self.name())

    def look(self, name: QueueName) -> c.Command:
        match self.one_of(["peek", "describe", "list"]):
            case "peek":
                return c.Peek(name, self.limit(), self.one_of(PHASES))
            case "describe":
                return c.DescribeQueue(name, self.one_of([True, False]))
            case _:
                return c.ListQueues(name.namespace, self.one_of([0, 1]), self.one_of([None, 0, 2]))
