"""EmoDB's QueueService under `/queue/1`, and its DedupQueueService, the same again, under `/dedupq/1`.

    POST   Q/send                 POST   Q/ack                 GET    Q/size
    POST   Q/sendbatch            POST   Q/renew?ttl=          GET    Q/claimcount
    POST   _sendbatch             POST   Q/unclaimall          POST   _move?from=&to=
    GET    Q/poll?ttl=&limit=     DELETE Q                     GET    _move/REFERENCE
    GET    Q/peek?limit=

A queue that is not there is an empty one. A request is checked in the order of EmoDB's own server: path,
method, type of the body, name of the queue, parameters, body.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, assert_never

from penstock.core.commands import Command, DescribeQueue, Peek
from penstock.core.model import DEDUP_NAMESPACE, QueueName
from penstock.core.outcomes import (
    Counted,
    Crashed,
    Delivered,
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
from penstock.dialects.emodb import answers, requests
from penstock.dialects.emodb.needs import needs_of_path
from penstock.dialects.emodb.payloads import write_messages
from penstock.dialects.http import BodyRule, Denial, Problem, Request, Response, segments
from penstock.dialects.wire import JSON_TYPE, json_response, raw_parameter
from penstock.keys.grants import OPEN, Needs

IDS_BODY_BYTES_MAX = 1024 * 1024  # some 26 000 ids; a poll gives out 1 000

_NAMESPACES = {"queue": "default", "dedupq": DEDUP_NAMESPACE}


class _Form(NamedTuple):
    """What a request to some path has to be like, and the answer to another method."""

    methods: tuple[str, ...]
    wrong_method: Response
    takes_json: bool = False


class _Route(NamedTuple):
    """A path with a queue in it."""

    form: _Form
    read: Callable[[QueueName, Request], Command | Response]


_LOOK = _Form(("GET", "HEAD"), answers.wrong_method("GET, HEAD"))
_POLL = _Form(("GET",), answers.wrong_method("GET"))  # not HEAD, which is for looking only
_POST = _Form(("POST",), answers.wrong_method("POST"))
_POST_JSON = _Form(("POST",), answers.wrong_method("POST"), takes_json=True)
_DELETE = _Form(("DELETE",), answers.wrong_method("DELETE"))

_PURGE = _Route(_DELETE, requests.read_purge)


class Emodb:
    """The dialect, both services of it."""

    name = "emodb"
    roots: frozenset[str] | None = frozenset(_NAMESPACES)

    def __init__(self, message_bytes_max: int = 30 * 1024, body_bytes_max: int = 16 * 1024 * 1024) -> None:
        """`body_bytes_max` bounds every request: a batch as a whole, a message with all the blanks in it."""
        self._messages_body = BodyRule(body_bytes_max)
        self._ids_body = BodyRule(min(IDS_BODY_BYTES_MAX, body_bytes_max))
        self._sending = requests.Sending(message_bytes_max)
        self._routes = {
            "send": _Route(_POST_JSON, self._sending.send),
            "sendbatch": _Route(_POST_JSON, self._sending.send_batch),
            "poll": _Route(_POLL, requests.read_poll),
            "ack": _Route(_POST_JSON, requests.read_ack),
            "renew": _Route(_POST_JSON, requests.read_renew),
            "peek": _Route(_LOOK, requests.read_peek),
            "size": _Route(_LOOK, requests.read_size),
            "claimcount": _Route(_LOOK, requests.read_claim_count),
            "unclaimall": _Route(_POST, requests.read_unclaim_all),
        }

    def credential(self, head: Request) -> bytes | None:
        """The API key, in its header or in the query."""
        key = head.headers.get(b"x-bv-api-key")
        if key:
            return key
        parameter = raw_parameter(head.query, requests.KEY_PARAMETER)
        return None if parameter is None else parameter.encode()

    def needs(self, head: Request) -> Needs:
        """By method and path; of a batch for many queues, only its body tells which."""
        found = _service_and_words(head.path)
        return OPEN if found is None else needs_of_path(*found, head)

    def body_rule(self, head: Request) -> BodyRule:
        """A list of ids is short, whatever a batch may be."""
        return self._ids_body if head.path.endswith(("/ack", "/renew")) else self._messages_body

    def read(self, request: Request) -> Command | Response:
        """Find what a request asks for by its path."""
        match _service_and_words(request.path):
            case namespace, (name, action) if name != "_move":
                route = self._routes.get(action)
                return answers.NOTHING_HERE if route is None else _read_by(route, namespace, name, request)
            case namespace, ("_sendbatch",):
                return _refusal(_POST_JSON, request) or self._sending.send_batches(namespace, request)
            case namespace, ("_move",):
                return _refusal(_POST, request) or requests.read_move(namespace, request)
            case namespace, ("_move", reference):
                question = requests.DescribeOwnMove(reference, dialect="emodb", namespace=namespace)
                return _refusal(_LOOK, request) or question
            case namespace, (name,):
                return _read_by(_PURGE, namespace, name, request)
            case _:
                return answers.NOTHING_HERE

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:  # noqa: ARG002 - tells no time
        """Answer in JSON."""
        match outcome:
            case Published() | Ended() | PublishedAll() | Renewed() | Counted():
                return answers.SUCCESS
            case Delivered():
                return Response(200, write_messages(outcome.messages), (JSON_TYPE,))
            case QueueShown():
                counts = outcome.counts
                is_of_claims = isinstance(command, requests.CountClaims)
                return json_response(200, counts.claimed if is_of_claims else counts.waiting)
            case NoSuchQueue():
                return _write_empty(command)
            case MoveShown():
                return _write_move(command, outcome)
            case NoSuchMove():
                return answers.unknown_move(outcome.reference)
            case Refused():
                return answers.illegal_argument(outcome.reason)
            case Unavailable():
                return answers.UNAVAILABLE
            case Crashed():
                return answers.INTERNAL
            case QueueExists() | QueuesListed() | Unfinished():
                raise AssertionError(f"EmoDB asks for nothing that ends in {type(outcome).__name__}")
            case _:
                assert_never(outcome)

    def refuse(self, problem: Problem, detail: str) -> Response:
        """A refusal by the server, as JSON."""
        match problem:
            case Problem.BODY_TOO_LARGE | Problem.UNREADABLE:
                return answers.problem(problem.value, detail)
            case Problem.INTERNAL:
                return answers.INTERNAL
            case Problem.UNAVAILABLE:
                return answers.UNAVAILABLE
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """EmoDB has one answer to all who lack a privilege."""
        return answers.TOO_OFTEN if denial is Denial.TOO_MANY else answers.UNAUTHORIZED


@lru_cache(maxsize=1024)
def _service_and_words(path: str) -> tuple[str, tuple[str, ...]] | None:
    """The namespace that a path belongs to, and what follows; None if it is not of this dialect."""
    root, *words = segments(path)
    if root not in _NAMESPACES or words[:1] != ["1"]:
        return None
    return _NAMESPACES[root], tuple(words[1:])


def _read_by(route: _Route, namespace: str, segment: str, request: Request) -> Command | Response:
    refusal = _refusal(route.form, request)
    if refusal is not None:
        return refusal
    name = requests.queue_name(namespace, segment)
    return answers.BAD_NAME if name is None else route.read(name, request)


def _refusal(form: _Form, request: Request) -> Response | None:
    if request.method not in form.methods:
        return form.wrong_method
    if form.takes_json and not _is_json_type(request.headers.get(b"content-type", b"")):
        return answers.WRONG_TYPE
    return None


def _is_json_type(content_type: bytes) -> bool:
    if content_type == b"application/json":
        return True
    return content_type.partition(b";")[0].strip().lower() == b"application/json"


def _write_empty(command: Command) -> Response:
    """The answer of a queue that nobody has made yet."""
    match command:
        case Peek():
            return answers.EMPTY_LIST
        case DescribeQueue():
            return answers.ZERO
        case _:
            return answers.SUCCESS


def _write_move(command: Command, shown: MoveShown) -> Response:
    move = shown.move
    if not isinstance(command, requests.DescribeOwnMove):
        return json_response(200, {"id": move.reference})
    if move.source.namespace != command.namespace:
        return answers.unknown_move(move.reference)
    return json_response(200, {"from": move.source.name, "to": move.target.name, "status": move.status})
