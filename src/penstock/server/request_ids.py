"""Names for requests: ULIDs, so that they sort by time in any log.

A ULID is 48 bits of milliseconds and 80 bits of chance, written in 26 letters of Crockford's base 32. Here
the last 20 bits count up within a millisecond and the 60 before them are drawn anew for each, so that an id
costs two look-ups in a table instead of a call to the random generator.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from random import getrandbits

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in ALPHABET for b in ALPHABET)
COUNT_END = 1 << 20  # ids within one millisecond; then the next one is begun early

_SANE = re.compile(rb"[\x21-\x7e]{1,128}")


def client_request_id(value: bytes) -> str | None:
    """The id that a client gave its request, where it can be repeated in a header and a log line."""
    return value.decode("ascii") if _SANE.fullmatch(value) else None


class RequestIds:
    """An endless supply of ids, each greater than the one before, also when the clock steps back."""

    __slots__ = ("_at_ms", "_clock_ns", "_count", "_prefix")

    def __init__(self, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._clock_ns = clock_ns
        self._at_ms = 0
        self._count = 0
        self._prefix = ""

    def next(self) -> str:
        now_ms = self._clock_ns() // 1_000_000
        if now_ms > self._at_ms:
            self._begin(now_ms)
        elif self._count == COUNT_END:
            self._begin(self._at_ms + 1)
        count = self._count
        self._count = count + 1
        return self._prefix + _PAIRS[count >> 10] + _PAIRS[count & 1023]

    def _begin(self, at_ms: int) -> None:
        self._at_ms = at_ms
        self._count = 0
        # These ids are for finding log lines, not for keeping secrets: plain chance will do.
        bits = (at_ms & (1 << 48) - 1) << 60 | getrandbits(60)
        # 108 bits are 22 letters of 5 bits, the first of which has 2 bits to spare.
        self._prefix = "".join([_PAIRS[bits >> shift & 1023] for shift in range(100, -1, -10)])
