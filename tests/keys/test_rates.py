"""Limits on how often a key may be used."""

from __future__ import annotations

import re

import pytest

from penstock.core.errors import ConfigError
from penstock.keys.rates import Bucket, Meter, Rate, Rates, parse_rate


def taken(bucket: Bucket, now: float) -> bool:
    if bucket.seconds_to_next(now) > 0:
        return False
    bucket.take()
    return True


def test_a_rate_is_a_count_per_second_or_per_so_many_seconds() -> None:
    assert parse_rate("100") == Rate(100, 1)
    assert parse_rate("30/60") == Rate(30, 60)
    assert [str(parse_rate(text)) for text in ("100", "30/60")] == ["100", "30/60"]


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1.5", "1/0", "1/", "/1", "fast", "1/86401", "9999999999", "1 "]
)
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(repr(text))) as refusal:
        parse_rate(text)
    assert "30/60 thirty a minute" in refusal.value.hint


def test_an_interval_s_worth_may_be_used_at_once_and_then_fills_steadily() -> None:
    bucket = Bucket(Rate(3, 6))
    assert [taken(bucket, now=100.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.seconds_to_next(100.0) == 2.0
    assert not taken(bucket, now=101.9)
    assert taken(bucket, now=102.0)
    assert not taken(bucket, now=102.0)


def test_what_is_not_used_is_kept_for_one_interval_only() -> None:
    bucket = Bucket(Rate(2))
    assert [taken(bucket, now=0.0) for _ in range(2)] == [True, True]
    assert [taken(bucket, now=1000.0) for _ in range(3)] == [True, True, False]


def test_each_kind_has_its_own_limit_and_none_is_used_where_one_is_reached() -> None:
    meter = Meter(Rates(requests=Rate(3, 60), publishes=Rate(1, 60)))
    assert meter.take_turn(0.0, publishes=True, consumes=False) == 0.0
    assert meter.take_turn(0.0, publishes=True, consumes=False) == 60.0
    assert meter.take_turn(0.0, publishes=False, consumes=True) == 0.0
    assert meter.take_turn(0.0, publishes=False, consumes=False) == 0.0
    assert meter.take_turn(0.0, publishes=False, consumes=False) == 20.0


def test_a_limit_that_stays_the_same_goes_on_from_where_it_was() -> None:
    first = Meter(Rates(requests=Rate(1, 60), consumes=Rate(1, 60)))
    assert first.take_turn(0.0, publishes=False, consumes=True) == 0.0
    second = Meter(Rates(requests=Rate(2, 60), consumes=Rate(1, 60)), first)
    assert second.take_turn(0.0, publishes=True, consumes=False) == 0.0  # it has changed: begun anew
    assert second.take_turn(0.0, publishes=False, consumes=True) == 60.0
