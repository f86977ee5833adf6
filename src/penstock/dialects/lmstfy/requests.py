"""What lmstfy's requests say: names, parameters and bodies, turned into commands.

Numbers are plain decimal digits. Of several things that are wrong the first is answered, in the order in
which the original looks at them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from penstock.core.commands import (
    Acknowledge,
    Claim,
    Command,
    Draft,
    DropDead,
    IfMissing,
    Inspect,
    Malformed,
    Publish,
    Republish,
    Respawn,
)
from penstock.core.ids import MessageId, from_ulid, from_uuid
from penstock.core.model import DEFAULT_CONTENT_TYPE, Content, QueueName
from penstock.dialects.http import Request, Response
from penstock.dialects.lmstfy.answers import (
    JOB_NOT_FOUND,
    NO_CONTENT,
    TOO_LARGE,
    TRIES_MAX,
    BulkPublish,
    error,
)
from penstock.dialects.wire import decode_json, plain_decimal, query_parameters, without_parameter

NAME_LETTERS_MAX = 255
JOBS_MAX = 64  # in one bulk
COUNT_MAX = 100  # of jobs in one consume
SECONDS_MAX = 2**32 - 1
LIMIT_MAX = 2**63 - 1
DEFAULT_TTL_S = 24 * 60 * 60
DEFAULT_TTR_S = 120
# Clients send few queries, over and over, and to read one costs more than all the rest of a request.
QUERIES_KEPT = 1024
KEPT_QUERY_LETTERS_MAX = 256
KEY_PARAMETER = "token"

_NAME_TOO_LONG = error(400, "namespace or queue name too long")
_BAD_NAMESPACE = error(400, "namespace name contains forbidden characters")
_BAD_QUEUE = error(400, "queue name contains forbidden characters")
_INVALID_DELAY = error(400, "invalid delay")
_INVALID_TTL = error(400, "invalid ttl")
_TTL_SHORTER_THAN_DELAY = error(400, "ttl is shorter than delay")
_INVALID_TRIES = error(400, "invalid tries")
_NO_TRIES = error(400, "tries shouldn't be zero")
_NOT_AN_ARRAY = error(400, "request body should be an array of objects")
_NO_JOBS = error(400, "no jobs")
_TOO_MANY_JOBS = error(400, "too many jobs")
_INVALID_TTR = error(400, "invalid ttr")
_INVALID_TIMEOUT = error(400, "invalid timeout")
_INVALID_COUNT = error(400, "invalid count")
_INVALID_LIMIT = error(400, "invalid limit")

_CREATE, _EMPTY = IfMissing.CREATE, IfMissing.EMPTY  # looking a member up costs 0.1 µs
_NAMESPACE = re.compile(r"[-_A-Za-z0-9]+")
_QUEUE = re.compile(r"[-A-Za-z0-9][-_A-Za-z0-9]*")
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def read_name(namespace: str, queue: str) -> QueueName | Response:
    """The queue that two segments of a path name."""
    if len(namespace) > NAME_LETTERS_MAX or len(queue) > NAME_LETTERS_MAX:
        return _NAME_TOO_LONG  # and stays out of the cache
    return _checked_name(namespace, queue)


@lru_cache(maxsize=4096)
def _checked_name(namespace: str, queue: str) -> QueueName | Response:
    if not _NAMESPACE.fullmatch(namespace):
        return _BAD_NAMESPACE
    if not _QUEUE.fullmatch(queue):
        return _BAD_QUEUE
    return QueueName(namespace, queue)


def _number(parameters: dict[str, str], name: str, default: int, low: int, high: int) -> int | None:
    """The number that a parameter gives; None if it gives something else."""
    text = parameters.get(name)
    return default if text is None else plain_decimal(text, low, high)


# Publishing


class Terms(NamedTuple):
    """What the query of a publish says about each of its jobs."""

    delay_ms: int | None  # None: the queue's own, which may have been set in another dialect
    ttl_ms: int | None  # None: for ever
    tries: int


def _read_terms(query: str) -> Terms | Response:
    query = without_parameter(query, KEY_PARAMETER)
    is_kept = len(query) <= KEPT_QUERY_LETTERS_MAX
    return _terms_of(query) if is_kept else _terms_of.__wrapped__(query)


@lru_cache(maxsize=QUERIES_KEPT)
def _terms_of(query: str) -> Terms | Response:
    parameters = query_parameters(query)
    delay_s = _number(parameters, "delay", 0, 0, SECONDS_MAX)
    if delay_s is None:
        return _INVALID_DELAY
    ttl_s = _number(parameters, "ttl", DEFAULT_TTL_S, 0, SECONDS_MAX)
    if ttl_s is None:
        return _INVALID_TTL
    if 0 < ttl_s < delay_s:
        return _TTL_SHORTER_THAN_DELAY
    tries = _number(parameters, "tries", 1, 0, TRIES_MAX)
    if tries is None:
        return _INVALID_TRIES
    if tries == 0:
        return _NO_TRIES
    delay_ms = delay_s * 1000 if "delay" in parameters else None
    return Terms(delay_ms, ttl_s * 1000 or None, tries)


def _read_draft(request: Request) -> Draft | Response:
    terms = _read_terms(request.query)
    if not isinstance(terms, Terms):
        return terms
    content_type = request.headers.get(b"content-type")
    encoding = request.headers.get(b"content-encoding")
    content = Content(
        request.body,
        str(content_type, "latin-1") if content_type else DEFAULT_CONTENT_TYPE,
        str(encoding, "latin-1") if encoding else None,
    )
    return Draft(content, *terms)


def read_publish(name: QueueName, request: Request) -> Command | Response:
    """One job, whose data is the body."""
    draft = _read_draft(request)
    if not isinstance(draft, Draft):
        return draft
    return Publish(name, (draft,), _CREATE, dialect="lmstfy")


def read_republish(name: QueueName, request: Request) -> Command | Response:
    """One job in the place of another."""
    draft = _read_draft(request)
    if not isinstance(draft, Draft):
        return draft
    old_id = _job_id(request)
    if old_id is None:  # as with an id that is unknown, there is nothing to end
        return Publish(name, (draft,), _CREATE, dialect="lmstfy")
    return Republish(name, old_id, draft, dialect="lmstfy")


def read_bulk(name: QueueName, request: Request, job_bytes_max: int) -> Command | Response:
    """One job for each element of a JSON array, whose data is the element just as it was sent."""
    terms = _read_terms(request.query)
    if not isinstance(terms, Terms):
        return terms
    jobs = _split_array(request.body)
    if isinstance(jobs, Response):
        return jobs
    if max(map(len, jobs)) > job_bytes_max:
        return TOO_LARGE
    drafts = tuple([Draft(Content(job, "application/json"), *terms) for job in jobs])
    return BulkPublish(name, drafts, _CREATE, dialect="lmstfy")


def _split_array(body: bytes) -> list[bytes] | Response:
    raw = decode_json(_ARRAY, body)
    # Elements are not decoded, so their text could still be anything.
    if isinstance(raw, Malformed) or not _is_utf8(body):
        return _NOT_AN_ARRAY
    if not raw:
        return _NO_JOBS
    if len(raw) > JOBS_MAX:
        return _TOO_MANY_JOBS
    return [bytes(job) for job in raw]


def _is_utf8(body: bytes) -> bool:
    try:
        str(body, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


# Consuming


class Wish(NamedTuple):
    """What the query of a consume says."""

    jobs_max: int
    ttr_ms: int
    timeout_ms: int


def _read_wish(query: str) -> Wish | Response:
    query = without_parameter(query, KEY_PARAMETER)
    is_kept = len(query) <= KEPT_QUERY_LETTERS_MAX
    return _wish_of(query) if is_kept else _wish_of.__wrapped__(query)


@lru_cache(maxsize=QUERIES_KEPT)
def _wish_of(query: str) -> Wish | Response:
    parameters = query_parameters(query)
    ttr_s = _number(parameters, "ttr", DEFAULT_TTR_S, 0, SECONDS_MAX)
    if ttr_s is None:
        return _INVALID_TTR
    timeout_s = _number(parameters, "timeout", 0, 0, SECONDS_MAX)
    if timeout_s is None:
        return _INVALID_TIMEOUT
    count = _number(parameters, "count", 1, 1, COUNT_MAX)
    return _INVALID_COUNT if count is None else Wish(count, ttr_s * 1000, timeout_s * 1000)


def read_consume(namespace: str, queues: str, query: str) -> Command | Response:
    """Jobs of one queue, or one job of the first of several queues that has any."""
    names: list[QueueName] = []
    for queue in dict.fromkeys(queues.split(",")):
        name = read_name(namespace, queue)
        if not isinstance(name, QueueName):
            return name
        names.append(name)
    wish = _read_wish(query)
    if not isinstance(wish, Wish):
        return wish
    limit = wish.jobs_max if len(names) == 1 else 1  # the document: it only works with a single queue
    return Claim(tuple(names), limit, wish.ttr_ms, wish.timeout_ms, _EMPTY, dialect="lmstfy")


def _job_id(request: Request) -> MessageId | None:
    """The job that the last segment of a path names; None if no job can have that id."""
    text = unquote(request.path.rpartition("/")[2])
    return from_ulid(text) or from_uuid(text)


def read_acknowledge(name: QueueName, request: Request) -> Command | Response:
    """The end of one job."""
    job_id = _job_id(request)
    if job_id is None:
        return NO_CONTENT
    return Acknowledge(name.namespace, name.name, (job_id,), dialect="lmstfy")


def read_peek_job(name: QueueName, request: Request) -> Command | Response:
    """A look at one job."""
    job_id = _job_id(request)
    return JOB_NOT_FOUND if job_id is None else Inspect(name, job_id, dialect="lmstfy")


# Dead letters


def read_respawn(name: QueueName, request: Request) -> Command | Response:
    """Another life for some of the dead."""
    parameters = query_parameters(request.query)
    limit = _number(parameters, "limit", 1, 1, LIMIT_MAX)
    if limit is None:
        return _INVALID_LIMIT
    ttl_s = _number(parameters, "ttl", DEFAULT_TTL_S, 0, SECONDS_MAX)
    if ttl_s is None:
        return _INVALID_TTL
    return Respawn(name, limit, ttl_s * 1000 or None, dialect="lmstfy")


def read_drop_dead(name: QueueName, request: Request) -> Command | Response:
    """The end of some of the dead."""
    limit = _number(query_parameters(request.query), "limit", 1, 1, LIMIT_MAX)
    return _INVALID_LIMIT if limit is None else DropDead(name, limit, dialect="lmstfy")
