"""How often a key may be used."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from penstock.core.errors import ConfigError

COUNT_MAX = 1_000_000_000
SECONDS_MAX = 24 * 60 * 60


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many times in so many seconds; also as many at once."""

    count: Annotated[int, Meta(ge=1, le=COUNT_MAX)]
    seconds: Annotated[int, Meta(ge=1, le=SECONDS_MAX)] = 1

    def __str__(self) -> str:
        return str(self.count) if self.seconds == 1 else f"{self.count}/{self.seconds}"


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of one key; None: no limit."""

    requests: Rate | None = None  # of whatever kind
    publishes: Rate | None = None
    consumes: Rate | None = None  # claims; answers for claimed messages do not count


UNLIMITED = Rates()


def parse_rate(text: str) -> Rate:
    """Read `COUNT`, which is per second, or `COUNT/SECONDS`."""
    found = re.fullmatch(r"([0-9]{1,10})(?:/([0-9]{1,5}))?", text)
    count, seconds = (int(found[1]), int(found[2] or 1)) if found else (0, 0)
    if not (1 <= count <= COUNT_MAX and 1 <= seconds <= SECONDS_MAX):
        raise ConfigError(
            f"cannot use the rate {text[:100]!r}",
            hint="write COUNT or COUNT/SECONDS: 100 is a hundred requests a second, 30/60 thirty a minute",
        )
    return Rate(count, seconds)


class Bucket:
    """What is left of a rate. It fills steadily, and holds one interval's worth."""

    __slots__ = ("_at", "_level", "_per_second", "rate")

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._per_second = rate.count / rate.seconds
        self._level = float(rate.count)
        self._at: float | None = None  # when it had that level

    def seconds_to_next(self, now: float) -> float:
        """How long until there is one to take; 0: there is one now."""
        if self._at is not None:
            filled = self._level + (now - self._at) * self._per_second
            self._level = min(filled, float(self.rate.count))
        self._at = now
        return max(0.0, (1.0 - self._level) / self._per_second)

    def take(self) -> None:
        """Use one up."""
        self._level -= 1.0


class Meter:
    """What is left of all the limits of one key."""

    __slots__ = ("_consumes", "_publishes", "_requests")

    def __init__(self, rates: Rates, before: Meter | None = None) -> None:
        """Limits that stay the same go on from where they were `before`."""
        requests, publishes, consumes = before.buckets() if before else (None, None, None)
        self._requests = _bucket(rates.requests, requests)
        self._publishes = _bucket(rates.publishes, publishes)
        self._consumes = _bucket(rates.consumes, consumes)

    def buckets(self) -> tuple[Bucket | None, Bucket | None, Bucket | None]:
        """One for each field of `Rates`."""
        return self._requests, self._publishes, self._consumes

    def take_turn(self, now: float, *, publishes: bool, consumes: bool) -> float:
        """Use up one turn of each limit that counts this; else, and then of none, the seconds to wait."""
        counting = [self._requests] if self._requests is not None else []
        if publishes and self._publishes is not None:
            counting.append(self._publishes)
        if consumes and self._consumes is not None:
            counting.append(self._consumes)
        wait_s = 0.0
        for bucket in counting:
            wait_s = max(wait_s, bucket.seconds_to_next(now))
        if wait_s == 0.0:
            for bucket in counting:
                bucket.take()
        return wait_s


def _bucket(rate: Rate | None, before: Bucket | None) -> Bucket | None:
    if rate is None:
        return None
    return before if before is not None and before.rate == rate else Bucket(rate)
