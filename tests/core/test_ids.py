"""Ids: what is laid out in them, their order, and the two ways of writing them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.ids import (
    SEQUENCE_MAX,
    TAG_MAX,
    from_ulid,
    from_uuid,
    make_id,
    published_at_ms_of,
    sequence_of,
    to_ulid,
    to_uuid,
)

moments_ms = st.integers(0, 2**48 - 1)
sequences = st.integers(0, SEQUENCE_MAX)
tags = st.integers(0, TAG_MAX)
any_ids = st.binary(min_size=16, max_size=16)
ids = st.builds(make_id, moments_ms, sequences, tags)

EXAMPLE = bytes.fromhex("0192b3c4d5e67f00bfffffff89abcdef")
EXAMPLE_UUID = "0192b3c4-d5e6-7f00-bfff-ffff89abcdef"
EXAMPLE_ULID = "01JASW9NF6FW0BZZZZZY4TQKFF"


@given(moments_ms, sequences, tags)
def test_an_id_says_when_and_under_which_number_it_was_made(at_ms: int, sequence: int, tag: int) -> None:
    made = make_id(at_ms, sequence, tag)
    assert len(made) == 16
    assert published_at_ms_of(made) == at_ms
    assert sequence_of(made) == sequence
    assert int.from_bytes(made[-4:], "big") == tag


@given(ids)
def test_an_id_is_a_uuid_of_version_7(made: bytes) -> None:
    uuid = UUID(bytes=made)
    assert (uuid.version, uuid.variant) == (7, "specified in RFC 4122")


@given(moments_ms, sequences, tags, moments_ms, sequences, tags)
def test_ids_are_in_the_order_of_their_moments_and_then_of_their_numbers(
    at_ms: int, sequence: int, tag: int, other_ms: int, other_sequence: int, other_tag: int
) -> None:
    made, other = make_id(at_ms, sequence, tag), make_id(other_ms, other_sequence, other_tag)
    by_parts = (at_ms, sequence, tag) < (other_ms, other_sequence, other_tag)
    assert (made < other) == by_parts
    assert (to_uuid(made) < to_uuid(other)) == by_parts
    assert (to_ulid(made) < to_ulid(other)) == by_parts


@given(any_ids)
def test_an_id_is_read_back_from_uuid_text(made: bytes) -> None:
    text = to_uuid(made)
    assert text == str(UUID(bytes=made))
    for written in (text, text.upper(), text.replace("-", ""), text.replace("-", "").upper()):
        assert from_uuid(written) == made


@given(any_ids)
def test_an_id_is_read_back_from_ulid_text(made: bytes) -> None:
    text = to_ulid(made)
    assert len(text) == 26
    assert from_ulid(text) == from_ulid(text.lower()) == made


def test_both_texts_are_what_other_programs_make_of_the_same_bits() -> None:
    assert to_uuid(EXAMPLE) == EXAMPLE_UUID
    assert to_ulid(EXAMPLE) == EXAMPLE_ULID


@pytest.mark.parametrize(
    "text",
    [
        "",
        EXAMPLE_UUID[:-1],
        EXAMPLE_UUID + "0",
        EXAMPLE_UUID.replace("-", "_"),
        EXAMPLE_UUID.replace("0", "g"),
        EXAMPLE_UUID[:8] + EXAMPLE_UUID[9:13] + "-" + EXAMPLE_UUID[13:],  # a hyphen in the wrong place
        "-" * 36,
        " " + EXAMPLE_UUID[1:],
        EXAMPLE_UUID.replace("-", "")[:-2] + "  ",
        EXAMPLE_UUID.replace("-", "")[:-1] + "é",
        EXAMPLE_UUID.replace("-", "")[:-1] + "²",
        EXAMPLE_UUID.replace("-", "")[:-1] + "٣",  # a digit, but not one of ours
        "{" + EXAMPLE_UUID[:-2] + "}",
        EXAMPLE_ULID,
    ],
)
def test_text_that_is_no_uuid_is_no_id(text: str) -> None:
    assert from_uuid(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        EXAMPLE_ULID[:-1],
        EXAMPLE_ULID + "0",
        "8" + EXAMPLE_ULID[1:],  # more than 128 bits
        "Z" * 26,
        *[EXAMPLE_ULID[:-1] + letter for letter in "ILOU-é² "],
        "ı" + EXAMPLE_ULID[1:],  # its upper case is I
        EXAMPLE_ULID[:-1] + "ß",  # its upper case has two letters
        EXAMPLE_UUID,
    ],
)
def test_text_that_is_no_ulid_is_no_id(text: str) -> None:
    assert from_ulid(text) is None


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_is_not_but_never_a_fault(text: str) -> None:
    for read in (from_uuid, from_ulid):
        found = read(text)
        assert found is None or len(found) == 16
