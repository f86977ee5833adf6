"""Consumers that wait, and what they are handed."""

from __future__ import annotations

from penstock.core.commands import (
    Claim,
    DescribeQueue,
    Draft,
    IfMissing,
    Publish,
)
from penstock.core.model import Content, Counts, QueueName
from penstock.core.outcomes import Delivered, QueueShown
from tests.engine.driving import Driver, Inbox

Q = QueueName("default", "q")
OTHER = QueueName("default", "other")
NOTHING = Delivered(())
WAIT_MS = 60_000


def publish(
    *bodies: str,
    name: QueueName = Q,
    delay_ms: int = 0,
    tries: int | None = None,
    ttl_ms: int | None = None,
) -> Publish:
    drafts = tuple(Draft(Content(body.encode()), delay_ms, ttl_ms, tries) for body in bodies)
    return Publish(name, drafts, IfMissing.CREATE)


def consumer(
    driver: Driver, *names: QueueName, wait_ms: int = WAIT_MS, limit: int = 1, has_gone: bool = False
) -> Inbox:
    """Somebody who waits from now on."""
    inbox = driver.submit(Claim(names or (Q,), limit, 100, wait_ms, IfMissing.EMPTY), has_gone=has_gone)
    driver.engine.run()
    return inbox


def got(inbox: Inbox) -> list[str] | None:
    """The bodies that somebody was handed; None: still waiting."""
    if inbox.outcome is None:
        return None
    assert isinstance(inbox.outcome, Delivered)
    return [delivery.content.body.decode() for delivery in inbox.outcome.messages]


def counts(driver: Driver, name: QueueName = Q) -> Counts:
    shown = driver.ask(DescribeQueue(name))
    assert isinstance(shown, QueueShown)
    return shown.counts


def held(driver: Driver, hidden_ms: int = 100, tries: int | None = None) -> Delivered:
    """A message that is claimed by somebody else."""
    driver.ask(publish("held", tries=tries))
    outcome = driver.ask(Claim((Q,), hidden_ms=hidden_ms))
    assert isinstance(outcome, Delivered)
    return outcome
