"""What a request to one of lmstfy's paths needs."""

from __future__ import annotations

from functools import lru_cache

from penstock.core.model import QueueName
from penstock.dialects.lmstfy.requests import read_name
from penstock.keys.grants import OPEN, Action, Need, Needs

KEPT_LETTERS_MAX = 512  # longer paths are read anew each time

_ACTIONS: dict[tuple[str, ...], tuple[Action, ...]] = {
    ("PUT",): (Action.PUBLISH,),
    ("PUT", "bulk"): (Action.PUBLISH,),
    ("PUT", "job", ":job_id"): (Action.PUBLISH, Action.CONSUME),  # it ends the job that it replaces
    ("GET",): (Action.CONSUME,),
    ("DELETE", "job", ":job_id"): (Action.CONSUME,),
    ("GET", "peek"): (Action.INSPECT,),
    ("GET", "job", ":job_id"): (Action.INSPECT,),
    ("GET", "size"): (Action.INSPECT,),
    ("GET", "deadletter"): (Action.INSPECT,),
    ("GET", "deadletter", "size"): (Action.INSPECT,),
    ("PUT", "deadletter"): (Action.ADMINISTER,),
    ("DELETE", "deadletter"): (Action.ADMINISTER,),
    ("DELETE",): (Action.ADMINISTER,),
}


def needs_of_path(method: str, namespace: str, queues: str, rest: tuple[str, ...]) -> Needs:
    """Where nothing is needed, nothing is there, or its name is one that nothing can have."""
    if len(rest) == 2 and rest[0] == "job":
        rest = ("job", ":job_id")
    is_kept = len(namespace) + len(queues) <= KEPT_LETTERS_MAX and len(rest) <= 2
    return (_needs if is_kept else _needs.__wrapped__)(method, namespace, queues, rest)


@lru_cache(maxsize=4096)
def _needs(method: str, namespace: str, queues: str, rest: tuple[str, ...]) -> Needs:
    actions = _ACTIONS.get((method, *rest))
    if actions is None:
        return OPEN
    is_consume = not rest and method == "GET"  # the only one that takes several queues
    needs: list[Need] = []
    for queue in dict.fromkeys(queues.split(",") if is_consume else [queues]):
        name = read_name(namespace, queue)
        if not isinstance(name, QueueName):
            return OPEN
        is_answer = bool(rest)
        needs += [Need(action, name, is_answer=action is Action.CONSUME and is_answer) for action in actions]
    return tuple(needs)
