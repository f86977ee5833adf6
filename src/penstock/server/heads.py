"""What a request's head must be like, beyond what the parser sees to."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.dialects.http import Problem
from penstock.server.limits import Limits
from penstock.server.refusals import Refusal


def split_target(url: bytes) -> tuple[str, str]:
    """The path and the query of a request's target, in whichever form RFC 9112, section 3.2 lets it have."""
    target = url.decode()  # the parser lets nothing but ASCII through
    if target[0] != "/":
        target = _without_origin(target)
    path, _, query = target.partition("?")
    return path, query


def header_bytes(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + len(": \r\n")


def url_too_long(limits: Limits) -> Refusal:
    return Refusal(414, f"the target is longer than {limits.url_bytes_max} bytes")


def headers_too_long(limits: Limits) -> Refusal:
    return Refusal(431, f"the headers are longer than {limits.header_bytes_max} bytes")


def has_long_body(headers: Mapping[bytes, bytes], bytes_max: int) -> bool:
    """Whether a body follows that is too long to be read for nothing, or that the client holds back."""
    if b"transfer-encoding" in headers or b"expect" in headers:
        return True
    return int(headers.get(b"content-length", b"0")) > bytes_max


def check_coding(coding: bytes, *, is_http_1_0: bool) -> None:
    """Refuse a body that would have to be decoded, or whose sender cannot have meant it."""
    if is_http_1_0:
        raise Refusal(Problem.UNREADABLE, "HTTP/1.0 knows no Transfer-Encoding")
    if coding.strip().lower() != b"chunked":
        raise Refusal(501, "of transfer codings only chunked is understood")


def without_upgrade(method: bytes, url: bytes, version: str, headers: Mapping[bytes, bytes]) -> bytes:
    """The same head again, without the wish for another protocol."""
    lines = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    lines += [b"%b: %b" % header for header in headers.items() if header[0] != b"upgrade"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _without_origin(target: str) -> str:
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise Refusal(Problem.UNREADABLE, "the target of a request must be a path")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    return rest[cut:] if rest[cut : cut + 1] == "/" else "/" + rest[cut:]
