"""Requests out of bytes.

httptools (llhttp) does the parsing and calls the `on_…` methods. It is strict by itself about what smuggling
lives on: two lengths, a length beside chunks, bare line feeds, folded lines, blanks before a colon. It keeps
no limit, so every byte is counted here.
"""

from __future__ import annotations

from itertools import starmap

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from penstock.dialects.http import BodyRule, Problem, Request
from penstock.server.answers import AnswerLine
from penstock.server.exchange import Exchange
from penstock.server.heads import (
    check_coding,
    has_long_body,
    header_bytes,
    headers_too_long,
    split_target,
    url_too_long,
    without_upgrade,
)
from penstock.server.refusals import Refusal
from penstock.server.request_ids import client_request_id
from penstock.server.routing import Router

# What is received is parsed in pieces of this size at most, so that one read of a quarter megabyte cannot
# bring thousands of requests before the limit on outstanding ones is looked at.
PIECE_BYTES_MAX = 16 * 1024

_DROPPED = BodyRule(0, cuts=True)

_METHODS = {name.encode(): name for name in ("GET", "POST", "PUT", "DELETE", "HEAD")}

_ONCE_ONLY = frozenset({b"host", b"content-length", b"transfer-encoding", b"expect"})


class RequestReader:
    """The requests of one connection. Each becomes an exchange in line once its head is read."""

    __slots__ = (
        "_body",
        "_body_bytes",
        "_framing_bytes",
        "_guard",
        "_headers",
        "_held_bytes",
        "_is_last",
        "_limits",
        "_line",
        "_parser",
        "_piece_bytes",
        "_repeated_bytes",
        "_router",
        "_rule",
        "_service",
        "_upgrade_head",
        "_url",
        "begun_at",
        "exchange",
        "is_done",
        "is_in_message",
    )

    def __init__(self, line: AnswerLine, router: Router) -> None:
        self._line = line
        self._service = line.service
        self._limits = line.service.limits
        self._guard = line.service.guard
        self._router = router
        self._parser = HttpRequestParser(self)
        self.is_done = False  # what comes is not for us any more
        self.is_in_message = False  # a request has begun and is not whole
        self.begun_at = 0.0  # when that request's first byte came; its body's, once its head is read
        self.exchange: Exchange | None = None  # that request, once its head is read
        self._is_last = False
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._repeated_bytes = 0  # of headers that a later one of the same name has replaced
        self._upgrade_head = b""  # of a request to switch protocols, to be read again without that wish
        self._rule = BodyRule(0)
        self._body: bytes | bytearray = b""
        self._body_bytes = 0  # received, those dropped included
        self._held_bytes = 0  # of `_body`, as far as they are counted in the service's sum
        self._piece_bytes = 0
        # Bytes since the end of a request or of a piece of body. What else was in the same piece counts too,
        # because the parser does not tell positions: up to PIECE_BYTES_MAX too many.
        self._framing_bytes = 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises `Refusal` for what cannot be a request of ours; nothing is read after that."""
        self._piece_bytes = len(data)
        self._framing_bytes += len(data)
        try:
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                self._read_again(data[upgrade.args[0] :])
        except HttpParserCallbackError as error:
            raise self._refusal_behind(error) from None
        except HttpParserError as error:
            if not self.is_done:  # after the last request anything may follow
                raise Refusal(Problem.UNREADABLE, f"not HTTP: {error}") from None
        if self.is_in_message:
            self._check_unfinished()

    def end_after_this(self) -> None:
        """Read no request but the one under way."""
        self._is_last = True
        self.is_done = not self.is_in_message

    def stop(self) -> None:
        self.is_done = True
        self.is_in_message = False
        self.exchange = None
        self._drop_body()

    def refused_exchange(self) -> Exchange:
        """Whom to tell of a refusal: the request under way, or one that stands for what was not even read."""
        if self.exchange is not None:
            return self.exchange
        request = Request("", "", "", {}, request_id=self._service.request_ids.next())
        exchange = Exchange(self._line, self._router.fallback, request, keeps_open=False)
        self._line.exchanges.append(exchange)
        return exchange

    def on_message_begin(self) -> None:
        self.is_in_message = True
        self.begun_at = self._service.coarse_now

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in self._headers:
            self._repeat(name)
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        parser, limits = self._parser, self._limits
        if len(self._url) > limits.url_bytes_max or self._framing_bytes > limits.header_bytes_max:
            self._check_head()
        if parser.should_upgrade():
            self._put_upgrade_aside()
            return
        path, query = split_target(self._url)
        headers = self._headers
        method = parser.get_method()
        given_id = headers.get(b"x-request-id")
        request_id = (client_request_id(given_id) if given_id else None) or self._service.request_ids.next()
        request = Request(_METHODS.get(method) or method.decode(), path, query, headers, b"", request_id)
        dialect = self._router.route(request.method, path)
        exchange = Exchange(self._line, dialect, request, parser.should_keep_alive())
        self._line.exchanges.append(exchange)
        self.exchange = exchange
        self._url = b""
        self._headers = {}
        self._repeated_bytes = 0
        if method == b"HEAD":
            exchange.is_head = True
        if not exchange.keeps_open or b"connection" in headers:
            self._check_version(exchange)
        if b"host" not in headers and not exchange.is_http_1_0:
            raise Refusal(Problem.UNREADABLE, "HTTP/1.1 needs a Host header")
        if self._guard.is_on:
            self._ask_guard(exchange)
        if b"content-length" in headers or b"transfer-encoding" in headers:
            self._prepare_for_body(exchange)

    def on_body(self, piece: bytes) -> None:
        self._framing_bytes = self._piece_bytes
        self._body_bytes += len(piece)
        if self._body_bytes > self._rule.bytes_max:
            piece = self._cut(piece)
        if not self._body:
            self._body = piece
        elif isinstance(self._body, bytearray):
            self._body += piece
        else:
            # A list of pieces would cost ten times the bytes of a client that sends them one by one.
            self._body = bytearray(self._body + piece)

    def on_message_complete(self) -> None:
        self.is_in_message = False
        self._framing_bytes = self._piece_bytes
        exchange = self.exchange
        if exchange is None:
            return  # put aside as a request to switch protocols
        self.exchange = None
        if self._body_bytes:
            exchange.request.body = bytes(self._body)
            self._body = b""
            self._body_bytes = 0
            if self._held_bytes:
                self._drop_body()
        if self._headers:
            self._headers = {}  # of a trailer: nothing of ours is said there
        if self._is_last:
            exchange.keeps_open = False
        if not exchange.keeps_open:
            self.is_done = True
        exchange.begin()

    def _repeat(self, name: bytes) -> None:
        # Each reader in a chain of proxies might believe another one of these.
        if name in _ONCE_ONLY:
            raise Refusal(Problem.UNREADABLE, f"more than one {name.decode()} header")
        self._repeated_bytes += header_bytes(name, self._headers[name])

    def _check_head(self) -> None:
        limits = self._limits
        if len(self._url) > limits.url_bytes_max:
            raise url_too_long(limits)
        if self._repeated_bytes + sum(starmap(header_bytes, self._headers.items())) > limits.header_bytes_max:
            raise headers_too_long(limits)

    def _check_version(self, exchange: Exchange) -> None:
        # Only asked where it can matter, for it is slow to ask: a connection that is kept without a word
        # about it is of 1.1.
        match self._parser.get_http_version():
            case "1.1":
                pass
            case "1.0":
                exchange.is_http_1_0 = True
            case version:
                raise Refusal(505, f"HTTP/{version} is not spoken here; use 1.1")

    def _check_unfinished(self) -> None:
        limits = self._limits
        if self._framing_bytes > limits.header_bytes_max + PIECE_BYTES_MAX:
            is_url = len(self._url) > limits.url_bytes_max
            raise url_too_long(limits) if is_url else headers_too_long(limits)
        self._service.unfinished_bytes += len(self._body) - self._held_bytes
        self._held_bytes = len(self._body)
        if self._service.unfinished_bytes > limits.unfinished_bytes_max:
            raise Refusal(Problem.UNAVAILABLE, "too many large requests at once; try again shortly")

    def _ask_guard(self, exchange: Exchange) -> None:
        try:
            found = self._guard.check(exchange.dialect, exchange.request)
        except Exception as error:  # noqa: BLE001 - a fault in one dialect must not reach the other clients
            self._service.log.crashed(exchange.request.request_id, "asking who may", error)
            raise Refusal(Problem.INTERNAL, "the service failed") from None
        if not isinstance(found, Refusal):
            exchange.holder = found
        elif has_long_body(exchange.request.headers, self._limits.stranger_bytes_max):
            raise found
        else:
            exchange.denied = found

    def _prepare_for_body(self, exchange: Exchange) -> None:
        headers = exchange.request.headers
        self.begun_at = self._service.coarse_now
        self._rule = self._ask_body_rule(exchange)
        if (coding := headers.get(b"transfer-encoding")) is not None:
            check_coding(coding, is_http_1_0=exchange.is_http_1_0)
        elif int(headers[b"content-length"]) > self._rule.bytes_max:
            self._check_length(int(headers[b"content-length"]))
        if (expected := headers.get(b"expect")) is not None and not exchange.is_http_1_0:
            if expected.lower() != b"100-continue":
                raise Refusal(417, "of expectations only 100-continue is understood")
            self._line.invite_body(exchange)

    def _ask_body_rule(self, exchange: Exchange) -> BodyRule:
        if exchange.denied is not None:
            return _DROPPED
        try:
            rule = exchange.dialect.body_rule(exchange.request)
        except Exception as error:  # noqa: BLE001 - a fault in one dialect must not reach the other clients
            self._service.log.crashed(exchange.request.request_id, "asking for a body rule", error)
            raise Refusal(Problem.INTERNAL, "the service failed") from None
        is_stranger = self._guard.is_on and exchange.holder is None
        return BodyRule(min(rule.bytes_max, self._limits.stranger_bytes_max)) if is_stranger else rule

    def _check_length(self, body_bytes: int) -> None:
        bytes_max = self._rule.bytes_max + (self._limits.dropped_bytes_max if self._rule.cuts else 0)
        if body_bytes > bytes_max:
            raise Refusal(Problem.BODY_TOO_LARGE, f"the body is longer than {bytes_max} bytes")

    def _cut(self, piece: bytes) -> bytes:
        self._check_length(self._body_bytes)
        return piece[: self._rule.bytes_max - len(self._body)]

    def _drop_body(self) -> None:
        self._service.unfinished_bytes -= self._held_bytes
        self._held_bytes = 0
        self._body_bytes = 0
        self._body = b""

    def _put_upgrade_aside(self) -> None:
        parser = self._parser
        method = parser.get_method()
        if method == b"CONNECT":
            raise Refusal(Problem.UNREADABLE, "CONNECT is for proxies")
        self._upgrade_head = without_upgrade(method, self._url, parser.get_http_version(), self._headers)

    def _read_again(self, rest: bytes) -> None:
        # A wish to switch protocols may be ignored (RFC 9110, section 7.8), and there are clients that send
        # it with a request that has a body (the JDK's, for HTTP/2). The parser takes that body for the other
        # protocol, so a new one reads the head again as if nothing had been wished for.
        while True:
            self._parser = HttpRequestParser(self)
            self._url = b""
            self._headers = {}
            self._repeated_bytes = 0
            data = self._upgrade_head + rest
            try:
                self._parser.feed_data(data)
                return
            except HttpParserUpgrade as upgrade:
                rest = data[upgrade.args[0] :]

    def _refusal_behind(self, error: HttpParserCallbackError) -> Refusal:
        cause = error.__context__
        if isinstance(cause, Refusal):
            return cause
        self._service.log.crashed("", "reading a request", cause or error)
        return Refusal(Problem.INTERNAL, "the service failed")
