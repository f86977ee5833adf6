"""Looks through all folders now and then, on a thread of its own, for what nobody told us of.

It only says what looks wrong: the index changes while it looks, so each of its suspicions is looked at
again by whoever owns the index.
"""

from __future__ import annotations

import logging
import threading
from collections import deque

from penstock.core.ids import MessageId
from penstock.core.model import Phase
from penstock.stores.spool.folders import Folders
from penstock.stores.spool.following import Pair
from penstock.stores.spool.index import Index
from penstock.stores.spool.names import id_of, is_message_name, is_queue_name, split

log = logging.getLogger(__name__)

EVERY_S = 30.0  # where the kernel tells of changes
EVERY_S_UNTOLD = 1.0
SUSPECTS_MAX = 10_000  # of one look; the next finds the rest


class Survey:
    """What differs between the folders and the index."""

    def __init__(self, folders: Folders, index: Index) -> None:
        self._folders = folders
        self._index = index
        self.queues: deque[str] = deque()
        self.messages: deque[Pair] = deque()
        self.every_s = EVERY_S
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="spool-survey", daemon=True)

    def start(self, every_s: float) -> None:
        """Look every so often from now on."""
        self.every_s = every_s
        self._thread.start()

    def stop(self) -> None:
        """End, after the look under way."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while not self._is_stopping.wait(self.every_s):
            try:
                self.look()
            except OSError as exc:
                log.warning("cannot look through %s: %s", self._folders.root, exc)

    def look(self) -> None:
        """Compare everything once."""
        disk, folders = self._folders.disk, self._folders
        on_disk = set(filter(is_queue_name, disk.directories(folders.queues)))
        self.queues.extend(on_disk ^ set(self._index.by_name))
        # Copied before the folders are read: what comes meanwhile is in neither or in the folders only.
        unseen: dict[MessageId, Pair | None] = dict.fromkeys(list(self._index.messages))
        for queue in on_disk:
            names = [name for name in disk.files(folders.queue(queue)) if is_message_name(queue, name)]
            self._suspect([(queue, name) for name in names], Phase.READY, unseen)
        for path, phase in ((folders.delay, Phase.CLAIMED), (folders.new, Phase.DELAYED)):
            pairs = [pair for pair in map(split, disk.files(path)) if pair is not None]
            self._suspect([pair for pair in pairs if pair[0] in on_disk], phase, unseen)
        for message_id in unseen:
            message = self._index.messages.get(message_id)
            if message is not None:
                self._note((message.queue.name.name, self._index.name_of(message)))

    def _suspect(self, pairs: list[Pair], phase: Phase, unseen: dict[MessageId, Pair | None]) -> None:
        for pair in pairs:
            message = self._index.messages.get(id_of(*pair))
            if message is None or message.phase is not phase or message.queue.name.name != pair[0]:
                self._note(pair)
            if message is not None:
                unseen.pop(message.id, None)

    def _note(self, pair: Pair) -> None:
        if len(self.messages) < SUSPECTS_MAX:
            self.messages.append(pair)
