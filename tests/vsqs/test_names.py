"""What file names mean, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.vsqs.names import (
    EARLIEST_US,
    LATEST_US,
    Unit,
    checked_id,
    checked_queue_name,
    expiry_like,
    id_after,
    id_at,
    moment_us,
    parse,
    span_us,
)

units: st.SearchStrategy[Unit] = st.sampled_from(["ms", "us"])


@given(us=st.integers(0, 10**20), unit=units)
def test_an_id_names_its_moment_or_the_nearest_that_can_be_named(us: int, unit: Unit) -> None:
    message_id = id_at(us, unit)
    assert parse(message_id) == (message_id, "")
    possible_us = min(max(us, EARLIEST_US), LATEST_US)
    assert 0 <= possible_us - moment_us(message_id) < (1 if unit == "us" else 1000)


@given(us=st.integers(EARLIEST_US, LATEST_US - 1000), unit=units)
def test_the_next_id_is_the_first_of_a_later_moment(us: int, unit: Unit) -> None:
    step_us = 1 if unit == "us" else 1000
    assert us < moment_us(id_after(us, unit)) <= us + step_us


@given(us=st.integers(EARLIEST_US, LATEST_US), expires_us=st.integers(0, 10**20), unit=units)
def test_an_expiry_has_the_unit_of_its_id(us: int, expires_us: int, unit: Unit) -> None:
    message_id = id_at(us, unit)
    extension = expiry_like(message_id, expires_us)
    possible_us = min(max(expires_us, EARLIEST_US), LATEST_US)
    assert 0 <= moment_us(extension) - possible_us < 1000, "no shorter than asked for"
    assert parse(f"{message_id}.{extension}") == (message_id, extension)
    assert (len(message_id) > 14) == (len(extension) > 14)


@pytest.mark.parametrize("message_id", ["", "../escape", "1415776871123.new", "14157768711", "abc", "1" * 18])
def test_what_cannot_be_an_id_is_refused(message_id: str) -> None:
    with pytest.raises(ValueError, match="is not a message id"):
        checked_id(message_id)


def test_an_id_may_be_a_number() -> None:
    assert checked_id(1415776871123) == "1415776871123"


@pytest.mark.parametrize("name", ["", ".", "..", "../other", "a/b", "/etc", "a\0b", "a/"])
def test_a_queue_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a queue"):
        checked_queue_name(name)


@pytest.mark.parametrize("name", ["jobs", "...", ".hidden", "a b", "ü", "1415776871123"])
def test_any_other_queue_name_is_accepted(name: str) -> None:
    assert checked_queue_name(name) == name


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan"), float("-inf")])
def test_a_visibility_timeout_below_zero_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="zero or more seconds"):
        span_us(seconds)


def test_a_visibility_timeout_beyond_all_names_is_as_good_as_for_ever() -> None:
    assert span_us(float("inf")) == span_us(1e300) == LATEST_US
    assert expiry_like("1415776871123", LATEST_US + LATEST_US) == "99999999999999"
    assert expiry_like("1415776871123456", LATEST_US + LATEST_US) == "99999999999999000"
