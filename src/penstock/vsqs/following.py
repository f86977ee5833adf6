"""Keeps an index in step with its directory.

Where the kernel tells of changes, the directory is listed once and then followed. A listing takes a while: a
file that is renamed meanwhile may be in it twice or not at all. But whatever changed since the watch began is
in the news as well, and once that is applied every name is as its last change left it.

Where the kernel cannot tell (its limits are used up, the file system is shared between machines) every look
is a listing, as the document has it.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from penstock.vsqs.files import Directory, Identity
from penstock.vsqs.index import Index
from penstock.vsqs.names import NEW, file_name, moment_us
from penstock.vsqs.watching import Subscription, Watcher

HOUR_US = 3_600_000_000

# Against whatever a kernel might fail to tell; a listing of a million files takes about a second.
_RELIST_AFTER_S = 60
_RELIST_AFTER_LISTINGS = 200
# How long to wait for what nobody will tell of: a change that is not followed, a step of the clock.
UNTOLD_S = 0.05
CLOCK_STEP_S = 1.0


class Sight(NamedTuple):
    """How much somebody has seen."""

    subscription: Subscription | None
    version: int


class Follower:
    """Knows what is in a directory. `lock` is held by whoever asks it, except to wait."""

    _watcher: ClassVar[Watcher] = Watcher()
    _everybody: ClassVar[weakref.WeakSet[Follower]] = weakref.WeakSet()

    def __init__(self, directory: Directory, clock_us: Callable[[], int]) -> None:
        self.lock = threading.Lock()
        self.index = Index()
        self._directory = directory
        self._clock_us = clock_us
        self._identity: Identity | None = None
        self._subscription: Subscription | None = None
        self._version = 0
        self._relist_at_s = 0.0  # of the monotonic clock
        self._everybody.add(self)

    @property
    def is_told_of_changes(self) -> bool:
        """Whether looking is free of listings."""
        return self._subscription is not None

    def refresh(self) -> Index:
        """The index, showing everything that was done before this call."""
        self._watch_what_is_there()
        if self._subscription is None:
            self._list()
            return self.index
        while not self._follow(self._subscription):
            self._list()
        return self.index

    def look_again(self, name: str) -> Index:
        """Refresh when a file was not where the index had it."""
        message_id, _, extension = name.partition(".")
        if extension in self.refresh().extensions(message_id):
            self._relist_at_s = 0
            self.refresh()
        return self.index

    def sight(self) -> Sight:
        """What the last refresh showed, to wait for more."""
        return Sight(self._subscription, self._version)

    def wait(self, seen: Sight, seconds: float | None) -> None:
        """Return when there is more to see, or there might be, or the time is up. Without the lock."""
        if seen.subscription is None:
            time.sleep(UNTOLD_S if seconds is None else min(seconds, UNTOLD_S))
        else:
            self._watcher.wait(seen.subscription, seen.version, seconds)

    def close(self) -> None:
        if self._subscription is not None:
            self._watcher.unsubscribe(self._subscription)
            self._subscription = None
        self._identity = None

    def _watch_what_is_there(self) -> None:
        identity = self._directory.identity()
        subscription = self._subscription
        if identity == self._identity and subscription is not None and not subscription.has_ended:
            return
        self.close()
        self._identity = identity
        self._relist_at_s = 0
        if identity is not None:
            self._subscription = self._watcher.subscribe(self._directory.path)

    def _follow(self, subscription: Subscription) -> bool:
        """Apply the news; False if a listing is needed first."""
        news, self._version = self._watcher.catch_up(subscription)
        if news is None or time.monotonic() >= self._relist_at_s:
            return False
        for is_there, name in news:
            (self.index.appear if is_there else self.index.vanish)(name)
        return True

    def _list(self) -> None:
        began_s = time.monotonic()
        now_us = self._clock_us()
        self.index.replace(self._directory.names(), now_us)
        self._reap(now_us)
        ended_s = time.monotonic()
        self._relist_at_s = ended_s + max(_RELIST_AFTER_S, _RELIST_AFTER_LISTINGS * (ended_s - began_s))

    def _reap(self, now_us: int) -> None:
        """Remove what publishers left behind that died an hour ago or more."""
        for message_id in self.index.drafts:
            name = file_name(message_id, NEW)
            if moment_us(message_id) > now_us - HOUR_US:
                continue
            written_at_us = self._directory.written_at_us(name)
            if written_at_us is not None and written_at_us <= now_us - HOUR_US:
                self._directory.remove_if_there(name)

    def _start_over(self) -> None:
        self.lock = threading.Lock()
        self._subscription = self._identity = None

    @classmethod
    def start_over_after_fork(cls) -> None:
        """What parent and child both read, each would miss the half of; so the child watches for itself."""
        cls._watcher.forget_descriptors()
        cls._watcher = Watcher()
        for follower in cls._everybody:
            follower._start_over()  # noqa: SLF001 - its own


os.register_at_fork(after_in_child=Follower.start_over_after_fork)
