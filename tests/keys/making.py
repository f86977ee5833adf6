"""Keys for tests."""

from __future__ import annotations

from penstock.keys.file import KeyFile, draw
from penstock.keys.grants import parse_grant
from penstock.keys.rates import UNLIMITED, Rates
from penstock.keys.ring import Fresh, Key, KeyRing


def key(*grants: str, rates: Rates = UNLIMITED) -> Key:
    """A key that nobody has the text of."""
    return draw().key("test", tuple(map(parse_grant, grants)), rates)


def add_key(file: KeyFile, *grants: str, rates: Rates = UNLIMITED) -> str:
    """Make a key; its text."""

    def edit(ring: KeyRing, fresh: Fresh) -> tuple[KeyRing, str]:
        made = fresh.key("test", tuple(map(parse_grant, grants)), rates)
        return ring.adding(made), fresh.text

    return file.change(edit)


def id_of(text: str) -> str:
    """The id within a key's text."""
    return text.split("_")[1]


def remove_key(file: KeyFile, text: str) -> None:
    """Take a key back."""
    file.change(lambda ring, _: (ring.without(id_of(text)), None))
