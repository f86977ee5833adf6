"""What EmoDB answers: its refusals, and the numbers in a query that it refuses.

EmoDB's clients know an exception by the header X-BV-Exception. A refused argument is plain text under that
header; everything else that goes wrong is `{"message": …}`.
"""

from __future__ import annotations

import msgspec

from penstock.dialects.http import Header, Response
from penstock.dialects.wire import JSON_TYPE, json_response

_TEXT_TYPE: Header = (b"Content-Type", b"text/plain")
_EXCEPTION = b"X-BV-Exception"
_UNKNOWN_MOVE: Header = (_EXCEPTION, b"com.bazaarvoice.emodb.queue.api.UnknownMoveException")
_DIGITS_MAX = 19  # as many as a Java long has


def problem(status: int, message: str, *headers: Header) -> Response:
    """Something is wrong with a request, or with us."""
    return Response(status, msgspec.json.encode({"message": message}), (JSON_TYPE, *headers))


def illegal_argument(reason: str) -> Response:
    """A value that could be read and is not allowed."""
    exception = (_EXCEPTION, b"java.lang.IllegalArgumentException")
    return Response(400, reason.encode(), (_TEXT_TYPE, exception))


def wrong_method(allowed: str) -> Response:
    """A path that takes other methods."""
    return problem(405, f"This path takes {allowed}", (b"Allow", allowed.encode()))


def unknown_move(reference: str) -> Response:
    """A move that was never begun, or so long ago that it is forgotten."""
    body = {"id": reference, "message": f"Unknown move: {reference}"}
    return Response(404, msgspec.json.encode(body), (JSON_TYPE, _UNKNOWN_MOVE))


SUCCESS = json_response(200, {"success": True})
EMPTY_LIST = json_response(200, [])
ZERO = json_response(200, 0)

NOTHING_HERE = problem(404, "There is nothing at this path")
WRONG_TYPE = problem(415, "The body has to be of type application/json")
INTERNAL = problem(500, "Internal server error")
TOO_OFTEN = problem(429, "The API key was used too often; try again later")
UNAUTHORIZED = Response(
    403,
    msgspec.json.encode({"reason": "not authorized"}),
    (JSON_TYPE, (_EXCEPTION, b"com.bazaarvoice.emodb.common.api.UnauthorizedException")),
)
UNAVAILABLE = problem(503, "The service cannot promise to keep anything now", (b"Retry-After", b"1"))

BAD_NAME = illegal_argument(
    "A queue name is 1 to 255 of the lower case letters a to z, digits and -.:@_ "
    "and neither . nor .. nor begins with a single _"
)
NO_MESSAGE_IDS = illegal_argument("Missing message Ids")
NO_SOURCE = illegal_argument("from is required")
NO_TARGET = illegal_argument("to is required")


class NumberParameter(msgspec.Struct, frozen=True):
    """A whole number in a query, with its range and what is said of a number outside."""

    name: str
    default: int
    low: int
    high: int | None  # None: no number is too large
    too_low: Response
    too_high: Response

    def of(self, parameters: dict[str, str]) -> int | Response:
        """The number asked for, or the refusal."""
        text = parameters.get(self.name)
        if text is None:
            return self.default
        digits = text.removeprefix("-")
        if len(digits) > _DIGITS_MAX or not (digits.isascii() and digits.isdigit()):
            # What cannot be UTF-8 is shown as a question mark.
            return Response(400, f'"{text}" is not a number.'.encode(errors="replace"), (_TEXT_TYPE,))
        number = int(text)
        if number < self.low:
            return self.too_low
        return self.too_high if self.high is not None and number > self.high else number


_LIMIT_TOO_LOW = illegal_argument("Limit must be >0")
_LIMIT_TOO_HIGH = illegal_argument("Limit must be <=1000")

TTL_S = NumberParameter(
    "ttl",
    default=30,
    low=0,
    high=3600,
    too_low=illegal_argument("ClaimTtl must be >=0"),
    too_high=illegal_argument("ClaimTtl must be <=1 hour"),
)
LIMIT = NumberParameter("limit", 10, 1, 1000, _LIMIT_TOO_LOW, _LIMIT_TOO_HIGH)
SIZE_LIMIT = NumberParameter("limit", 1, 1, None, _LIMIT_TOO_LOW, _LIMIT_TOO_HIGH)
