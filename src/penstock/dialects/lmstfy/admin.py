"""lmstfy's administrators' routes: tokens of a namespace and their limits. A listener of its own serves them.

    POST   /token/:namespace                  make a token       GET    /limits   all limits
    GET    /token/:namespace                  list tokens
    DELETE /token/:namespace/:token           take a token back
    POST   /token/:namespace/:token/limit     give it a limit    GET    …/limit   tell it
    PUT    /token/:namespace/:token/limit     change it          DELETE …/limit   take it away

A token is a key that allows everything in its namespace. Its text is told once, when it is made, and not
kept: lists have its id in place of it, and where a path has a token, either will do.
"""

from __future__ import annotations

import re
from typing import Annotated, NoReturn, assert_never

import msgspec
from msgspec import Meta

from penstock.core.commands import Command, Malformed
from penstock.core.outcomes import Outcome
from penstock.core.scope import ALL
from penstock.dialects import authorization
from penstock.dialects.http import BodyRule, Denial, KeyRequest, Problem, Request, Response, segments
from penstock.dialects.lmstfy.answers import NO_CONTENT, TOO_LARGE, as_json, error
from penstock.dialects.wire import decode_json, query_parameters
from penstock.keys.grants import OPEN, Action, Grant, Need, Needs
from penstock.keys.rates import COUNT_MAX, SECONDS_MAX, Rate
from penstock.keys.ring import NAME_LETTERS_MAX, TEXT_LETTERS_MIN, Fresh, Key, KeyRing, is_usable_text

NAMESPACE_LETTERS_MAX = 255

_EVERYTHING = (Action.PUBLISH, Action.CONSUME, Action.INSPECT, Action.ADMINISTER)
_NAMESPACE = re.compile(r"[-_A-Za-z0-9]+")
_BODY = BodyRule(64 * 1024)
_FORM = b"application/x-www-form-urlencoded"

_API_NOT_FOUND = error(404, "api not found")
_NOT_FOR_PAGES = error(403, "a web page may not ask for this")
_INVALID_DESCRIPTION = error(400, "invalid description")
_TOKEN_TOO_SHORT = error(400, "the user token was too short")
_INVALID_TOKEN = error(400, "the user token contains forbidden characters or is too long")
_NAMESPACE_TOO_LONG = error(400, "the namespace name was too long")
_BAD_NAMESPACE = error(400, "namespace name contains forbidden characters")
_TOKEN_NOT_FOUND = error(404, "token not found")
_NO_LIMIT = as_json(404, None)
_LIMIT_EXISTS = error(400, "the token has a limit already")
_NO_COUNTS = error(400, "read and write can't both be 0")
_NOT_FORBIDDING = error(400, "forbid_read and forbid_write are not supported")
_SUCCESS = as_json(200, {"msg": "success"})
_UNREADABLE = error(400, "failed to read body")
_INTERNAL = error(500, "internal error")
_UNAVAILABLE = error(503, "service unavailable", (b"Retry-After", b"1"))


class Limit(msgspec.Struct, frozen=True):
    """So many consumes and publishes in so many seconds; 0: as many as one likes."""

    read: Annotated[int, Meta(ge=0, le=COUNT_MAX)] = 0
    write: Annotated[int, Meta(ge=0, le=COUNT_MAX)] = 0
    interval: Annotated[int, Meta(ge=0, le=SECONDS_MAX)] = 0


class _LimitBody(Limit, frozen=True):
    forbid_read: bool = False
    forbid_write: bool = False


_LIMIT = msgspec.json.Decoder(_LimitBody)


class LmstfyAdmin:
    """The dialect. Away from loopback its requests need a key that may administer everything."""

    name = "lmstfy-admin"
    roots: frozenset[str] | None = frozenset()  # never on a shared port

    def __init__(self, *, is_local: bool) -> None:
        """`is_local`: only this machine can reach it, which is all that the original asks for."""
        self._needs = OPEN if is_local else (Need(Action.ADMINISTER),)

    def credential(self, head: Request) -> bytes | None:
        """The original has accounts here, so a key may also be the password of one."""
        return authorization.bearer_key(head.headers) or authorization.password_key(head.headers)

    def needs(self, head: Request) -> Needs:  # noqa: ARG002 - the same for all of them
        """Whoever can make tokens can do everything."""
        return self._needs

    def body_rule(self, head: Request) -> BodyRule:  # noqa: ARG002 - all of them are small
        """A form or a limit."""
        return _BODY

    def read(self, request: Request) -> Response | KeyRequest:
        """Find the route."""
        if b"origin" in request.headers:
            # Any page in a browser on this machine can send requests to loopback; no page has business here.
            return _NOT_FOR_PAGES
        match request.method, *segments(request.path):
            case "GET", "limits":
                return KeyRequest(_list_limits)
            case "POST", "token", namespace:
                return _read_create(namespace, request)
            case "GET", "token", namespace:
                return KeyRequest(lambda ring, _: (ring, _tokens(ring, namespace)))
            case "DELETE", "token", namespace, token:
                return KeyRequest(lambda ring, _: (_without(ring, namespace, token), NO_CONTENT))
            case "GET", "token", namespace, token, "limit":
                return KeyRequest(lambda ring, _: (ring, _show_limit(_find(ring, namespace, token))))
            case "POST" | "PUT", "token", namespace, token, "limit":
                return _read_limit(namespace, token, request)
            case "DELETE", "token", namespace, token, "limit":
                return KeyRequest(lambda ring, _: (_unlimited(ring, namespace, token), _SUCCESS))
            case _:
                return _API_NOT_FOUND

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> NoReturn:
        """Never called: no request here is a command."""
        raise AssertionError(f"{command} was not asked for and cannot have ended in {outcome} at {now_ms}")

    def refuse(self, problem: Problem, detail: str) -> Response:  # noqa: ARG002 - lmstfy has the words
        """A refusal by the server."""
        match problem:
            case Problem.BODY_TOO_LARGE:
                return TOO_LARGE
            case Problem.UNREADABLE:
                return _UNREADABLE
            case Problem.INTERNAL:
                return _INTERNAL
            case Problem.UNAVAILABLE:
                return _UNAVAILABLE
            case _:
                assert_never(problem)

    def deny(self, denial: Denial) -> Response:
        """A key is missing or does not do."""
        return authorization.json_denial(denial)


# Tokens


def _read_create(namespace: str, request: Request) -> Response | KeyRequest:
    """In the order in which the original looks at things."""
    form = query_parameters(request.query)
    if request.headers.get(b"content-type", b"").partition(b";")[0].strip() == _FORM:
        form = query_parameters(request.body.decode("latin-1")) | form
    description, text = form.get("description", ""), form.get("token", "")
    if not description or len(description) > NAME_LETTERS_MAX or not description.isprintable():
        return _INVALID_DESCRIPTION
    if text and len(text) < TEXT_LETTERS_MIN:
        return _TOKEN_TOO_SHORT
    if text and not is_usable_text(text):
        return _INVALID_TOKEN
    if len(namespace) > NAMESPACE_LETTERS_MAX:
        return _NAMESPACE_TOO_LONG
    if not _NAMESPACE.fullmatch(namespace):
        return _BAD_NAMESPACE
    return KeyRequest(lambda ring, fresh: _create(ring, fresh, namespace, description, text))


def _create(
    ring: KeyRing, fresh: Fresh, namespace: str, description: str, text: str
) -> tuple[KeyRing, Response]:
    if text:  # a token that clients have already
        fresh = msgspec.structs.replace(fresh, text=text)
    key = fresh.key(description, (Grant(_EVERYTHING, namespace, ALL),))
    refusal = ring.refusal(key)
    if refusal is not None:
        return ring, error(400, refusal)
    return ring.adding(key), as_json(201, {"token": fresh.text})


def _is_for(key: Key, namespace: str) -> bool:
    return any(grant.namespace == namespace for grant in key.grants)


def _find(ring: KeyRing, namespace: str, token: str) -> Key | None:
    """The key for just this namespace that has this id or this text."""
    key = ring.find(token) or ring.find_by_text(token)
    return key if key is not None and _is_for(key, namespace) else None


def _tokens(ring: KeyRing, namespace: str) -> Response:
    found = {key.id: key.name for key in ring.keys if _is_for(key, namespace)}
    return as_json(200, {"tokens": found})


def _without(ring: KeyRing, namespace: str, token: str) -> KeyRing:
    """A key that is for other namespaces, too, stays a key for those."""
    key = _find(ring, namespace, token)
    if key is None:
        return ring
    left = tuple(grant for grant in key.grants if grant.namespace != namespace)
    return ring.replacing(msgspec.structs.replace(key, grants=left)) if left else ring.without(key.id)


# Limits


def _read_limit(namespace: str, token: str, request: Request) -> Response | KeyRequest:
    limit = decode_json(_LIMIT, request.body)
    if isinstance(limit, Malformed):
        return error(400, limit.reason)
    if limit.forbid_read or limit.forbid_write:
        return _NOT_FORBIDDING
    if not limit.read and not limit.write:
        return _NO_COUNTS
    if not limit.interval:
        return error(400, "interval should be > 0")
    given = Limit(limit.read, limit.write, limit.interval)
    is_new = request.method == "POST"
    return KeyRequest(lambda ring, _: _set_limit(ring, _find(ring, namespace, token), given, is_new=is_new))


def _set_limit(ring: KeyRing, key: Key | None, limit: Limit, *, is_new: bool) -> tuple[KeyRing, Response]:
    if key is None:
        return ring, _TOKEN_NOT_FOUND
    if is_new and _limit_of(key) is not None:
        return ring, _LIMIT_EXISTS
    limited = _with_rates(
        key,
        publishes=Rate(limit.write, limit.interval) if limit.write else None,
        consumes=Rate(limit.read, limit.interval) if limit.read else None,
    )
    return ring.replacing(limited), as_json(201 if is_new else 200, {"limiter": limit})


def _with_rates(key: Key, publishes: Rate | None, consumes: Rate | None) -> Key:
    rates = msgspec.structs.replace(key.rates, publishes=publishes, consumes=consumes)
    return msgspec.structs.replace(key, rates=rates)


def _limit_of(key: Key) -> Limit | None:
    publishes, consumes = key.rates.publishes, key.rates.consumes
    either = publishes or consumes  # both have the same interval
    if either is None:
        return None
    return Limit(consumes.count if consumes else 0, publishes.count if publishes else 0, either.seconds)


def _show_limit(key: Key | None) -> Response:
    limit = None if key is None else _limit_of(key)
    return _NO_LIMIT if limit is None else as_json(200, limit)


def _unlimited(ring: KeyRing, namespace: str, token: str) -> KeyRing:
    key = _find(ring, namespace, token)
    return ring if key is None else ring.replacing(_with_rates(key, None, None))


def _list_limits(ring: KeyRing, _: Fresh) -> tuple[KeyRing, Response]:
    limits = [
        {"namespace": grant.namespace, "token": key.id, "limiter": limit}
        for key in ring.keys
        if (limit := _limit_of(key)) is not None
        for grant in key.grants
    ]
    return ring, as_json(200, limits)
