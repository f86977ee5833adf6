"""What changes in directories, told by the kernel (inotify) at once and in order.

A change is in the kernel's line before the call that made it returns. Reading that line to its end therefore
shows all that was done before, by any process, as a fresh listing would.

One `Watcher` serves a whole process, since a user gets few of them (128 by default) and may have thousands
of queues. There is no thread behind it: of the threads that wait, one listens and tells the others.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
import time
import weakref

_IN_MOVED_FROM = 0x40
_IN_MOVED_TO = 0x80
_IN_CREATE = 0x100
_IN_DELETE = 0x200
_IN_DELETE_SELF = 0x400
_IN_MOVE_SELF = 0x800
_IN_UNMOUNT = 0x2000
_IN_Q_OVERFLOW = 0x4000
_IN_IGNORED = 0x8000
_IN_ONLYDIR = 0x1000000
_IN_ISDIR = 0x40000000

_APPEARS = _IN_CREATE | _IN_MOVED_TO
_VANISHES = _IN_DELETE | _IN_MOVED_FROM
_ENDS = _IN_DELETE_SELF | _IN_MOVE_SELF | _IN_UNMOUNT | _IN_IGNORED
_WATCHED = _APPEARS | _VANISHES | _IN_DELETE_SELF | _IN_MOVE_SELF | _IN_ONLYDIR

_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name with its padding
_READ_BYTES = 65536
_EVENT_BYTES_MAX = _HEAD.size + 256
# As many as the kernel keeps by default. Whoever has more to catch up with is quicker with a listing.
_NEWS_MAX = 16384
_WAIT_S_MAX = 86_400.0  # in one go; the kernel takes no more than 24 days
_UNREMARKABLE = ".new"  # nobody waits for a message that is not there yet

# File systems whose files others change behind this kernel's back: NFS, SMB (three kinds), FUSE, 9P, Ceph,
# AFS, Coda, GFS2, OCFS2, Lustre.
_SHARED_BETWEEN_MACHINES = {
    0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x65735546, 0x01021997, 0x00C36400,
    0x5346414F, 0x73757245, 0x01161970, 0x7461636F, 0x0BD00BD0,
}  # fmt: skip
_STATFS_BYTES = 256  # more than the structure has anywhere; its first word says what kind it is

_libc = ctypes.CDLL(None, use_errno=True)

News = list[tuple[bool, str]]  # whether a name appeared or vanished, and which


class Subscription:
    """One who wants to hear of changes in a directory."""

    def __init__(self, watch: int, lock: threading.Lock) -> None:
        self.watch = watch
        self.version = 0  # grows with every change that may matter to somebody who waits
        self.news: News = []
        self.has_lost_track = False  # something happened that is not in the news
        self.has_ended = False  # the directory is gone or elsewhere
        self.told = threading.Condition(lock)


class Watcher:
    """The ear of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inotify = -1
        self._nudge = -1  # makes the listening thread look up
        # By watch. Those who forgot to unsubscribe are gone one day, and their watch after them.
        self._subscriptions: dict[int, list[weakref.ref[Subscription]]] = {}
        self._listener: Subscription | None = None  # on whose behalf a thread listens to the kernel
        self._told_by_listener: list[Subscription] = []  # one for each other thread that waits

    def subscribe(self, path: str) -> Subscription | None:
        """Hear of everything that changes in a directory from now on; None if the kernel cannot do that."""
        with self._lock:
            if not _is_seen_by_this_kernel_alone(path) or not self._open():
                return None
            watch = _libc.inotify_add_watch(self._inotify, os.fsencode(path), _WATCHED)
            if watch < 0:
                self._close_if_unused()
                return None
            subscription = Subscription(watch, self._lock)
            self._subscriptions.setdefault(watch, []).append(weakref.ref(subscription))
            return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._end(subscription)
            self._drop(subscription.watch, subscription)
            self._close_if_unused()

    def catch_up(self, subscription: Subscription) -> tuple[News | None, int]:
        """What happened since the last call, and the version by then; None: too much to tell."""
        with self._lock:
            self._drain()
            news, subscription.news = subscription.news, []
            has_lost_track, subscription.has_lost_track = subscription.has_lost_track, False
            return (None if has_lost_track else news), subscription.version

    def wait(self, subscription: Subscription, version: int, seconds: float | None) -> None:
        """Return when there is news after a version, or the time is up."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            try:
                while subscription.version == version and not subscription.has_ended:
                    left = _WAIT_S_MAX if deadline is None else deadline - time.monotonic()
                    if left <= 0:
                        return
                    left = min(left, _WAIT_S_MAX)
                    if self._listener is None:
                        self._listen(subscription, left)
                    else:
                        self._wait_to_be_told(subscription, left)
            finally:
                self._appoint_listener()
                self._close_if_unused()

    def forget_descriptors(self) -> None:
        """Let go without a word to the kernel: what a forked child has is shared with its parent."""
        for descriptor in (self._inotify, self._nudge):
            if descriptor >= 0:
                os.close(descriptor)

    # The following are called with the lock held.

    def _open(self) -> bool:
        if self._inotify >= 0:
            return True
        try:
            self._inotify = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
            if self._inotify >= 0:
                self._nudge = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except (AttributeError, OSError):  # not Linux, or no descriptor left
            self._close()
        return self._inotify >= 0

    def _close_if_unused(self) -> None:
        if not self._subscriptions and self._listener is None:
            self._close()

    def _close(self) -> None:
        self.forget_descriptors()
        self._inotify = self._nudge = -1

    def _listen(self, subscription: Subscription, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        poll.register(self._nudge, select.POLLIN)
        self._listener = subscription
        self._lock.release()
        try:
            poll.poll(seconds * 1000)
        finally:
            self._lock.acquire()
            self._listener = None
            self._lay_down_nudge()
            self._drain()

    def _lay_down_nudge(self) -> None:
        try:
            os.eventfd_read(self._nudge)
        except BlockingIOError:
            pass

    def _wait_to_be_told(self, subscription: Subscription, seconds: float) -> None:
        self._told_by_listener.append(subscription)
        try:
            subscription.told.wait(seconds)
        finally:
            self._told_by_listener.remove(subscription)

    def _appoint_listener(self) -> None:
        """Whoever stops waiting sees to it that one of those who still do listens."""
        if self._listener is None and self._told_by_listener:
            self._told_by_listener[0].told.notify()

    def _drain(self) -> None:
        if self._inotify < 0:
            return
        length = _READ_BYTES
        # The kernel fills the buffer with whole events: with room left for one more, there was none.
        while length > _READ_BYTES - _EVENT_BYTES_MAX:
            try:
                events = os.read(self._inotify, _READ_BYTES)
            except BlockingIOError:
                return
            length = len(events)
            self._tell(events)

    def _tell(self, events: bytes) -> None:
        offset = 0
        while offset < len(events):
            watch, mask, _, name_bytes = _HEAD.unpack_from(events, offset)
            offset += _HEAD.size
            name = events[offset : offset + name_bytes].rstrip(b"\0").decode("ascii", "replace")
            offset += name_bytes
            if mask & _IN_Q_OVERFLOW:
                for overflown in tuple(self._subscriptions):
                    self._tell_all(overflown, mask, name)
            else:
                self._tell_all(watch, mask, name)

    def _tell_all(self, watch: int, mask: int, name: str) -> None:
        is_anybody_gone = False
        for reference in self._subscriptions.get(watch, ()):
            subscription = reference()
            if subscription is None:
                is_anybody_gone = True
            else:
                self._tell_one(subscription, mask, name)
        if is_anybody_gone:
            self._drop(watch, None)

    def _drop(self, watch: int, gone: Subscription | None) -> None:
        """Forget one who hears no more, and those who were forgotten by everybody else."""
        sharers = [r for r in self._subscriptions.get(watch, ()) if r() not in (None, gone)]
        if sharers:
            self._subscriptions[watch] = sharers
        elif self._subscriptions.pop(watch, None):
            _libc.inotify_rm_watch(self._inotify, watch)

    def _tell_one(self, subscription: Subscription, mask: int, name: str) -> None:
        if mask & _ENDS:
            self._end(subscription)
        elif mask & _IN_ISDIR:
            pass
        elif mask & _IN_Q_OVERFLOW or len(subscription.news) >= _NEWS_MAX:
            self._lose_track(subscription)
        else:
            subscription.news.append((bool(mask & _APPEARS), name))
            if not name.endswith(_UNREMARKABLE):
                self._wake(subscription)

    def _lose_track(self, subscription: Subscription) -> None:
        subscription.news.clear()
        subscription.has_lost_track = True
        self._wake(subscription)

    def _end(self, subscription: Subscription) -> None:
        subscription.has_ended = True
        self._wake(subscription)

    def _wake(self, subscription: Subscription) -> None:
        subscription.version += 1
        subscription.told.notify_all()
        if subscription is self._listener:
            os.eventfd_write(self._nudge, 1)


def _is_seen_by_this_kernel_alone(path: str) -> bool:
    answer = (ctypes.c_long * (_STATFS_BYTES // ctypes.sizeof(ctypes.c_long)))()
    try:
        answered = _libc.statfs(os.fsencode(path), answer) == 0
    except AttributeError:
        return False
    return answered and answer[0] & 0xFFFFFFFF not in _SHARED_BETWEEN_MACHINES
