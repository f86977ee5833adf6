"""The file names of a queue: reading, writing and refusing them. Pure.

    1415776871123                  ready since it was published at that moment
    1415776871123.new              being written
    1415776871123.1415776879654    being consumed until that moment

Moments are unix milliseconds of 12 to 14 digits or microseconds of 15 to 17, told apart by their length. Any
other name belongs to somebody else.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

Unit = Literal["ms", "us"]

READY = ""
NEW = "new"

_MOMENT = "[1-9][0-9]{11,16}"
_ID = re.compile(_MOMENT)
_FILE_NAME = re.compile(rf"({_MOMENT})(?:\.({NEW}|{_MOMENT}))?")

_MS_DIGITS_MAX = 14
# What both units can write: in 1973 a moment has enough digits, in 5138 it would have too many.
EARLIEST_US = 100_000_000_000_000
LATEST_US = 99_999_999_999_999_000


class FileName(NamedTuple):
    """A name that means something here."""

    id: str
    extension: str  # READY, NEW or the moment until which it is being consumed


def parse(name: str) -> FileName | None:
    """What a file name says, or None if the file is not ours."""
    match = _FILE_NAME.fullmatch(name)
    return None if match is None else FileName(match[1], match[2] or READY)


def file_name(message_id: str, extension: str) -> str:
    return f"{message_id}.{extension}" if extension else message_id


def moment_us(digits: str) -> int:
    """The moment that an id or an extension names, in microseconds."""
    return int(digits) * 1000 if len(digits) <= _MS_DIGITS_MAX else int(digits)


def id_at(us: int, unit: Unit) -> str:
    """The id of a moment."""
    us = min(max(us, EARLIEST_US), LATEST_US)
    return str(us) if unit == "us" else str(us // 1000)


def id_after(us: int, unit: Unit) -> str:
    """The first id of a later moment."""
    return id_at(us + (1 if unit == "us" else 1000), unit)


def expiry_like(message_id: str, us: int) -> str:
    """The first moment at or after `us`, in the unit of an id.

    Whoever wrote the id reads its extension in the same unit. To a program that counts milliseconds, a claim
    in microseconds would never end; to one that counts microseconds, one in milliseconds would be over.
    """
    return id_at(us + 999, "ms") if len(message_id) <= _MS_DIGITS_MAX else id_at(us, "us")


def checked_id(message_id: str | int) -> str:
    """An id that can be looked for; anything else could name a file that is not a message."""
    text = str(message_id)
    if not _ID.fullmatch(text):
        raise ValueError(f"{text!r} is not a message id: an id is a moment of 12 to 17 digits")
    return text


def checked_queue_name(name: str) -> str:
    """The name of a directory right below another; there is no nesting and no way out."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a queue: it has to name one directory")
    return name


def span_us(seconds: float) -> int:
    """A span in whole microseconds; what no file name could say is as good as for ever."""
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"a visibility timeout is zero or more seconds, not {seconds}")
    return LATEST_US if seconds > LATEST_US / 1_000_000 else round(seconds * 1_000_000)
