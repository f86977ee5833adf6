"""What a request to one of EmoDB's paths needs."""

from __future__ import annotations

from penstock.dialects.emodb.requests import queue_name
from penstock.dialects.http import Request
from penstock.dialects.wire import query_parameters
from penstock.keys.grants import OPEN, Action, Need, Needs

_OF_QUEUES = {
    ("POST", "send"): Action.PUBLISH,
    ("POST", "sendbatch"): Action.PUBLISH,
    ("GET", "poll"): Action.CONSUME,
    ("POST", "ack"): Action.CONSUME,
    ("POST", "renew"): Action.CONSUME,
    ("POST", "unclaimall"): Action.CONSUME,
    ("GET", "peek"): Action.INSPECT,
    ("HEAD", "peek"): Action.INSPECT,
    ("GET", "size"): Action.INSPECT,
    ("HEAD", "size"): Action.INSPECT,
    ("GET", "claimcount"): Action.INSPECT,
    ("HEAD", "claimcount"): Action.INSPECT,
}
_ANSWERS = {"ack", "renew", "unclaimall"}


def needs_of_path(namespace: str, words: tuple[str, ...], head: Request) -> Needs:
    """Where nothing is needed, nothing is there."""
    match head.method, words:
        case "POST", ("_sendbatch",):
            return (Need(Action.PUBLISH, namespace=namespace),)
        case "POST", ("_move",):
            return _needs_of_move(namespace, head.query)
        case "GET" | "HEAD", ("_move", _):
            return (Need(Action.INSPECT, namespace=namespace),)
        case "DELETE", (segment,):
            return _needs_of_queue(Action.ADMINISTER, namespace, segment)
        case method, (segment, word):
            action = _OF_QUEUES.get((method, word))
            return _needs_of_queue(action, namespace, segment, is_answer=word in _ANSWERS)
        case _:
            return OPEN


def _needs_of_queue(action: Action | None, namespace: str, segment: str, *, is_answer: bool = False) -> Needs:
    name = queue_name(namespace, segment)
    return OPEN if action is None or name is None else (Need(action, name, is_answer=is_answer),)


def _needs_of_move(namespace: str, query: str) -> Needs:
    parameters = query_parameters(query)
    source = queue_name(namespace, parameters.get("from", ""))
    target = queue_name(namespace, parameters.get("to", ""))
    if source is None or target is None:
        return OPEN
    return (Need(Action.CONSUME, source), Need(Action.PUBLISH, target))
