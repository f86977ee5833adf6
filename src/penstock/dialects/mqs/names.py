"""Which queue a path of mqs names, and what a request to it needs."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from penstock.core.model import QueueName
from penstock.keys.grants import OPEN, Action, Need, Needs

NAMESPACE = "default"
NAME_BYTES_MAX = 255

_CONTROL_OR_SLASH = re.compile(r"[\x00-\x1f\x7f-\x9f/]")

_OF_MESSAGES = {"POST": Action.PUBLISH, "GET": Action.CONSUME}
_OF_QUEUES = {
    "PUT": Action.ADMINISTER,
    "POST": Action.ADMINISTER,
    "DELETE": Action.ADMINISTER,
    "GET": Action.INSPECT,
}
_DELETE_MESSAGE: Needs = (Need(Action.CONSUME, namespace=NAMESPACE, is_answer=True),)
_LIST: Needs = (Need(Action.INSPECT, namespace=NAMESPACE),)


def queue_name(segment: str) -> QueueName | None:
    """The queue that a path segment names; None if no queue can have that name."""
    # Each byte of a name is at most three characters; longer segments stay out of the cache, too.
    return decoded_name(segment) if len(segment) <= 3 * NAME_BYTES_MAX else None


@lru_cache(maxsize=4096)
def decoded_name(segment: str) -> QueueName | None:
    """The same, for segments short enough to be remembered."""
    try:
        name = str(unquote_to_bytes(segment), "utf-8")
    except UnicodeError:
        return None
    if not name or len(name.encode()) > NAME_BYTES_MAX or _CONTROL_OR_SLASH.search(name):
        return None
    return QueueName(NAMESPACE, name)


def needs(method: str, path: str) -> Needs:
    """What a request needs. One that names no queue is kept to those that its key allows."""
    if path.startswith("/messages/"):
        if method == "DELETE":
            return _DELETE_MESSAGE
        return _needs_of(_OF_MESSAGES.get(method), path[10:])
    if path.startswith("/queues/"):
        return _needs_of(_OF_QUEUES.get(method), path[8:])
    return _LIST if path == "/queues" and method == "GET" else OPEN


def _needs_of(action: Action | None, segment: str) -> Needs:
    if action is None or len(segment) > 3 * NAME_BYTES_MAX:
        return OPEN
    return _needs_of_queue(action, segment)


@lru_cache(maxsize=4096)
def _needs_of_queue(action: Action, segment: str) -> Needs:
    name = queue_name(segment)
    return OPEN if name is None else (Need(action, name),)
