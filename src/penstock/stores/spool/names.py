"""What files are called, and what their names say.

    new/Q:ID    queues/Q/ID    delay/Q:ID    remove/Q:ID

Ours are UUIDs of version 1, ordered by the 60 bits of time in them: their text is not in that order. Any
other name is a message too if it fits into all four folders; it is ordered by the time of its file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from os import fsencode, urandom

from penstock.core.ids import MessageId, from_uuid, to_uuid

NAME_BYTES_MAX = 255  # of a file, on every file system we know
UUID_LETTERS = 36
# A queue's name, a colon and an id have to fit into the name of one file.
QUEUE_NAMES = f"[A-Za-z0-9_-]{{1,{NAME_BYTES_MAX - 1 - UUID_LETTERS}}}"
TICKS_PER_MS = 10_000  # a tick is 100 ns
TICKS_AT_UNIX_EPOCH = 0x01B21DD213814000  # the time in a UUID counts from 15 October 1582
AHEAD_TICKS_MAX = 7 * 24 * 3_600_000 * TICKS_PER_MS  # by which a clock may have been set back
_TICKS_MAX = (1 << 60) - 1
_LOTS_PER_DRAW = 256  # one system call for many ids

_is_queue_name = re.compile(QUEUE_NAMES).fullmatch


def is_queue_name(name: str) -> bool:
    """Whether a directory of that name is a queue."""
    return _is_queue_name(name) is not None


def is_message_name(queue: str, name: str) -> bool:
    """Whether a file of that name is a message. What begins with a dot is some program's own affair."""
    return (
        name[:1] not in ("", ".")
        and ":" not in name
        and len(queue) + 1 + (len(name) if name.isascii() else len(fsencode(name))) <= NAME_BYTES_MAX
    )


def split(file_name: str) -> tuple[str, str] | None:
    """The queue and the message that a name in `new`, `delay` or `remove` speaks of; None if of neither."""
    queue, _, name = file_name.partition(":")
    return (queue, name) if is_queue_name(queue) and is_message_name(queue, name) else None


@lru_cache(maxsize=1024)  # the same name is asked for several times over
def id_of(queue: str, name: str) -> MessageId:
    """The id of the message in a file: its name where that is a UUID, and otherwise made from it."""
    message_id = from_uuid(name) if len(name) == UUID_LETTERS else None
    if message_id is not None and to_uuid(message_id) == name:
        return message_id
    return made_up_id(queue, name)


def made_up_id(queue: str, name: str) -> MessageId:
    """An id for a file whose name is none. It is the same on every server and after every restart."""
    bits = bytearray(sha256(fsencode(f"{queue}:{name}")).digest()[:16])
    bits[6] = bits[6] & 0x0F | 0x80  # version 8: made of what its maker likes
    bits[8] = bits[8] & 0x3F | 0x80
    return bytes(bits)


def ticks_of(message_id: MessageId) -> int | None:
    """The time in an id; None if it has none."""
    if message_id[6] & 0xF0 != 0x10 or message_id[8] & 0xC0 != 0x80:
        return None
    high = int.from_bytes(message_id[6:8], "big") & 0x0FFF
    return high << 48 | int.from_bytes(message_id[4:6], "big") << 32 | int.from_bytes(message_id[:4], "big")


def ticks_at(unix_ns: int) -> int:
    """The moment as the time in an id."""
    return min(max(0, unix_ns // 100 + TICKS_AT_UNIX_EPOCH), _TICKS_MAX)


def ms_of(ticks: int) -> int:
    """The time in an id as unix milliseconds."""
    return max(0, (ticks - TICKS_AT_UNIX_EPOCH) // TICKS_PER_MS)


class TimeIds:
    """Makes ids that grow, whatever the clock does, and that nobody can guess.

    Where a UUID of version 1 may name a machine these have 61 bits drawn by lot, marked as such by the bit
    that no network card has.
    """

    def __init__(self) -> None:
        self._ticks = 0
        self._lots: list[bytes] = []

    def go_past(self, ticks: int, now_ms: int) -> None:
        """Let all ids to come be later than this time, unless it is a time that no clock of ours was at."""
        if ticks_at(now_ms * 1_000_000) + AHEAD_TICKS_MAX > ticks:
            self._ticks = max(self._ticks, ticks)

    def __call__(self, now_ms: int, sequence: int) -> MessageId:  # noqa: ARG002 - the time says it all
        self._ticks = max(self._ticks + 1, now_ms * TICKS_PER_MS + TICKS_AT_UNIX_EPOCH)
        if not self._lots:
            drawn = urandom(8 * _LOTS_PER_DRAW)
            self._lots = [drawn[at : at + 8] for at in range(0, len(drawn), 8)]
        ticks = self._ticks & _TICKS_MAX
        time_first = (ticks & 0xFFFFFFFF) << 32 | (ticks >> 32 & 0xFFFF) << 16 | 0x1000 | ticks >> 48
        lot = int.from_bytes(self._lots.pop(), "big") & 0x3FFF_FFFF_FFFF_FFFF
        return (time_first << 64 | 0x8000_0100_0000_0000 | lot).to_bytes(16, "big")
