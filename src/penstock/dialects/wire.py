"""What several dialects read and write in the same way."""

from __future__ import annotations

import re
from typing import TypeVar
from urllib.parse import unquote_plus

import msgspec

from penstock.core.commands import Malformed
from penstock.dialects.http import Header, Response

JSON_TYPE: Header = (b"Content-Type", b"application/json")

# More digits than this are no number of ours, and Python itself refuses to read very many.
_DIGITS_MAX = 19

# What may not stand in a header: everything that could end its line, and what has no single byte.
_NOT_IN_A_HEADER = re.compile(r"[^\t\x20-\x7e\x80-\xff]")

_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


def json_response(status: int, value: object) -> Response:
    """An answer whose body is the value as JSON."""
    return Response(status, _encode(value), (JSON_TYPE,))


def error_response(status: int, reason: str, *headers: Header) -> Response:
    """An answer that says what was wrong."""
    return Response(status, _encode({"error": reason}), (JSON_TYPE, *headers))


def decode_json(decoder: msgspec.json.Decoder[T], body: bytes) -> T | Malformed:
    """Read a JSON body, or say why it cannot be read."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as exc:
        return Malformed(str(exc))
    except msgspec.DecodeError as exc:
        return Malformed(f"The body is not JSON: {str(exc).removeprefix('JSON is malformed: ')}")
    except UnicodeDecodeError:
        return Malformed("The body is not JSON: it is not UTF-8")
    except RecursionError:
        return Malformed("The body is nested too deeply")


def plain_decimal(text: str, low: int, high: int) -> int | None:
    """Read decimal digits and nothing else; None if it is something else or out of range."""
    if len(text) > _DIGITS_MAX or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if low <= number <= high else None


def query_parameters(query: str) -> dict[str, str]:
    """The parameters of a query, decoded; the first of repeated ones wins."""
    parameters: dict[str, str] = {}
    if not query:
        return parameters
    is_encoded = "%" in query or "+" in query
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if is_encoded:
            name, value = unquote_plus(name), unquote_plus(value)
        parameters.setdefault(name, value)
    return parameters


def without_parameter(query: str, name: str) -> str:
    """The query without one of its parameters: what is cached by a query must not hold a client's key."""
    if f"{name}=" not in query:
        return query
    return "&".join([pair for pair in query.split("&") if not pair.startswith(f"{name}=")])


def raw_parameter(query: str, name: str) -> str | None:
    """One parameter of a query, decoded; None if it is not there or empty."""
    if f"{name}=" not in query:
        return None
    for pair in query.split("&"):
        if pair.startswith(f"{name}="):
            return unquote_plus(pair[len(name) + 1 :]) or None
    return None


def header_value(text: str) -> bytes | None:
    """The text as the value of a header; None if it cannot be one.

    What one client sent is sent to another here: a line end would let it write headers of its own.
    """
    if text.isascii() and text.isprintable():
        return text.encode()
    return None if _NOT_IN_A_HEADER.search(text) else text.encode("latin-1")
