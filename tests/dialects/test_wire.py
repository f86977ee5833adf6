"""What dialects share in reading and writing."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import Malformed
from penstock.dialects.wire import (
    decode_json,
    error_response,
    header_value,
    plain_decimal,
    query_parameters,
)


@pytest.mark.parametrize("text", ["0", "7", "007", "100"])
def test_decimal_digits_are_a_number(text: str) -> None:
    assert plain_decimal(text, 0, 100) == int(text)


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "+1", "-1", "1.0", "1e2", "0x1", "1_0", "²", "١", "101", "9" * 20, "9" * 5000]
)
def test_anything_else_is_no_number(text: str) -> None:
    assert plain_decimal(text, 0, 100) is None


def test_a_number_below_the_lowest_is_refused() -> None:
    assert plain_decimal("0", 1, 100) is None


def test_query_parameters_are_decoded_and_the_first_of_two_counts() -> None:
    assert query_parameters("a=1&b=x%20y+z&a=2&c&d==&=e") == {
        "a": "1",
        "b": "x y z",
        "c": "",
        "d": "=",
        "": "e",
    }


def test_no_query_has_no_parameters() -> None:
    assert query_parameters("") == {}


@given(st.text())
def test_a_header_value_never_ends_its_line(text: str) -> None:
    value = header_value(text)
    assert value is None or not set(value) & {0, 10, 13}


@given(st.binary(max_size=100).map(lambda data: bytes(byte for byte in data if byte >= 32 and byte != 127)))
def test_what_was_a_header_value_is_one_again(value: bytes) -> None:
    assert header_value(value.decode("latin-1")) == value


@pytest.mark.parametrize("text", ["a\r\nX: y", "a\nb", "a\rb", "a\x00b", "日本", "\ud800"])
def test_what_cannot_stand_in_a_header_is_no_header_value(text: str) -> None:
    assert header_value(text) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "The body is not JSON: Input data was truncated"),
        (b"[1", "The body is not JSON: Input data was truncated"),
        (b"nope", "The body is not JSON: invalid character (byte 4)"),
        (b'["\xff"]', "The body is not JSON: it is not UTF-8"),
        (b"[" * 100_000, "The body is nested too deeply"),
    ],
)
def test_a_body_that_is_not_json_says_why(body: bytes, reason: str) -> None:
    assert decode_json(msgspec.json.Decoder(), body) == Malformed(reason)


def test_an_error_may_carry_further_headers() -> None:
    response = error_response(503, "later", (b"Retry-After", b"1"))
    assert response.body == b'{"error":"later"}'
    assert response.headers == ((b"Content-Type", b"application/json"), (b"Retry-After", b"1"))
