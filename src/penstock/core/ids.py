"""Message ids: 128 bits in the layout of UUID version 7.

    48 bits  unix milliseconds of the publish        orders ids by time
     4 bits  version, 0111
    12 bits  sequence, high part  ┐  the journal number of the publish: orders ids
     2 bits  variant, 10          │  within a millisecond, and leads to the message's
    30 bits  sequence, low part   ┘  row without an index of its own
    32 bits  tag, drawn at random    so that no id can be guessed from another

42 bits of sequence last 14 years at ten thousand events a second.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

MessageId = bytes  # always 16 of them
Ids = Callable[[int, int], MessageId]  # (now_ms, the sequence that the event will have) -> a new id

SEQUENCE_MAX = (1 << 42) - 1
TAG_MAX = (1 << 32) - 1

_VERSION = 7 << 12  # within the high 64 bits
_VARIANT = 2 << 62  # within the low 64 bits
_halves = Struct(">QQ").pack
_LOW_30 = (1 << 30) - 1
_LOW_40 = (1 << 40) - 1
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _CROCKFORD for low in _CROCKFORD]  # ten bits at a time


def _base_32_letters() -> str:
    """What Python's base 32 calls each letter of Crockford's; "!" for all that is not one."""
    letters = ["!"] * 128
    for value, letter in enumerate(_CROCKFORD):
        letters[ord(letter)] = letters[ord(letter.lower())] = "0123456789abcdefghijklmnopqrstuv"[value]
    return "".join(letters)


_TO_BASE_32 = _base_32_letters()


def make_id(published_at_ms: int, sequence: int, tag: int) -> MessageId:
    """Lay out an id. The tag comes from outside: the core draws no lots."""
    return _halves(
        published_at_ms << 16 | _VERSION | sequence >> 30, _VARIANT | (sequence & _LOW_30) << 32 | tag
    )


def sequence_of(message_id: MessageId) -> int:
    """The journal number of the message's publish."""
    number = int.from_bytes(message_id, "big")
    return (number >> 64 & 0xFFF) << 30 | number >> 32 & _LOW_30


def published_at_ms_of(message_id: MessageId) -> int:
    """When the message was published."""
    return int.from_bytes(message_id[:6], "big")


def to_uuid(message_id: MessageId) -> str:
    """The id as UUID text."""
    text = message_id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def from_uuid(text: str) -> MessageId | None:
    """Read UUID text: hyphenated or bare, in any case; None if it is neither."""
    if len(text) == 36:
        if not text[8] == text[13] == text[18] == text[23] == "-":
            return None
        text = text.replace("-", "")
    if len(text) != 32 or not text.isalnum():  # bytes.fromhex would skip blanks
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def to_ulid(message_id: MessageId) -> str:
    """The same 128 bits as 26 letters of Crockford's base 32."""
    number = int.from_bytes(message_id, "big")
    pairs = _PAIRS
    # Three parts that fit a machine word: a third of the time of shifting all 128 bits for each pair.
    high, middle, low = number >> 70, number >> 30 & _LOW_40, number & _LOW_30
    return (
        f"{pairs[high >> 50]}{pairs[high >> 40 & 1023]}{pairs[high >> 30 & 1023]}"
        f"{pairs[high >> 20 & 1023]}{pairs[high >> 10 & 1023]}{pairs[high & 1023]}"
        f"{pairs[middle >> 30]}{pairs[middle >> 20 & 1023]}{pairs[middle >> 10 & 1023]}{pairs[middle & 1023]}"
        f"{pairs[low >> 20]}{pairs[low >> 10 & 1023]}{pairs[low & 1023]}"
    )


def from_ulid(text: str) -> MessageId | None:
    """Read 26 letters of base 32 in either case; None if they are not an id."""
    if len(text) != 26 or text[0] > "7" or not text.isascii():
        return None
    try:
        return int(text.translate(_TO_BASE_32), 32).to_bytes(16, "big")
    except ValueError:
        return None
