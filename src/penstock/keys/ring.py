"""All keys, as one value: a change is another ring."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from penstock.keys.grants import Grant
from penstock.keys.rates import UNLIMITED, Rates

KEYS_MAX = 10_000
GRANTS_MAX = 32
NAME_LETTERS_MAX = 200
# Chosen by somebody else, a text may be easy to guess; lmstfy refuses shorter ones, too.
TEXT_LETTERS_MIN = 20
TEXT_LETTERS_MAX = 255

_TEXT = re.compile(rf"[\x21-\x7e]{{{TEXT_LETTERS_MIN},{TEXT_LETTERS_MAX}}}")


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One key as it is kept: everything but its text."""

    id: Annotated[str, Meta(pattern=r"\A[a-z0-9]{4,32}\Z")]
    name: Annotated[str, Meta(min_length=1, max_length=NAME_LETTERS_MAX)]
    text_sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    grants: Annotated[tuple[Grant, ...], Meta(min_length=1, max_length=GRANTS_MAX)]
    created_at_ms: Annotated[int, Meta(ge=0)]
    rates: Rates = UNLIMITED


class Fresh(msgspec.Struct, frozen=True):
    """What a new key is made of, drawn beforehand so that making it leaves nothing to chance.

    The text may also be one that clients have already.
    """

    id: str
    text: str
    now_ms: int

    def key(self, name: str, grants: tuple[Grant, ...], rates: Rates = UNLIMITED) -> Key:
        """The new key."""
        return Key(self.id, name, digest_of(self.text.encode()), grants, self.now_ms, rates)


class KeyRing(msgspec.Struct, frozen=True):
    """Every key there is, in the order of their making."""

    keys: tuple[Key, ...] = ()

    def find(self, key_id: str) -> Key | None:
        """The key of that id."""
        return next((key for key in self.keys if key.id == key_id), None)

    def find_by_text(self, text: str) -> Key | None:
        """The key of that text."""
        digest = digest_of(text.encode())
        return next((key for key in self.keys if key.text_sha256 == digest), None)

    def refusal(self, key: Key) -> str | None:
        """Why a key cannot be added; None: it can."""
        if len(self.keys) >= KEYS_MAX:
            return f"there are {KEYS_MAX} keys already"
        if any(key.text_sha256 == other.text_sha256 or key.id == other.id for other in self.keys):
            return "there is such a key already"
        return None

    def adding(self, key: Key) -> KeyRing:
        """This ring and a new key."""
        return KeyRing((*self.keys, key))

    def replacing(self, key: Key) -> KeyRing:
        """This ring with the key in place of the one of the same id."""
        return KeyRing(tuple(key if other.id == key.id else other for other in self.keys))

    def without(self, key_id: str) -> KeyRing:
        """This ring without a key."""
        return KeyRing(tuple(key for key in self.keys if key.id != key_id))


def digest_of(text: bytes) -> str:
    """What is kept of a key's text.

    A plain hash is enough: our own texts have 160 bits of chance, which nobody can try out. Looking a digest
    up tells nothing by the time it takes, because nobody can steer towards a digest.
    """
    return sha256(text).hexdigest()


def is_usable_text(text: str) -> bool:
    """Whether a text that somebody else chose can be a key: it has to fit a header, and be long enough."""
    return _TEXT.fullmatch(text) is not None
