"""Keys in the header Authorization, and what those are told who lack one."""

from __future__ import annotations

import binascii
from typing import assert_never

from penstock.dialects.http import Denial, Header, Response
from penstock.dialects.wire import error_response

NO_KEY = "A key is needed, as Authorization: Bearer KEY"
UNKNOWN_KEY = "There is no such key"
NOT_ALLOWED = "The key does not allow this"
TOO_OFTEN = "The key was used too often; try again later"

# As RFC 6750, section 3.1 has them.
ASK_FOR_KEY: Header = (b"WWW-Authenticate", b"Bearer")
ASK_FOR_ANOTHER_KEY: Header = (b"WWW-Authenticate", b'Bearer error="invalid_token"')


def bearer_key(headers: dict[bytes, bytes]) -> bytes | None:
    """The key of `Authorization: Bearer KEY`; None if there is none."""
    value = headers.get(b"authorization", b"")
    return value[7:].strip() or None if value[:7].lower() == b"bearer " else None


def password_key(headers: dict[bytes, bytes]) -> bytes | None:
    """The key that is the password of `Authorization: Basic …`, whoever the user; None if there is none."""
    value = headers.get(b"authorization", b"")
    if value[:6].lower() != b"basic ":
        return None
    try:
        _, _, password = binascii.a2b_base64(value[6:]).partition(b":")
    except binascii.Error:
        return None
    return password or None


def json_denial(denial: Denial) -> Response:
    """A denial as `{"error": …}`."""
    match denial:
        case Denial.MISSING:
            return _MISSING
        case Denial.UNKNOWN:
            return _UNKNOWN
        case Denial.FORBIDDEN:
            return _FORBIDDEN
        case Denial.TOO_MANY:
            return _TOO_MANY
        case _:
            assert_never(denial)


_MISSING = error_response(401, NO_KEY, ASK_FOR_KEY)
_UNKNOWN = error_response(401, UNKNOWN_KEY, ASK_FOR_ANOTHER_KEY)
_FORBIDDEN = error_response(403, NOT_ALLOWED)
_TOO_MANY = error_response(429, TOO_OFTEN)
