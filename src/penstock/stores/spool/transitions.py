"""Follows events by moving files.

    publish      incoming ──▶ new/Q:ID ──▶ queues/Q/ID        synced before the first arrow
    claim                                  queues/Q/ID ──▶ delay/Q:ID
    lapse, release                         queues/Q/ID ◀── delay/Q:ID
    end          new, queues or delay ──▶ remove/Q:ID

A claim's rename is the arbiter between servers: one of them finds the file, the others find it gone and take
another. A message that was published and claimed in the same batch goes from `incoming` straight to `delay`,
so that nobody else can have it in between.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import chain, repeat
from typing import assert_never

from penstock.core import events as ev
from penstock.core.errors import StoreFailed
from penstock.core.ids import MessageId, to_uuid
from penstock.core.model import Message, Phase
from penstock.stores.spool.folders import Folders, Moved
from penstock.stores.spool.following import Follower
from penstock.stores.spool.incoming import Incoming, refusal
from penstock.stores.spool.index import Index
from penstock.stores.spool.names import ms_of, split, ticks_of
from penstock.stores.spool.shelf import Shelf

log = logging.getLogger(__name__)

MOVER_BUSY_MS = 20  # until one looks again whether another mover is done
PLACES_TRIED = (Phase.DELAYED, Phase.READY, Phase.CLAIMED)  # in the order that the document gives
ROUNDS = 4  # through them, for a message that is moved while it is looked for


class Transitions:
    """All that ever happens to the files, but for unlinking them."""

    def __init__(self, folders: Folders, index: Index, follower: Follower, *, moves: bool) -> None:
        self._folders = folders
        self._index = index
        self._follower = follower
        self._moves = moves
        self._lock = folders.disk.open_lock(folders.lock)
        self.incoming = Incoming(folders)
        self._touched: set[str] = set()  # directories to sync
        self.taken: set[MessageId] = set()  # others had them first
        self.has_removed = False

    def path(self, message: Message) -> str:
        """Where the file of a message is."""
        return self._folders.path(message.phase, message.queue.name.name, self._index.name_of(message))

    def lose(self, message: Message, reason: OSError) -> None:
        """Leave out a message that cannot be read, in most cases because somebody else has it."""
        if not isinstance(reason, FileNotFoundError):
            log.warning("%s is left alone: %s", self.path(message), reason.strerror)
        self.taken.add(message.id)
        self._index.forget(message)

    def apply(self, events: Sequence[ev.Event], now_ms: int) -> None:
        """Follow events, in their order."""
        if self.incoming.is_full:
            self._land()
        self._make_folders(events)
        self.incoming.write(events)
        for event in events:
            self._follow(event, now_ms)

    def _make_folders(self, events: Sequence[ev.Event]) -> None:
        """Make those of new queues, before anything else: there may be no room for them."""
        for event in events:
            if isinstance(event, ev.QueueCreated):
                try:
                    self._folders.disk.make_directory(self._folders.queue(event.name.name))
                except OSError as exc:
                    raise refusal(self._folders, exc) from exc

    def _follow(self, event: ev.Event, now_ms: int) -> None:
        match event:
            case ev.MessagePublished():
                self._publish(event, now_ms)
            case ev.MessageClaimed():
                self._claim(event)
            case ev.MessageReadied():
                self._ready(event, now_ms)
            case ev.MessageAcknowledged() | ev.MessagePurged() | ev.MessageExpired():
                self._end(event.id)
            case ev.QueueCreated():
                self._create_queue(event.name.name, now_ms)
            case ev.QueueDeleted():
                self._delete_queue(self._index.shelves[event.queue], now_ms)
            case ev.QueueChanged():
                pass  # to the settings that all queues have
            case (
                ev.MessageRenewed()
                | ev.MessageBuried()
                | ev.MessageRespawned()
                | ev.MessageMoved()
                | ev.KeyRemembered()
                | ev.MoveStarted()
                | ev.MoveEnded()
            ):
                raise AssertionError(f"the traits of a spool rule out {type(event).__name__}")
            case _:
                assert_never(event)

    # Messages

    def _publish(self, event: ev.MessagePublished, now_ms: int) -> None:
        ticks = ticks_of(event.id)
        assert ticks is not None, "ids for a spool are made by its `TimeIds`"
        shelf = self._index.shelves[event.queue]
        while shelf.has(ticks):
            ticks += 1
        phase = Phase.READY if self._moves else Phase.DELAYED
        size = len(event.content.body)
        message = Message(event.id, ticks, shelf.queue, phase, now_ms, ms_of(ticks), size)
        self._index.place(message)

    def _claim(self, event: ev.MessageClaimed) -> None:
        message = self._index.messages.get(event.id)
        if message is None or not self._go(message, Phase.CLAIMED):
            self.taken.add(event.id)
            return
        self._index.displace(message)
        message.phase, message.at_ms = Phase.CLAIMED, event.hidden_until_ms
        message.attempt = event.attempt
        message.tries_used += 1
        self._index.place(message)

    def _ready(self, event: ev.MessageReadied, now_ms: int) -> None:
        message = self._index.messages.get(event.id)
        if message is None:
            return
        is_asked_for = event.reason == "released"
        has_gone = self._go(message, Phase.READY) if is_asked_for else self._give_back(message, now_ms)
        if has_gone:
            self._index.displace(message)
            message.phase, message.at_ms = Phase.READY, event.available_at_ms
            message.tries_used -= event.gives_try_back
            self._index.place(message)

    def _go(self, message: Message, phase: Phase, *, is_synced: bool = True) -> bool:
        """Move a file to the folder of a phase; False if somebody else has moved it."""
        if message.id in self.incoming.bodies:
            return True  # it lands where it is by then
        queue, name = message.queue.name.name, self._index.name_of(message)
        moved = self._folders.move(self.path(message), self._folders.path(phase, queue, name))
        if moved is not Moved.DONE:
            self._index.forget(message)
            return False
        if is_synced:
            self._touched.add(self._folders.folder(message.phase, queue))
            self._touched.add(self._folders.folder(phase, queue))
        return True

    def _give_back(self, message: Message, now_ms: int) -> bool:
        """Move what is due: a lapsed claim, or a message from `new`. Undone by a power cut, it is done again.

        Another mover may have given a lapsed message back before us, and a consumer fetched it again. So its
        time is looked at once more, while no other mover of ours can come between the look and the move.
        """
        if message.phase is not Phase.CLAIMED:
            return self._go(message, Phase.READY, is_synced=False)
        disk = self._folders.disk
        if not disk.try_lock(self._lock):
            return self._wait_until(message, now_ms + MOVER_BUSY_MS)
        try:
            times = disk.times(self.path(message))
            if times is not None:
                until_ms = self._follower.claimed_until_ms(times, now_ms)
                if until_ms is not None and until_ms > now_ms:
                    return self._wait_until(message, until_ms)
            return self._go(message, Phase.READY, is_synced=False)
        finally:
            disk.unlock(self._lock)

    def _wait_until(self, message: Message, at_ms: int) -> bool:
        self._index.displace(message)
        message.at_ms = at_ms
        self._index.place(message)
        return False

    def _end(self, message_id: MessageId) -> None:
        message = self._index.messages.get(message_id)
        if message is None:
            return
        if message_id in self.incoming.bodies:
            self.incoming.drop(message_id)
        else:
            self._remove(message)
        self._index.forget(message)

    def _remove(self, message: Message) -> None:
        """Move a file to `remove`, first from where it should be and then from wherever it is."""
        queue, name = message.queue.name.name, self._index.name_of(message)
        for phase in chain([message.phase], chain.from_iterable(repeat(PLACES_TRIED, ROUNDS))):
            source = self._folders.path(phase, queue, name)
            if self._folders.move(source, self._folders.removed(queue, name)) is Moved.DONE:
                self._touched.add(self._folders.folder(phase, queue))
                self._touched.add(self._folders.remove)
                self.has_removed = True
                return

    # Queues

    def _create_queue(self, queue: str, now_ms: int) -> None:
        self._touched.add(self._folders.queues)
        self._follower.look_at_queue(queue, now_ms)

    def _delete_queue(self, shelf: Shelf, now_ms: int) -> None:
        """Take a queue away with everything in it, in whatever folder.

        What is in `new` and `delay` goes first: should we be killed meanwhile, the queue is still there, and
        nothing of it can come back into a later queue of the same name. Then its folder, in one step, and
        then what another server has moved meanwhile.
        """
        for message in list(shelf.away.members.values()):
            self._end(message.id)
        for message in [m for m in shelf.ready.members.values() if m.id in self.incoming.bodies]:
            self._end(message.id)
        queue = shelf.name
        gravestone = f"{self._folders.deleted}/{queue}.{to_uuid(self._index.ids(now_ms, 0))}"
        self._folders.move(self._folders.queue(queue), gravestone)
        self._touched |= {self._folders.queues, self._folders.deleted}
        self._follower.close(shelf)
        self._sweep_up(queue)
        self.has_removed = True

    def _sweep_up(self, queue: str) -> None:
        for folder in (self._folders.new, self._folders.delay):
            for file_name in self._folders.disk.files(folder):
                pair = split(file_name)
                if pair is not None and pair[0] == queue:
                    self._folders.move(f"{folder}/{file_name}", f"{self._folders.remove}/{file_name}")
                    self._touched |= {folder, self._folders.remove}

    # For good

    def commit(self) -> None:
        """Show what was published, and sync everything that somebody is told of."""
        try:
            self._land()
        except OSError as exc:
            raise StoreFailed(f"{self._folders.root} could not be written: {exc}") from exc

    def _land(self) -> None:
        landed: list[Message] = []
        for message_id in self.incoming.synced():
            message = self._index.messages[message_id]
            queue = message.queue.name.name
            phase = Phase.DELAYED if message.phase is Phase.READY else message.phase
            folder = self._folders.folder(phase, queue)
            target = self._folders.path(phase, queue, to_uuid(message_id))
            if self._folders.move(self.incoming.path(message_id), target) is not Moved.DONE:
                raise FileNotFoundError(f"{self.incoming.path(message_id)} was taken away")
            self._touched.add(folder)
            landed.append(message)
        self._sync_touched()
        for message in landed:
            if message.phase is Phase.READY:
                self._deliver(message)

    def _deliver(self, message: Message) -> None:
        """Move a message of ours from `new` to its queue. From here on it is anybody's."""
        queue, name = message.queue.name.name, to_uuid(message.id)
        source = self._folders.path(Phase.DELAYED, queue, name)
        if self._folders.move(source, self.path(message)) is Moved.NOWHERE:
            # Its queue was deleted by another server in this instant, and takes its messages along.
            self._folders.move(source, self._folders.removed(queue, name))
            self._index.forget(message)

    def _sync_touched(self) -> None:
        touched, self._touched = self._touched, set()
        if touched:
            self._folders.sync(touched)

    def close(self) -> None:
        """Let go of the files that are open."""
        self.incoming.abandon()
        self._folders.disk.close_file(self._lock)
