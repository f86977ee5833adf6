"""Follows what others do in the folders: other servers, MQ-Core itself, a person with a shell.

The kernel tells of every change, ours included. Only the last one of each file counts, and only if it is
not what the index says already: so our own changes, and any order in which they are told, do nothing. Where
the kernel cannot tell (its queue ran over, it watches no more directories, the file system is a network's)
everything is looked at again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from penstock.core.model import Message, Phase, QueueName
from penstock.stores.spool import inotify as kernel
from penstock.stores.spool.disk import Times
from penstock.stores.spool.folders import Folders
from penstock.stores.spool.index import Index
from penstock.stores.spool.inotify import Change, Inotify
from penstock.stores.spool.names import id_of, is_message_name, is_queue_name, split, ticks_of
from penstock.stores.spool.shelf import Shelf

log = logging.getLogger(__name__)

# A file in `new` that nobody saw being closed is taken for whole when it was not written to for this long.
SETTLED_AFTER_MS = 1000
# A file from later than this was not moved by somebody whose turn came just after ours.
SET_BACK_MS = 2000

Pair = tuple[str, str]  # a queue and the name of a message in it


class Place(NamedTuple):
    """What a watched directory is."""

    phase: Phase | None  # that of the files in it; None: it is `queues`
    queue: str = ""  # empty: the names of the files say it


class Follower:
    """Keeps the index true to the folders."""

    def __init__(self, folders: Folders, index: Index, delay_ms: int, inotify: Inotify) -> None:
        self._folders = folders
        self._index = index
        self._delay_ms = delay_ms
        self._inotify = inotify
        self._places: dict[int, Place] = {}
        self._watches: dict[str, int] = {}  # of queues' folders
        self._readied: dict[str, None] = {}
        self.is_told_everything = True  # by the kernel; else one has to look oneself

    def follow(self, now_ms: int) -> list[QueueName]:
        """Take in all changes since the last call; the queues in which messages became ready."""
        changes = self._inotify.changes()
        if any(self._is_lost(change) for change in changes):
            self.look_at_everything(now_ms)
        elif changes:
            self._take_in(changes, now_ms)
        return self.readied()

    def readied(self) -> list[QueueName]:
        """The queues in which messages became ready since the last call."""
        readied, self._readied = self._readied, {}
        return [shelf.queue.name for name in readied if (shelf := self._index.by_name.get(name)) is not None]

    def _is_lost(self, change: Change) -> bool:
        """Whether changes were dropped, or one of MQ-Core's folders is not the one that is watched."""
        if change.mask & kernel.OVERFLOWED:
            return True
        ends = kernel.UNWATCHED | kernel.UNMOUNTED | kernel.MOVED_ITSELF
        place = self._places.get(change.watch)
        return bool(change.mask & ends) and place is not None and not place.queue

    # Changes

    def _take_in(self, changes: list[Change], now_ms: int) -> None:
        folders: dict[str, None] = {}
        files: dict[Pair, Phase | None] = {}
        for change in changes:
            place = self._places.get(change.watch)
            if place is None:
                continue
            if place.phase is None or change.mask & (kernel.UNWATCHED | kernel.MOVED_ITSELF):
                name = place.queue or change.name
                if place.queue or (change.mask & kernel.IS_DIRECTORY and is_queue_name(name)):
                    folders[name] = None
            elif not change.mask & kernel.IS_DIRECTORY:
                _note(files, place, change)
        for queue in folders:
            self.look_at_queue(queue, now_ms)
        for (queue, name), phase in files.items():
            self._believe(queue, name, phase, now_ms)

    def _believe(self, queue: str, name: str, phase: Phase | None, now_ms: int) -> None:
        """Take in where a file was last seen; None: seen leaving."""
        message = self._index.find(queue, name)
        if phase is (None if message is None else message.phase):
            return
        if phase is None:
            # It may have arrived elsewhere since, and that not be told yet.
            phase = self._folders.where(queue, name)
        self._set(queue, name, message, phase, now_ms, is_whole=True)

    # Looking

    def look_at_everything(self, now_ms: int) -> None:
        """Make the index what the folders are."""
        folders = self._folders
        folders.make()
        self.is_told_everything = True
        self._watch(folders.queues, Place(None), kernel.FOLDERS_COME_AND_GO)
        self._watch(folders.delay, Place(Phase.CLAIMED), kernel.FILES_COME_AND_GO)
        self._watch(folders.new, Place(Phase.DELAYED), kernel.FILES_COME_AND_GO)
        queues = sorted(filter(is_queue_name, folders.disk.directories(folders.queues)))
        for queue in {*queues, *self._index.by_name}:
            self._open_or_close(queue, now_ms)
        unseen = dict(self._index.messages)
        for queue in queues:
            self._look_for(((queue, name) for name in self._names_in(queue)), Phase.READY, now_ms, unseen)
        for path, phase in ((folders.delay, Phase.CLAIMED), (folders.new, Phase.DELAYED)):
            pairs = filter(None, map(split, folders.disk.files(path)))
            self._look_for(pairs, phase, now_ms, unseen)
        for message in unseen.values():
            self.look_at_message(message.queue.name.name, self._index.name_of(message), now_ms)

    def _names_in(self, queue: str) -> list[str]:
        names = self._folders.disk.files(self._folders.queue(queue))
        return [name for name in names if is_message_name(queue, name)]

    def _look_for(
        self, pairs: Iterable[Pair], phase: Phase, now_ms: int, unseen: dict[bytes, Message]
    ) -> None:
        for queue, name in pairs:
            message = self._index.find(queue, name)
            if message is not None:
                unseen.pop(message.id, None)
            if message is None or message.phase is not phase:
                self._set(queue, name, message, phase, now_ms, is_whole=False)

    def look_at_queue(self, queue: str, now_ms: int) -> None:
        """See whether a queue is there, and if it is new to us what is in it."""
        if self._open_or_close(queue, now_ms):
            self.look_into_queue(queue, now_ms)
            for path, phase in (
                (self._folders.delay, Phase.CLAIMED),
                (self._folders.new, Phase.DELAYED),
            ):
                pairs = [pair for pair in map(split, self._folders.disk.files(path)) if pair is not None]
                self._look_for((pair for pair in pairs if pair[0] == queue), phase, now_ms, {})

    def look_into_queue(self, queue: str, now_ms: int) -> None:
        """Find what is ready in a queue."""
        self._look_for(((queue, name) for name in self._names_in(queue)), Phase.READY, now_ms, {})

    def look_at_message(self, queue: str, name: str, now_ms: int) -> None:
        """Find out where a message is."""
        phase = self._folders.where(queue, name)
        message = self._index.find(queue, name)
        if phase is not (None if message is None else message.phase):
            self._set(queue, name, message, phase, now_ms, is_whole=False)

    def _open_or_close(self, queue: str, now_ms: int) -> bool:
        """Whether a queue is there that was not, or not this one, before."""
        shelf = self._index.by_name.get(queue)
        if not self._folders.disk.is_directory(self._folders.queue(queue)):
            if shelf is not None:
                self.close(shelf)
            return False
        before = self._watches.get(queue)
        watch = self._watch(self._folders.queue(queue), Place(Phase.READY, queue), kernel.FILES_COME_AND_GO)
        if watch is not None:
            self._watches[queue] = watch
        if shelf is None:
            self._index.open_shelf(queue, now_ms)
        return shelf is None or watch != before

    def close(self, shelf: Shelf) -> None:
        """A queue is gone."""
        watch = self._watches.pop(shelf.name, None)
        if watch is not None:
            self._places.pop(watch, None)
            self._inotify.unwatch(watch)
        self._index.close_shelf(shelf)

    def _watch(self, path: str, place: Place, mask: int) -> int | None:
        watch = self._inotify.watch(path, mask)
        if watch is not None:
            self._places[watch] = place
        elif self.is_told_everything:
            self.is_told_everything = False
            log.warning(
                "%s cannot be watched; folders are listed again and again instead. "
                "See fs.inotify.max_user_watches and fs.inotify.max_user_instances.",
                path,
            )
        return watch

    # The index

    def _set(
        self,
        queue: str,
        name: str,
        message: Message | None,
        phase: Phase | None,
        now_ms: int,
        *,
        is_whole: bool,
    ) -> None:
        """Put a message into the index, or to another place in it, or out of it."""
        shelf = self._index.by_name.get(queue)
        if shelf is None:
            return  # it is looked for when its queue comes
        times: Times | None = None
        is_there = phase is not None
        if phase is not None and _asks_for_times(queue, name, phase):
            times = self._folders.disk.times(self._folders.path(phase, queue, name))
            is_there = times is not None
        if phase is None or not is_there:
            if message is not None:
                self._index.forget(message)
            return
        at_ms = self._at_ms(phase, times, now_ms, is_whole=is_whole)
        if message is None:
            self._index.add_found(shelf, name, phase, at_ms, times)
        else:
            self._index.displace(message)
            message.attempt += phase is Phase.CLAIMED
            message.phase, message.at_ms = phase, at_ms
            self._index.place(message)
        if phase is Phase.READY:
            self._readied[queue] = None

    def _at_ms(self, phase: Phase, times: Times | None, now_ms: int, *, is_whole: bool) -> int:
        if times is None or phase is Phase.READY or (phase is Phase.DELAYED and is_whole):
            return now_ms
        if phase is Phase.CLAIMED:
            until_ms = self.claimed_until_ms(times, now_ms)
            return now_ms + self._delay_ms if until_ms is None else until_ms
        return min(times.written_at_ns // 1_000_000, now_ms) + SETTLED_AFTER_MS

    def claimed_until_ms(self, times: Times, now_ms: int) -> int | None:
        """When a message goes back; None: the clock was set back since it was fetched, so nobody knows."""
        fetched_at_ms = times.moved_at_ns // 1_000_000
        return None if fetched_at_ms > now_ms + SET_BACK_MS else fetched_at_ms + self._delay_ms


def _note(files: dict[Pair, Phase | None], place: Place, change: Change) -> None:
    pair = (place.queue, change.name) if place.queue else split(change.name)
    if pair is None or not is_message_name(*pair):
        return
    if change.mask & (kernel.MOVED_TO | kernel.MODIFIED_AND_CLOSED):
        files[pair] = place.phase
    elif files.get(pair, place.phase) is place.phase:  # or else it has arrived elsewhere since
        files[pair] = None


def _asks_for_times(queue: str, name: str, phase: Phase) -> bool:
    """Whether a file has to be looked at. A name of ours in a queue says all there is to know."""
    return phase is not Phase.READY or ticks_of(id_of(queue, name)) is None
