"""Several messages in one body. Bodies that are refused are in the transcripts of mqs."""

from __future__ import annotations

from email.message import Message
from email.parser import BytesParser

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.core.commands import Malformed
from penstock.dialects.mqs.multipart import Part, join, split

BODIES = st.lists(
    st.binary() | st.sampled_from([b"\r\n", b"--", b"\r\n--", b"\r\n\r\n"]), min_size=1, max_size=5
)


@given(BODIES)
def test_what_was_joined_is_split_into_the_same_parts(bodies: list[bytes]) -> None:
    content_type, joined = join([(((b"A", b"b"),), body) for body in bodies], seed=b"s")
    assert split(content_type, joined, 5, 1 << 20) == [Part({b"a": b"b"}, body, len(body)) for body in bodies]


@given(st.binary(), st.sampled_from([b"b", b"-", b"b-b", b"'()+_,./:=?"]))
@example(b"--b\r\n\r\n--b", b"b")
def test_no_body_breaks_the_reader(body: bytes, boundary: bytes) -> None:
    for framed in (body, b"--" + boundary + body, b"--%b\r\n%b\r\n--%b--" % (boundary, body, boundary)):
        parts = split(b'multipart/mixed; boundary="%b"' % boundary, framed, 999, 1 << 20)
        assert isinstance(parts, Malformed) or parts


def test_another_reader_understands_what_was_joined() -> None:
    content_type, body = join([(((b"Content-Type", b"text/plain"),), b"one"), ((), b"two")], seed=b"s")
    whole = BytesParser().parsebytes(b"Content-Type: " + content_type + b"\r\n\r\n" + body)
    parts = whole.get_payload()
    assert isinstance(parts, list)
    assert [part.get_payload(decode=True) for part in parts if isinstance(part, Message)] == [b"one", b"two"]


def test_a_body_that_holds_the_boundary_gets_another() -> None:
    plain_type, _ = join([((), b"")], seed=b"s")
    boundary = plain_type.partition(b"boundary=")[2]
    content_type, body = join([((), b"\r\n--" + boundary + b"--")], seed=b"s")
    assert content_type != plain_type
    assert split(content_type, body, 1, 1 << 20) == [Part({}, b"\r\n--" + boundary + b"--", 38)]


def test_a_part_is_cut_but_its_size_is_told() -> None:
    assert split(b"multipart/mixed; boundary=b", b"--b\r\n\r\n123456\r\n--b--", 1, 4) == [
        Part({}, b"1234", 6)
    ]


def test_the_last_of_repeated_headers_counts() -> None:
    parts = split(b"multipart/mixed; boundary=b", b"--b\r\nA: 1\r\na: 2\r\n\r\n\r\n--b--", 1, 4)
    assert parts == [Part({b"a": b"2"}, b"", 0)]


def test_a_part_may_end_with_its_headers() -> None:
    parts = split(b"multipart/mixed; boundary=b", b"--b\r\nA: 1\r\n\r\n--b\r\n\r\n--b--", 2, 4)
    assert parts == [Part({b"a": b"1"}, b"", 0), Part({}, b"", 0)]


def test_a_quoted_boundary_is_read_without_its_escapes() -> None:
    parts = split(rb'multipart/mixed; boundary="a\b"', b"--ab\r\n\r\n1\r\n--ab--", 1, 4)
    assert parts == [Part({}, b"1", 1)]


def test_an_escaped_quote_is_no_part_of_a_boundary() -> None:
    assert isinstance(
        split(rb'multipart/mixed; boundary="a\"b"', b'--a"b\r\n\r\n\r\n--a"b--', 1, 4), Malformed
    )
