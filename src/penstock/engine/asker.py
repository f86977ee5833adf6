"""Whoever wants to know how a command went."""

from __future__ import annotations

from typing import Protocol

from penstock.core.outcomes import Outcome


class Asker(Protocol):
    """The other end of a command."""

    def answer(self, outcome: Outcome) -> bool:
        """Take the outcome; False if there is nobody any more to take it."""
        ...


class Nobody:
    """Asks for things that the engine does of itself."""

    def answer(self, outcome: Outcome) -> bool:  # noqa: ARG002 - nobody is listening
        return True
