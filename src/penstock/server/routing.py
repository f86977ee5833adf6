"""Which dialect a request speaks, by the first segment of its path."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from penstock.core.errors import ConfigError
from penstock.dialects.http import Dialect


class Router:
    """The dialects of one listener. One alone owns the whole root; several share it by their `roots`."""

    __slots__ = ("_by_root", "_catches_all", "fallback")

    def __init__(self, dialects: Sequence[Dialect], fallback: Dialect) -> None:
        """`fallback` answers what belongs to nobody, and what is too broken to have a path."""
        self.fallback = fallback
        self._by_root: dict[str, Dialect] = {}
        self._catches_all = False
        if len(dialects) == 1:
            self.fallback = dialects[0]
            return
        for dialect in dialects:
            if dialect.roots is None:
                self.fallback = dialect
                self._catches_all = True
            else:
                self._own(dialect, dialect.roots)

    def route(self, method: str, path: str) -> Dialect:
        if method == "PUT" and self._catches_all and path.count("/") == 1:
            # Only a catch-all makes queues at the root; it says why there can be none of a taken name.
            return self.fallback
        root = path.split("/", 2)[1]
        if "%" in root:
            root = unquote(root)
        return self._by_root.get(root, self.fallback)

    def _own(self, dialect: Dialect, roots: frozenset[str]) -> None:
        for root in roots:
            other = self._by_root.setdefault(root, dialect)
            if other is not dialect:
                raise ConfigError(
                    f"/{root} is claimed by both {other.name} and {dialect.name}",
                    hint="Give one of them a port of its own.",
                )
