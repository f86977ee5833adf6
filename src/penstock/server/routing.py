"""Which dialect a request speaks, by the first segment of its path."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from penstock.core.errors import ConfigError
from penstock.dialects.http import Dialect


class Router:
    """The dialects of one listener. One alone owns the whole root; several share it by their `roots`."""

    __slots__ = ("_by_root", "fallback")

    def __init__(self, dialects: Sequence[Dialect], fallback: Dialect) -> None:
        """`fallback` answers what belongs to nobody, and what is too broken to have a path."""
        self.fallback = fallback
        self._by_root: dict[str, Dialect] = {}
        if len(dialects) == 1:
            self.fallback = dialects[0]
            return
        for dialect in dialects:
            if dialect.roots is None:
                self.fallback = dialect
            else:
                self._own(dialect, dialect.roots)

    def route(self, path: str) -> Dialect:
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
