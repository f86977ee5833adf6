"""What a store can keep, and what of a command it therefore cannot.

Most stores keep everything. One whose files belong to another program's layout keeps what that layout has
a place for; anything else is refused here, before it is decided, so that no store ever drops a wish
silently. Where a command has room for a `Malformed` the refusal goes there, and is told in its turn: after
"there is no such queue", as that dialect's own refusals are.
"""

from __future__ import annotations

import re

import msgspec

from penstock.core import commands as c
from penstock.core.model import DEFAULT_CONTENT_TYPE, QueueName, Settings
from penstock.core.outcomes import Refused

# mqs writes "for ever" as 2^31 - 1 seconds.
FOR_EVER_MS = (2**31 - 1) * 1000


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a store can keep. The defaults are those of one that keeps everything."""

    namespace: str | None = None  # the only one it has; None: any
    queue_names: str | None = None  # a pattern for them; None: any
    settings: Settings | None = None  # what every queue of it has; None: each has its own
    keeps_only_bodies: bool = False  # no type, delay, time to live, tries or key with a message
    has_one_claim_time: bool = False  # every claim lasts as long as `settings` says

    @property
    def are_limited(self) -> bool:
        """Whether there is anything it cannot keep."""
        return self != EVERYTHING


EVERYTHING = Traits()


def expressible(traits: Traits, command: c.Command) -> c.Command | Refused:
    """The command with what the store cannot keep marked as malformed, or its refusal."""
    match command:
        case c.CreateQueue():
            return _nameable(traits, command.name) or _with_settings(traits, command)
        case c.UpdateQueue():
            return _with_settings(traits, command)
        case c.Publish():
            return _publish(traits, command)
        case c.PublishAll():
            parts = [_publish(traits, part) for part in command.parts]
            kept = [part for part in parts if isinstance(part, c.Publish)]
            refused = [part for part in parts if isinstance(part, Refused)]
            return refused[0] if refused else msgspec.structs.replace(command, parts=tuple(kept))
        case c.Claim():
            return _claim(traits, command)
        case c.Renew() if command.hidden_ms and traits.has_one_claim_time:
            return Refused(f"this store cannot prolong a claim: each lasts {_seconds_of_claim(traits)} s")
        case c.Republish() if traits.keeps_only_bodies:
            return Refused("this store cannot replace one message by another")
        case c.StartMove() if traits.keeps_only_bodies:
            return Refused("this store cannot move messages to another queue")
        case _:
            return command


def _nameable(traits: Traits, name: QueueName) -> Refused | None:
    if traits.namespace is not None and name.namespace != traits.namespace:
        return Refused(f"this store has queues in the namespace {traits.namespace!r} only")
    if traits.queue_names is not None and re.fullmatch(traits.queue_names, name.name) is None:
        return Refused(f"this store cannot have a queue of that name: names are {traits.queue_names}")
    return None


def _with_settings(traits: Traits, command: c.CreateQueue | c.UpdateQueue) -> c.CreateQueue | c.UpdateQueue:
    wanted = command.settings
    if traits.settings is None or wanted is None or isinstance(wanted, c.Malformed):
        return command
    if wanted.retention_ms is not None and wanted.retention_ms >= FOR_EVER_MS:
        wanted = msgspec.structs.replace(wanted, retention_ms=None)
    wrong = [_SETTING_WORDS[field] for field in _SETTING_WORDS if _differs(wanted, traits.settings, field)]
    settings: Settings | c.Malformed = traits.settings
    if wrong:
        settings = c.Malformed(
            f"this store cannot keep {', '.join(wrong)}: its queues hide a message for "
            f"{_seconds_of_claim(traits)} s and keep it until it is deleted"
        )
    return msgspec.structs.replace(command, settings=settings)


_SETTING_WORDS = {
    "visibility_ms": "another visibility timeout",
    "delay_ms": "a delay",
    "retention_ms": "a retention timeout",
    "deduplicate": "de-duplication",
    "collapse": "the collapsing of copies",
    "redrive": "a redrive policy",
}


def _differs(wanted: Settings, kept: Settings, field: str) -> bool:
    return bool(getattr(wanted, field) != getattr(kept, field))


def _publish(traits: Traits, command: c.Publish) -> c.Publish | Refused:
    unnameable = _nameable(traits, command.name)
    if unnameable is not None and command.if_missing is c.IfMissing.CREATE:
        return unnameable
    if not traits.keeps_only_bodies or isinstance(command.drafts, c.Malformed):
        return command
    if command.idempotency_key is not None:
        return Refused("this store cannot remember an idempotency key")
    for draft in command.drafts:
        unkept = _unkept(draft)
        if unkept:
            reason = f"this store keeps a message's body only, not its {unkept}"
            return msgspec.structs.replace(command, drafts=c.Malformed(reason))
    return command


def _unkept(draft: c.Draft) -> str:
    content = draft.content
    if draft.delay_ms:
        return "delay"
    if draft.ttl_ms is not None:
        return "time to live"
    if draft.tries is not None:
        return "number of tries"
    if not draft.is_typed:
        return ""
    if content.content_type != DEFAULT_CONTENT_TYPE:
        return f"content type (other than {DEFAULT_CONTENT_TYPE})"
    if content.content_encoding is not None:
        return "content encoding"
    return "" if content.trace_id is None else "trace id"


def _claim(traits: Traits, command: c.Claim) -> c.Claim | Refused:
    if not traits.has_one_claim_time or command.only_looks or command.hidden_ms is None:
        return command
    settings = traits.settings
    if settings is None or command.hidden_ms == settings.visibility_ms:
        return command
    return Refused(f"this store hides a message for {_seconds_of_claim(traits)} s, for no other time")


def _seconds_of_claim(traits: Traits) -> str:
    settings = traits.settings or Settings()
    return f"{settings.visibility_ms / 1000:g}"
