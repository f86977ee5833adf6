"""Mini Queue Service: queues under `/queues`, messages under `/messages`.

    PUT    /queues/Q      create            POST   /messages/Q     publish
    POST   /queues/Q      update            GET    /messages/Q     receive
    DELETE /queues/Q      delete            DELETE /messages/ID    delete
    GET    /queues/Q      describe
    GET    /queues        list              GET    /health

The document checks that a queue exists before it looks at the body, so a body that cannot be read goes
to the rules as `Malformed` and becomes a 400 only there. 404 and 409 have no body, a 400 says why.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, assert_never
from urllib.parse import unquote

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    CreateQueue,
    DeleteQueue,
    DescribeQueue,
    Draft,
    ListQueues,
    Malformed,
    Publish,
    UpdateQueue,
)
from penstock.core.ids import from_uuid, to_uuid
from penstock.core.model import DEFAULT_CONTENT_TYPE, Content, QueueName
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
    Delivery,
    Ended,
    MoveShown,
    NoSuchMove,
    NoSuchQueue,
    Outcome,
    Published,
    PublishedAll,
    QueueExists,
    QueueShown,
    QueuesListed,
    Refused,
    Renewed,
    Unavailable,
    Unfinished,
)
from penstock.dialects import authorization
from penstock.dialects.http import (
    BodyRule,
    Denial,
    Header,
    HealthCheck,
    Problem,
    Request,
    Response,
    ServerQuery,
)
from penstock.dialects.mqs import multipart, names
from penstock.dialects.mqs.names import NAME_BYTES_MAX, NAMESPACE, queue_name
from penstock.dialects.mqs.settings_json import describe, describe_all, describe_with_status, read_settings
from penstock.dialects.wire import (
    error_response,
    header_value,
    json_response,
    plain_decimal,
    query_parameters,
)
from penstock.keys.grants import Needs

PAYLOAD_BYTES_MAX = 1024 * 1024  # the document's 1 MB
MESSAGES_MAX = 999  # in one receive or one publish
WAIT_S_MAX = 20
INT64_MAX = 2**63 - 1

_OK = Response(200)
_CREATED = Response(201)
_NO_CONTENT = Response(204)
_NOT_FOUND = Response(404)
_CONFLICT = Response(409)
_NO_HANDLER = error_response(404, "No handler found for request")
_BAD_NAME = error_response(
    400, f"A queue name has 1 to {NAME_BYTES_MAX} bytes of UTF-8 without slashes and control characters"
)
_BAD_MESSAGE_ID = error_response(400, "Message ID needs to be a UUID")
_BAD_OFFSET = error_response(400, "offset: expected a number that is not negative")
_BAD_LIMIT = error_response(400, "limit: expected a number that is not negative")
_BAD_MAX_MESSAGES = error_response(400, f"X-MQS-MAX-MESSAGES: expected a number from 1 to {MESSAGES_MAX}")
_BAD_MAX_WAIT_TIME = error_response(
    400, f"X-MQS-MAX-WAIT-TIME: expected whole seconds from 0 to {WAIT_S_MAX}"
)
_TOO_LARGE = error_response(413, f"A message has at most {PAYLOAD_BYTES_MAX} bytes")
_CRASHED = error_response(500, "Internal server error")
_UNAVAILABLE = error_response(503, "The service cannot promise to keep anything now", (b"Retry-After", b"1"))

_BAD_TRACE_ID = Malformed("X-TRACE-ID: expected a UUID")
_MILLISECONDS = [b".%03dZ" % ms for ms in range(1000)]


class Mqs:
    """The dialect, with what clients in the field need other than the document as settings."""

    name = "mqs"
    roots: frozenset[str] | None = frozenset({"queues", "messages"})

    def __init__(
        self,
        oversize: Literal["cut", "reject"] = "cut",
        delete_status: Literal[204, 200] = 204,
        body_bytes_max: int = 16 * 1024 * 1024,
    ) -> None:
        """`body_bytes_max` bounds a whole multipart body; each message in it has the limit of any other."""
        self._cuts = oversize == "cut"
        self._one_message = BodyRule(min(PAYLOAD_BYTES_MAX, body_bytes_max), cuts=self._cuts)
        self._many_messages = BodyRule(body_bytes_max)
        self._settings = BodyRule(min(PAYLOAD_BYTES_MAX, body_bytes_max))
        self._deleted = _NO_CONTENT if delete_status == 204 else _OK

    def credential(self, head: Request) -> bytes | None:
        """As the document is silent about keys: in the way of HTTP."""
        return authorization.bearer_key(head.headers)

    def needs(self, head: Request) -> Needs:
        """By method and path."""
        return names.needs(head.method, head.path)

    def body_rule(self, head: Request) -> BodyRule:
        """Only the payload of a single message may be cut."""
        if head.method != "POST" or not head.path.startswith("/messages/"):
            return self._settings
        is_mixed = multipart.is_mixed(head.headers.get(b"content-type", b""))
        return self._many_messages if is_mixed else self._one_message

    def read(self, request: Request) -> Command | Response | ServerQuery:
        """Find what a request asks for by its path, then by its method."""
        path = request.path
        if path.startswith("/messages/"):
            return self._read_of_messages(request, path[10:])
        if path.startswith("/queues/"):
            return _read_of_queue(request, path[8:])
        if request.method == "GET":
            if path == "/queues":
                return _read_list(request.query)
            if path == "/health":
                return HealthCheck()
        return _NO_HANDLER

    def _read_of_messages(self, request: Request, segment: str) -> Command | Response:
        if "/" in segment:
            return _NO_HANDLER
        match request.method:
            case "POST":
                return self._read_publish(request, segment)
            case "GET":
                return _read_receive(request, segment)
            case "DELETE":
                return _read_delete(segment)
            case _:
                return _NO_HANDLER

    def _read_publish(self, request: Request, segment: str) -> Command | Response:
        name = queue_name(segment)
        if name is None:
            return _NOT_FOUND
        headers = request.headers
        content_type = headers.get(b"content-type", b"")
        if multipart.is_mixed(content_type):
            return self._read_many(name, request, content_type)
        draft = _draft(headers, request.body)
        return Publish(name, draft if isinstance(draft, Malformed) else (draft,), dialect="mqs")

    def _read_many(self, name: QueueName, request: Request, content_type: bytes) -> Command | Response:
        parts = multipart.split(content_type, request.body, MESSAGES_MAX, PAYLOAD_BYTES_MAX)
        if isinstance(parts, Malformed):
            return Publish(name, parts, dialect="mqs")
        if not self._cuts and any(part.size > PAYLOAD_BYTES_MAX for part in parts):
            return _TOO_LARGE
        trace = request.headers.get(b"x-trace-id")
        of_all = {} if trace is None else {b"x-trace-id": trace}
        drafts: list[Draft] = []
        for part in parts:
            draft = _draft(of_all | part.headers, part.body)
            if isinstance(draft, Malformed):
                return Publish(name, draft, dialect="mqs")
            drafts.append(draft)
        return Publish(name, tuple(drafts), dialect="mqs")

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:
        """Answer with the document's statuses."""
        match outcome:
            case Published():
                return _CREATED if _has_new(outcome) else _OK
            case Delivered():
                return _write_messages(outcome.messages)
            case Ended():
                return self._deleted if outcome.found[0] else _NOT_FOUND
            case QueueShown():
                return _write_queue(command, outcome, now_ms)
            case QueuesListed():
                return json_response(200, describe_all(outcome))
            case NoSuchQueue():
                return _NOT_FOUND
            case QueueExists():
                return _CONFLICT
            case Refused():
                return error_response(400, outcome.reason)
            case Unavailable():
                return _UNAVAILABLE
            case Crashed():
                return _CRASHED
            case PublishedAll() | Renewed() | Counted() | MoveShown() | NoSuchMove() | Unfinished():
                raise AssertionError(f"mqs asks for nothing that ends in {type(outcome).__name__}")
            case _:
                assert_never(outcome)

    def refuse(self, problem: Problem, detail: str) -> Response:
        """A refusal by the server, as an error of the document's form."""
        match problem:
            case Problem.BODY_TOO_LARGE | Problem.UNREADABLE | Problem.INTERNAL:
                return error_response(problem.value, detail)
            case Problem.UNAVAILABLE:
                return error_response(503, detail, (b"Retry-After", b"1"))
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """A key is missing or does not do, as an error of the document's form."""
        return authorization.json_denial(denial)


# Reading


def _read_of_queue(request: Request, segment: str) -> Command | Response:
    if "/" in segment:
        return _NO_HANDLER
    method = request.method
    if method not in {"PUT", "POST", "DELETE", "GET"}:
        return _NO_HANDLER
    name = queue_name(segment)
    if name is None:
        return _BAD_NAME if method == "PUT" else _NOT_FOUND
    match method:
        case "PUT":
            return CreateQueue(name, read_settings(request.body), dialect="mqs")
        case "POST":
            return UpdateQueue(name, read_settings(request.body), dialect="mqs")
        case "DELETE":
            return DeleteQueue(name, dialect="mqs")
        case _:
            return DescribeQueue(name, dialect="mqs")


def _read_list(query: str) -> Command | Response:
    parameters = query_parameters(query)
    offset = plain_decimal(parameters.get("offset", "0"), 0, INT64_MAX)
    if offset is None:
        return _BAD_OFFSET
    if "limit" not in parameters:
        return ListQueues(NAMESPACE, offset, dialect="mqs")
    limit = plain_decimal(parameters["limit"], 0, INT64_MAX)
    return _BAD_LIMIT if limit is None else ListQueues(NAMESPACE, offset, limit, dialect="mqs")


def _draft(headers: dict[bytes, bytes], payload: bytes) -> Draft | Malformed:
    content_type = headers.get(b"content-type")
    encoding = headers.get(b"content-encoding")
    trace = headers.get(b"x-trace-id")
    trace_id: str | None = None
    if trace is not None:
        trace_bits = from_uuid(str(trace, "latin-1"))
        if trace_bits is None:
            return _BAD_TRACE_ID
        trace_id = to_uuid(trace_bits)
    return Draft(
        Content(
            payload,
            str(content_type, "latin-1") if content_type else DEFAULT_CONTENT_TYPE,
            str(encoding, "latin-1") if encoding else None,
            trace_id,
        ),
        is_typed=True,
    )


def _read_receive(request: Request, segment: str) -> Command | Response:
    name = queue_name(segment)
    if name is None:
        return _NOT_FOUND
    limit = _header_number(request.headers, b"x-mqs-max-messages", 1, 1, MESSAGES_MAX)
    if limit is None:
        return _BAD_MAX_MESSAGES
    wait_s = _header_number(request.headers, b"x-mqs-max-wait-time", 0, 0, WAIT_S_MAX)
    if wait_s is None:
        return _BAD_MAX_WAIT_TIME
    return Claim((name,), limit, wait_ms=wait_s * 1000, dialect="mqs")


def _header_number(headers: dict[bytes, bytes], name: bytes, default: int, low: int, high: int) -> int | None:
    """The number in a header; None if there is something else in it."""
    value = headers.get(name)
    return default if value is None else plain_decimal(str(value, "latin-1"), low, high)


def _read_delete(segment: str) -> Command | Response:
    message_id = from_uuid(unquote(segment) if "%" in segment else segment)
    if message_id is None:
        return _BAD_MESSAGE_ID
    return Acknowledge(NAMESPACE, None, (message_id,), dialect="mqs")


# Writing


def _has_new(published: Published) -> bool:
    receipts = published.receipts
    return receipts[0].is_new if len(receipts) == 1 else any(receipt.is_new for receipt in receipts)


def _write_queue(command: Command, shown: QueueShown, now_ms: int) -> Response:
    match command:
        case CreateQueue():
            return json_response(201, describe(shown.name, shown.settings))
        case DescribeQueue():
            return json_response(200, describe_with_status(shown, now_ms))
        case _:
            return json_response(200, describe(shown.name, shown.settings))


def _write_messages(messages: tuple[Delivery, ...]) -> Response:
    if not messages:
        return _NO_CONTENT
    if len(messages) == 1:
        return Response(200, messages[0].content.body, _message_headers(messages[0]))
    parts = [(_message_headers(message), message.content.body) for message in messages]
    content_type, body = multipart.join(parts, seed=b"".join([message.id for message in messages]))
    return Response(200, body, ((b"Content-Type", content_type),))


def _message_headers(message: Delivery) -> tuple[Header, ...]:
    content = message.content
    content_type = header_value(content.content_type) or DEFAULT_CONTENT_TYPE.encode()
    headers: tuple[Header, ...] = (
        (b"Content-Type", content_type),
        (b"X-MQS-MESSAGE-ID", to_uuid(message.id).encode()),
        (b"X-MQS-MESSAGE-RECEIVES", b"%d" % message.receives),
        (b"X-MQS-MESSAGE-PUBLISHED-AT", _rfc_3339(message.published_at_ms)),
        (b"X-MQS-MESSAGE-VISIBLE-AT", _rfc_3339(message.at_ms)),
    )
    if content.content_encoding and (encoding := header_value(content.content_encoding)):
        headers += ((b"Content-Encoding", encoding),)
    if content.trace_id and (trace_id := header_value(content.trace_id)):
        headers += ((b"X-TRACE-ID", trace_id),)
    return headers


def _rfc_3339(at_ms: int) -> bytes:
    return _second_text(at_ms // 1000) + _MILLISECONDS[at_ms % 1000]


@lru_cache(maxsize=256)
def _second_text(at_s: int) -> bytes:
    """A second in UTC. Messages of one moment share it, and making it is the dear part."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
