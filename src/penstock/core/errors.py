"""Faults: what goes wrong through no decision of the rules.

    PenstockError
    ├── ConfigError        a setting that cannot be used
    ├── StoreError         the store cannot do what was asked of it
    │   ├── StoreBusy      another process owns it
    │   ├── StoreTooNew    written by a later version, or not by Penstock at all
    │   ├── StoreFull      there is no room for what was to be applied; nothing was changed
    │   └── StoreFailed    a write or sync failed: nothing may be acknowledged on it again
    ├── KeyFileError       the file of keys cannot be read or written
    └── ListenError        an address that cannot be listened on

A refusal that a caller can expect is not here: it is a value, see `outcomes`.
"""

from __future__ import annotations


class PenstockError(Exception):
    """A fault with a hint for the person who has to mend it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(PenstockError):
    """A setting that cannot be used."""


class StoreError(PenstockError):
    """The store cannot do what was asked of it."""


class StoreBusy(StoreError):
    """Another process owns the store."""


class StoreTooNew(StoreError):
    """The file was written by a later version, or by another program."""


class StoreFull(StoreError):
    """There is no room for what was to be applied. Nothing was changed; there may be room later."""


class StoreFailed(StoreError):
    """A write or sync failed; what was not synced by then is not kept."""


class KeyFileError(PenstockError):
    """The file of keys cannot be read, understood or written."""


class ListenError(PenstockError):
    """An address that cannot be listened on."""
