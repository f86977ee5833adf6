"""Answers on a store that others change too: without what they took first.

A decision is made on what the store knows. By the time it is applied another server may have fetched one of
the messages; the file system says who was first, and the store tells the loser. What is left is still a good
answer. If nothing is left the command is decided again, on what the store knows by then: somebody else's
message is no longer in line, so each round is about other messages.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from penstock.core.commands import Command
from penstock.core.ids import MessageId
from penstock.core.outcomes import Delivered, Outcome, Unfinished


def without(taken: AbstractSet[MessageId], command: Command, outcome: Outcome) -> Outcome:
    """The outcome without the messages that others took."""
    if not taken or not isinstance(outcome, Delivered) or not outcome.messages:
        return outcome
    ours = tuple([delivery for delivery in outcome.messages if delivery.id not in taken])
    return Delivered(ours) if ours else Unfinished(command)
