"""The JSON of EmoDB: messages come in and go out with their bytes as they were sent.

Decoding to `msgspec.Raw` checks a text from end to end without building its values, and keeps the bytes of
each. It takes the inside of strings as it is, though, so UTF-8 is checked here besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from penstock.core.commands import Malformed
from penstock.core.ids import to_uuid
from penstock.core.model import Content
from penstock.core.outcomes import Delivery
from penstock.dialects.wire import decode_json

_NOT_UTF8 = Malformed("The body is not JSON: it is not UTF-8")

_ONE = msgspec.json.Decoder(msgspec.Raw)
_MANY = msgspec.json.Decoder(list[msgspec.Raw])
_MANY_BY_QUEUE = msgspec.json.Decoder(dict[str, list[msgspec.Raw]])
_IDS = msgspec.json.Decoder(list[str] | None)
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


class _Opaque(msgspec.Struct, rename="camel", gc=False):
    """Stands for a body that is not JSON."""

    content_type: str
    base64: bytes  # written as base64


class _Shown(msgspec.Struct, gc=False):
    """A message as a consumer gets it."""

    id: str
    payload: msgspec.Raw | _Opaque


def read_message(body: bytes) -> msgspec.Raw | Malformed:
    """One message, without the white space around it."""
    return _decode(_ONE, body)


def read_messages(body: bytes) -> list[msgspec.Raw] | Malformed:
    """An array of messages."""
    return _decode(_MANY, body)


def read_messages_by_queue(body: bytes) -> dict[str, list[msgspec.Raw]] | Malformed:
    """An object with an array of messages for each queue; of a name that is there twice the last counts."""
    return _decode(_MANY_BY_QUEUE, body)


def read_ids(body: bytes) -> list[str] | Malformed | None:
    """An array of message ids; None if there is none."""
    return _decode(_IDS, body) if body.strip() else None


def size_without_blanks(message: bytes) -> int:
    """How long a message is once nobody's indentation counts."""
    return len(msgspec.json.format(message, indent=-1))


def write_messages(messages: Sequence[Delivery]) -> bytes:
    """The messages as an array."""
    return _encode([_Shown(to_uuid(message.id), _payload(message.content)) for message in messages])


def _decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T | Malformed:
    if not _is_utf8(body):
        return _NOT_UTF8
    decoded = decode_json(decoder, body)
    return decoded  # noqa: RET504 - named, so that its type is not taken from what is returned here


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        str(body, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _payload(content: Content) -> msgspec.Raw | _Opaque:
    """The body itself if it is JSON, whatever its type says: any dialect may have published it."""
    if _is_utf8(content.body):
        try:
            return _ONE.decode(content.body)
        except (msgspec.DecodeError, RecursionError):
            pass  # not JSON, or nested more deeply than a consumer should have to follow
    return _Opaque(content.content_type, content.body)
