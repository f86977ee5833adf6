"""Who may ask for what. Asked twice of every request, as soon as there are keys.

    head ──▶ check ──▶ (body is read) ──▶ dialect.read ──▶ admit ──▶ engine

`check` knows the head alone, and keeps those without a key from sending a body. `admit` knows the command,
and is what binds: it asks the same of every dialect, and lets no command through for somebody without a key,
whatever the dialect said of the head.

While there is no file of keys everything is allowed. Once there was one, it is never again in this process:
a file that is broken or gone leaves the keys in force that it had.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

import msgspec

from penstock.core.commands import Command
from penstock.core.errors import KeyFileError
from penstock.dialects.http import (
    Denial,
    Dialect,
    HealthCheck,
    JournalLatest,
    JournalQuery,
    KeyRequest,
    Request,
    ServerQuery,
)
from penstock.keys.file import KeyFile, Signature
from penstock.keys.grants import Action, Need, Needs
from penstock.keys.holders import Holder, Holders
from penstock.keys.needs import needs_of
from penstock.keys.ring import TEXT_LETTERS_MAX, digest_of
from penstock.server.fault_log import FaultLog
from penstock.server.refusals import Refusal

_JOURNAL: Needs = (Need(Action.JOURNAL),)
_REASONS = {
    Denial.MISSING: "no key",
    Denial.UNKNOWN: "an unknown key",
    Denial.FORBIDDEN: "a key that does not allow it",
    Denial.TOO_MANY: "a key that was used too often",
}


class Guard:
    """The keys in force."""

    def __init__(self, file: KeyFile | None, log: FaultLog, clock: Callable[[], float]) -> None:
        """Without a file there never are any keys."""
        self.is_on = False
        self._file = file
        self._log = log
        self._clock = clock
        self._holders: Holders | None = None
        self._seen: Signature | None = None
        self.look()

    def look(self) -> bool:
        """Take over a file that has changed. True: other keys are in force now."""
        if self._file is None:
            return False
        signature = self._file.signature()
        if signature == self._seen:
            return False
        self._seen = signature
        try:
            ring = self._file.read()
        except KeyFileError as error:
            self._log.keys_refused(str(error))
            return False
        if ring is None:
            self._log.keys_refused(f"{self._file.path} is gone; the keys that it had stay in force")
            return False
        self._holders = Holders(ring, self._holders)
        self.is_on = True
        return True

    def check(self, dialect: Dialect, head: Request) -> Holder | Refusal | None:
        """Who sends this; or why it goes no further. None: it is open to everybody."""
        needs = dialect.needs(head)
        if not needs:
            return None
        text = dialect.credential(head)
        if text is None:
            return _denied(dialect, Denial.MISSING)
        assert self._holders is not None
        holder = self._holders.by_digest.get(digest_of(text)) if len(text) <= TEXT_LETTERS_MAX else None
        if holder is None:
            return _denied(dialect, Denial.UNKNOWN)
        if not holder.may(needs):
            return _denied(dialect, Denial.FORBIDDEN, holder)
        if holder.meter is not None:
            wait_s = holder.take_turn(needs, self._clock())
            if wait_s > 0:
                return _denied(dialect, Denial.TOO_MANY, holder, wait_s)
        return holder

    def admit(self, dialect: Dialect, holder: Holder | None, command: Command) -> Command | Refusal:
        """The command, narrowed to what its asker may reach; or why it is not done."""
        if holder is None:
            return _denied(dialect, Denial.MISSING)
        if not holder.may(needs_of(command)):
            return _denied(dialect, Denial.FORBIDDEN, holder)
        return holder.narrowed(command)

    def deny_query(self, dialect: Dialect, holder: Holder | None, query: ServerQuery) -> Refusal | None:
        """Why a query is not answered; None: it is."""
        match query:
            case HealthCheck() | KeyRequest():  # where the latter needs a key, its head says so
                return None
            case JournalQuery() | JournalLatest():
                if holder is None:
                    return _denied(dialect, Denial.MISSING)
                return None if holder.may(_JOURNAL) else _denied(dialect, Denial.FORBIDDEN, holder)
            case _:
                assert_never(query)

    def recheck(self, dialect: Dialect, holder: Holder | None, command: Command) -> Refusal | None:
        """Why a command that waits is to wait no longer, now that the keys have changed; None: it may."""
        assert self._holders is not None
        if holder is None:
            return _denied(dialect, Denial.MISSING)
        now = self._holders.of(holder.key.id)
        if now is None:
            return _denied(dialect, Denial.UNKNOWN)
        return None if now.may(needs_of(command)) else _denied(dialect, Denial.FORBIDDEN, now)


def _denied(dialect: Dialect, denial: Denial, holder: Holder | None = None, wait_s: float = 0) -> Refusal:
    response = dialect.deny(denial)
    if denial is Denial.TOO_MANY:
        retry_after = (b"Retry-After", b"%d" % math.ceil(wait_s))
        response = msgspec.structs.replace(response, headers=(*response.headers, retry_after))
    whose = "" if holder is None else f", {holder.key.id}"
    return Refusal(response.status, f"{_REASONS[denial]}{whose}", response)
