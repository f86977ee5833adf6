"""What a key allows, and what a request needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from penstock.core.errors import ConfigError
from penstock.core.model import QueueName
from penstock.core.scope import ALL

PATTERN_LETTERS_MAX = 255
EXAMPLES = "for example publish:default/jobs, consume,inspect:shop/mail-* or administer:*/*"


class Action(StrEnum):
    """What can be done to queues. The names are those that people write."""

    PUBLISH = "publish"
    CONSUME = "consume"  # claim messages, and answer for those that were claimed
    INSPECT = "inspect"  # look at queues and messages without changing anything
    ADMINISTER = "administer"  # make, change, empty and delete queues; with */* also keys
    JOURNAL = "journal"  # read the history of the whole service


Pattern = Annotated[str, Meta(min_length=1, max_length=PATTERN_LETTERS_MAX, pattern=r"\A[^*]*\*?\Z")]


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some actions on the queues whose namespace and name fit two patterns."""

    actions: Annotated[tuple[Action, ...], Meta(min_length=1, max_length=len(Action))]
    namespace: Pattern
    queue: Pattern

    def __str__(self) -> str:
        return f"{','.join(self.actions)}:{self.namespace}/{self.queue}"


class Need(msgspec.Struct, frozen=True, gc=False):
    """An action on one queue; or on some queue of a namespace, where which one is known only later; or,
    with neither, on everything.
    """

    action: Action
    queue: QueueName | None = None
    namespace: str | None = None
    # About messages that were handed out before. A limit on consuming does not count it: who is kept from
    # acknowledging is handed the same message again.
    is_answer: bool = False


Needs = tuple[Need, ...]  # all of them have to be allowed; none: open to everybody

OPEN: Needs = ()


def parse_grant(text: str) -> Grant:
    """Read `ACTIONS:NAMESPACE/QUEUE`."""
    actions, colon, place = text.partition(":")
    namespace, slash, queue = place.partition("/")
    if not (colon and slash):
        raise _unusable(text, "it is not ACTIONS:NAMESPACE/QUEUE")
    for pattern in (namespace, queue):
        _check_pattern(text, pattern)
    grant = Grant(_parse_actions(text, actions), namespace, queue)
    if Action.JOURNAL in grant.actions and (namespace, queue) != (ALL, ALL):
        raise _unusable(text, "the journal tells of every queue, so it is granted as journal:*/* only")
    return grant


def _parse_actions(text: str, actions: str) -> tuple[Action, ...]:
    given = [word.strip() for word in actions.split(",")]
    unknown = [word for word in given if word not in list(Action)]
    if unknown:
        raise _unusable(text, f"there is no action {unknown[0]!r}, only {', '.join(Action)}")
    return tuple(action for action in Action if action in given)


def _check_pattern(text: str, pattern: str) -> None:
    if not pattern:
        raise _unusable(text, "a name is missing; * stands for every one")
    if ALL in pattern[:-1]:
        raise _unusable(text, "a * can only be at the end of a name")
    if len(pattern) > PATTERN_LETTERS_MAX or not pattern.isprintable():
        raise _unusable(text, f"a name has at most {PATTERN_LETTERS_MAX} letters, all of them printable")


def _unusable(text: str, why: str) -> ConfigError:
    return ConfigError(f"cannot grant {text[:100]!r}: {why}", hint=EXAMPLES)
