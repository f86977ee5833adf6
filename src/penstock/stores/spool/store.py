"""What the rules and the engine see of the folders.

An event is followed by renaming its file at once: the rename says whether the message was still ours to take.
A publish becomes visible at the commit, synced before it is. What a commit answers for is synced by it, every
directory once, however many files came and went.

There is no journal: other programs write here too, and do not say what they did.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_never

from penstock.core.errors import StoreFailed
from penstock.core.events import Event
from penstock.core.ids import MessageId
from penstock.core.model import Content, Counts, Message, MoveState, Phase, Queue, QueueName, Settings
from penstock.core.record import Record
from penstock.core.traits import Traits
from penstock.stores.spool.disk import Disk
from penstock.stores.spool.folders import Folders
from penstock.stores.spool.following import Follower
from penstock.stores.spool.index import NAMESPACE, UNKNOWN_SIZE, Index
from penstock.stores.spool.inotify import Inotify
from penstock.stores.spool.names import QUEUE_NAMES
from penstock.stores.spool.network import is_on_a_network
from penstock.stores.spool.others import SpoolOthers
from penstock.stores.spool.reaper import Reaper
from penstock.stores.spool.shelf import Shelf
from penstock.stores.spool.survey import EVERY_S, EVERY_S_UNTOLD, Survey
from penstock.stores.spool.transitions import Transitions

DELAY_MS = 10_000


class SpoolStore:
    """MQ-Core's folders, shared with whoever else knows them."""

    def __init__(
        self,
        root: Path,
        delay_ms: int = DELAY_MS,
        *,
        moves: bool = True,
        reaps: bool = True,
        disk: Disk | None = None,
        now_ms: int | None = None,
    ) -> None:
        """`moves` and `reaps`: whether this process is the mover and the reaper too."""
        settings = Settings(visibility_ms=delay_ms)
        self.traits = Traits(
            namespace=NAMESPACE,
            queue_names=QUEUE_NAMES,
            settings=settings,
            keeps_only_bodies=True,
            has_one_claim_time=True,
        )
        self._moves = moves
        self._folders = Folders(str(root), disk or Disk())
        self._index = Index(settings)
        self.ids = self._index.ids
        self._inotify = Inotify()
        self._follower = Follower(self._folders, self._index, delay_ms, self._inotify)
        now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        try:
            self._follower.look_at_everything(now_ms)
        except OSError as exc:
            raise StoreFailed(f"cannot read the folders in {root}: {exc}") from exc
        self.ids.go_past(self._index.last_sequence, now_ms)
        self._transitions = Transitions(self._folders, self._index, self._follower, moves=moves)
        is_told = not is_on_a_network(str(root))
        self._survey = Survey(self._folders, self._index)
        self.others = SpoolOthers(
            self._index, self._follower, self._survey, self._transitions, is_told=is_told
        )
        self._survey.start(EVERY_S if is_told and self._follower.is_told_everything else EVERY_S_UNTOLD)
        self._reaper = Reaper(self._folders) if reaps else None

    @property
    def descriptor(self) -> int | None:
        """Readable when somebody may have changed something; None: nobody tells."""
        return self._inotify.descriptor

    # What the rules see

    @property
    def last_sequence(self) -> int:
        return self._index.last_sequence

    @property
    def last_queue_number(self) -> int:
        return self._index.last_queue_number

    def queue(self, name: QueueName) -> Queue | None:
        shelf = self._index.by_name.get(name.name) if name.namespace == NAMESPACE else None
        return None if shelf is None else shelf.queue

    def queue_by_number(self, number: int) -> Queue | None:
        shelf = self._index.shelves.get(number)
        return None if shelf is None else shelf.queue

    def queues(self, namespace: str) -> Sequence[Queue]:
        return [shelf.queue for shelf in self._index.shelves.values()] if namespace == NAMESPACE else []

    def counts(self, queue: Queue) -> Counts:
        return self._index.shelves[queue.number].counts()

    def oldest_published_at_ms(self, queue: Queue) -> int | None:
        oldest = self._index.shelves[queue.number].oldest()
        return None if oldest is None else oldest.published_at_ms

    def message(self, message_id: MessageId) -> Message | None:
        return self._index.messages.get(message_id)

    def content(self, message: Message) -> Content:
        body = self._transitions.incoming.bodies.get(message.id)
        if body is None:
            try:
                body = self._folders.disk.read(self._transitions.path(message))
            except OSError as exc:
                # Nobody is shown this: a decision that counted on it is without it, or made again.
                self._transitions.lose(message, exc)
                return Content(b"")
        return Content(body)

    def listed(self, queue: Queue, phase: Phase, limit: int) -> Sequence[Message]:
        found = self._first(self._index.shelves[queue.number], phase, limit)
        for message in found:
            if message.size == UNKNOWN_SIZE:
                times = self._folders.disk.times(self._transitions.path(message))
                message.size = 0 if times is None else times.size
        return found

    def _first(self, shelf: Shelf, phase: Phase, limit: int) -> Sequence[Message]:
        match phase:
            case Phase.READY:
                return shelf.ready.first(limit)
            case Phase.CLAIMED:
                return shelf.claimed.first(limit)
            case Phase.DELAYED:
                return shelf.arriving.first(limit)
            case Phase.DEAD | Phase.COPY:
                return ()
            case _:
                assert_never(phase)

    def by_sequence(self, queue: Queue, after: int, last: int, limit: int) -> Sequence[Message]:
        return self._index.shelves[queue.number].by_sequence(after, last, limit)

    def expired(self, queue: Queue, now_ms: int, limit: int) -> Sequence[Message]:  # noqa: ARG002 - nothing does
        return ()

    def twin(self, queue: Queue, match_key: bytes) -> MessageId | None:  # noqa: ARG002 - nothing is compared
        return None

    def remembered(self, queue: Queue, key: str) -> tuple[MessageId, ...] | None:  # noqa: ARG002 - nothing is
        return None

    def move(self, reference: str) -> MoveState | None:  # noqa: ARG002 - there are none
        return None

    # What the engine asks

    def apply(self, events: Sequence[Event], now_ms: int, dialect: str) -> None:  # noqa: ARG002 - no journal
        self._transitions.apply(events, now_ms)

    def commit(self) -> None:
        self._transitions.commit()
        if self._reaper is not None and self._transitions.has_removed:
            self._transitions.has_removed = False
            self._reaper.wake()

    def due_queues(self, now_ms: int) -> Sequence[Queue]:
        return [shelf.queue for shelf in self._index.agenda.due(now_ms)] if self._moves else ()

    def next_due_ms(self) -> int | None:
        return self._index.agenda.next_ms() if self._moves else None

    def moves_under_way(self) -> Sequence[MoveState]:
        return ()

    def deleted_queues(self) -> Sequence[Queue]:
        return ()  # a queue and its messages go at once

    def last_moment_ms(self) -> int:
        return 0

    def trim_journal(self, now_ms: int) -> bool:  # noqa: ARG002 - there is none
        return False

    def journal_reader(self) -> SpoolStore:
        return self

    def bounds(self) -> tuple[int, int]:
        """All that ever happened is forgotten."""
        return self._index.last_sequence, self._index.last_sequence

    def records(self, after: int, limit: int) -> Iterator[Sequence[Record]]:  # noqa: ARG002 - there are none
        return iter(())

    def check(self) -> None:
        """Everything in the folders is in the index, and the other way round."""
        self._survey.look()
        suspects = [*self._survey.queues, *self._survey.messages]
        assert not suspects, f"the index is wrong about {suspects[:3]}"

    def all_messages(self) -> Sequence[Message]:
        return sorted(self._index.messages.values(), key=lambda message: message.sequence)

    def close(self) -> None:
        self._survey.stop()
        if self._reaper is not None:
            self._reaper.stop()
        self._transitions.close()
        self._inotify.close()
        self._folders.disk.close()
