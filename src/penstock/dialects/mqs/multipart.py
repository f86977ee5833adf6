"""`multipart/mixed` (RFC 2046): several messages in one body.

    preamble            ignored
    --boundary          each part: headers, an empty line, its bytes
    Content-Type: …

    bytes
    --boundary--        the end; what follows is ignored

Line ends are CRLF, and the one before a boundary belongs to the boundary. Parts are not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from penstock.core.commands import Malformed
from penstock.dialects.http import Header

HEAD_BYTES_MAX = 16 * 1024  # of one part's headers

_PARAMETER = re.compile(rb';[ \t]*([\w!#$%&\'*+.^`|~-]+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^;" \t]*)')
_BOUNDARY = re.compile(rb"[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]")
_HEADER_NAME = re.compile(rb"[\w!#$%&'*+.^`|~-]+")
_NOT_IN_A_HEADER = re.compile(rb"[^\t\x20-\x7e\x80-\xff]")
_FOLD = re.compile(rb"\r\n[ \t]+")
_BYTES_AS_THEY_ARE = frozenset({b"7bit", b"8bit", b"binary"})


class Part(msgspec.Struct, frozen=True, gc=False):
    """One part, its body no longer than was asked for."""

    headers: dict[bytes, bytes]  # names in lower case; the last of repeated ones wins
    body: bytes
    size: int  # of the body as it was sent


def is_mixed(content_type: bytes) -> bool:
    """Whether a body of this type is several parts."""
    return content_type.partition(b";")[0].strip().lower() == b"multipart/mixed"


def split(content_type: bytes, body: bytes, parts_max: int, part_bytes_max: int) -> list[Part] | Malformed:
    """Take a body apart, all of it or nothing; the body of each part is cut at `part_bytes_max`."""
    boundary = _boundary_of(content_type)
    if boundary is None:
        return Malformed("multipart: the Content-Type has no boundary of 1 to 70 characters")
    delimiter = b"\r\n--" + boundary
    at = _after_first(body, delimiter)
    if at is None:
        return Malformed("multipart: the boundary is nowhere in the body")
    parts: list[Part] = []
    while not body.startswith(b"--", at):
        if len(parts) == parts_max:
            return Malformed(f"multipart: there are more than {parts_max} parts")
        start = _next_line(body, at)
        if start is None:
            return Malformed("multipart: a boundary is followed by something else on its line")
        # A part may be empty: the line end of its boundary can also be that of the next.
        end = body.find(delimiter, start - 2)
        if end < 0:
            return Malformed("multipart: the last boundary is missing")
        part = _read_part(body, start, end, part_bytes_max)
        if isinstance(part, Malformed):
            return part
        parts.append(part)
        at = end + len(delimiter)
    return parts or Malformed("multipart: there is no part")


def join(parts: Sequence[tuple[Sequence[Header], bytes]], seed: bytes) -> tuple[bytes, bytes]:
    """Put parts together: the content type and the body. The seed makes the boundary hard to foresee."""
    boundary = _unused_boundary([body for _, body in parts], seed)
    pieces: list[bytes] = []
    for headers, body in parts:
        pieces += (b"--", boundary, b"\r\n")
        for name, value in headers:
            pieces += (name, b": ", value, b"\r\n")
        pieces += (b"\r\n", body, b"\r\n")
    pieces += (b"--", boundary, b"--\r\n")
    return b"multipart/mixed; boundary=" + boundary, b"".join(pieces)


def _boundary_of(content_type: bytes) -> bytes | None:
    for name, value in _PARAMETER.findall(content_type):
        if name.lower() == b"boundary":
            boundary = re.sub(rb"\\(.)", rb"\1", value[1:-1]) if value.startswith(b'"') else value
            return boundary if _BOUNDARY.fullmatch(boundary) else None
    return None


def _after_first(body: bytes, delimiter: bytes) -> int | None:
    """Where the first boundary ends; it needs no line end before it if it is the very beginning."""
    if body.startswith(delimiter[2:]):
        return len(delimiter) - 2
    found = body.find(delimiter)
    return None if found < 0 else found + len(delimiter)


def _next_line(body: bytes, at: int) -> int | None:
    """Where the next line begins, if only blanks are left on this one."""
    end = body.find(b"\r\n", at)
    return None if end < 0 or body[at:end].strip(b" \t") else end + 2


def _read_part(body: bytes, start: int, end: int, part_bytes_max: int) -> Part | Malformed:
    headers: dict[bytes, bytes] | Malformed = {}
    if body.startswith(b"\r\n", start):
        content_start = start + 2
    else:
        head_end = body.find(b"\r\n\r\n", start, min(end + 2, start + HEAD_BYTES_MAX))
        if head_end < 0:
            return Malformed("multipart: a part has no empty line after its headers")
        headers = _read_headers(body[start:head_end])
        content_start = head_end + 4
    if isinstance(headers, Malformed):
        return headers
    content_end = min(end, content_start + part_bytes_max)
    return Part(headers, body[content_start:content_end], max(end - content_start, 0))


def _read_headers(head: bytes) -> dict[bytes, bytes] | Malformed:
    headers: dict[bytes, bytes] = {}
    for line in _FOLD.sub(b" ", head).split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or not _HEADER_NAME.fullmatch(name) or _NOT_IN_A_HEADER.search(value):
            return Malformed("multipart: a part has a malformed header")
        headers[name.lower()] = value.strip(b" \t")
    encoding = headers.get(b"content-transfer-encoding", b"binary").lower()
    if encoding not in _BYTES_AS_THEY_ARE:
        return Malformed("multipart: a Content-Transfer-Encoding other than binary is not read")
    return headers


def _unused_boundary(bodies: Sequence[bytes], seed: bytes) -> bytes:
    boundary = seed
    while True:
        boundary = sha256(boundary).hexdigest()[:32].encode()
        if not any(boundary in body for body in bodies):
            return boundary
