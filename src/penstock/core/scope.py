"""A part of all queues, told by patterns: who may reach what is written down as these."""

from __future__ import annotations

import msgspec

from penstock.core.model import QueueName

ALL = "*"
_EVERYTHING = QueueName(ALL, ALL)


def fits(pattern: str, name: str) -> bool:
    """Whether a name is the pattern or, where that ends in "*", begins like it."""
    return name.startswith(pattern[:-1]) if pattern[-1:] == "*" else name == pattern


class Scope(msgspec.Struct, frozen=True, gc=False):
    """The queues whose namespace and name both fit one of the patterns."""

    patterns: tuple[QueueName, ...] = ()

    def covers(self, name: QueueName) -> bool:
        """Whether it holds this queue."""
        for namespace, queue in self.patterns:
            if fits(queue, name.name) and fits(namespace, name.namespace):
                return True
        return False

    def reaches(self, namespace: str) -> bool:
        """Whether it holds some queue, made or not, of this namespace."""
        return any(fits(pattern.namespace, namespace) for pattern in self.patterns)

    def is_everything(self) -> bool:
        """Whether a single pattern holds every queue there can be."""
        return _EVERYTHING in self.patterns
