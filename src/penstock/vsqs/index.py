"""The files of a queue in the order in which they are asked for. In memory, and pure.

It answers as a fresh listing would, in a time that does not grow with their number. The two lines are heaps
in which entries of files that have gone stay until they are met or outnumber the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from penstock.vsqs.names import NEW, READY, FileName, moment_us, parse

# A message published after this is the last one for as long as it is there, but nobody follows its example:
# in 2286 a moment in milliseconds gets its fourteenth digit.
_FOLLOWED_US_MAX = 9_999_999_999_999_999
_GONE_ENTRIES_MAX = 1000


class Index:
    """What is in a directory."""

    def __init__(self) -> None:
        self._extensions: dict[str, tuple[str, ...]] = {}  # by id; more than one only if others err
        self._ready: list[tuple[int, str]] = []  # (published, id)
        self._claims: list[tuple[int, str, str]] = []  # (expires, id, extension)
        self.ready_count = 0
        self.claim_count = 0
        self.drafts: set[str] = set()  # ids of messages that are being written
        self._passed_over: dict[str, int] = {}  # ids that cannot be received, until when
        self.highest_us = 0  # of all ids that were ever seen

    @property
    def size(self) -> int:
        """Messages that are ready or being consumed."""
        return self.ready_count + self.claim_count

    def replace(self, names: Iterable[str], now_us: int) -> None:
        """Start over with a listing."""
        self._extensions.clear()
        self.drafts.clear()
        self.ready_count = self.claim_count = 0
        self._passed_over = {id_: until for id_, until in self._passed_over.items() if until > now_us}
        for name in names:
            self._add(name)
        self._rebuild_ready()
        self._rebuild_claims()

    def appear(self, name: str) -> None:
        """A file is there that may not have been there before."""
        file = self._add(name)
        if file is None:
            return
        if file.extension == READY:
            heappush(self._ready, (moment_us(file.id), file.id))
        elif file.extension != NEW:
            heappush(self._claims, (moment_us(file.extension), file.id, file.extension))

    def vanish(self, name: str) -> None:
        """A file is not there any more."""
        file = parse(name)
        if file is None or file.extension not in self._extensions.get(file.id, ()):
            return
        left = tuple(other for other in self._extensions[file.id] if other != file.extension)
        if left:
            self._extensions[file.id] = left
        else:
            del self._extensions[file.id]
        self._count(file, -1)
        if len(self._ready) > 2 * self.ready_count + _GONE_ENTRIES_MAX:
            self._rebuild_ready()
        if len(self._claims) > 2 * self.claim_count + _GONE_ENTRIES_MAX:
            self._rebuild_claims()

    def extensions(self, message_id: str) -> tuple[str, ...]:
        """In which states files of an id are there."""
        return self._extensions.get(message_id, ())

    def oldest_ready(self) -> str | None:
        """The id of the message that is next in line."""
        while self._ready:
            if self._is_ready(self._ready[0][1]):
                return self._ready[0][1]
            heappop(self._ready)
        return None

    def first_ready(self, limit: int) -> list[str]:
        """The ids of the messages that are first in line."""
        found: list[tuple[int, str]] = []
        while self._ready and len(found) < limit:
            entry = heappop(self._ready)
            if self._is_ready(entry[1]) and entry not in found[-1:]:
                found.append(entry)
        for entry in found:
            heappush(self._ready, entry)
        return [message_id for _, message_id in found]

    def _is_ready(self, message_id: str) -> bool:
        return READY in self.extensions(message_id) and message_id not in self._passed_over

    def pass_over(self, message_id: str, until_us: int) -> None:
        """Let others go first, up to the first listing after a moment."""
        self._passed_over[message_id] = until_us

    def expired(self, now_us: int) -> list[FileName]:
        """The claims that are over, soonest first, save where they would hit a message of the same id."""
        over = self._first_claims(self.claim_count, now_us)
        return [file for file in over if READY not in self.extensions(file.id)]

    def first_claims(self, limit: int) -> list[FileName]:
        """The claims that end first."""
        return self._first_claims(limit, None)

    def _first_claims(self, limit: int, until_us: int | None) -> list[FileName]:
        found: list[tuple[int, str, str]] = []
        while self._claims and len(found) < limit and (until_us is None or self._claims[0][0] <= until_us):
            entry = heappop(self._claims)
            if entry[2] in self.extensions(entry[1]) and entry not in found[-1:]:
                found.append(entry)
        for entry in found:
            heappush(self._claims, entry)
        return [FileName(message_id, extension) for _, message_id, extension in found]

    def next_expiry_us(self) -> int | None:
        """When the next claim is over."""
        while self._claims:
            expires_us, message_id, extension = self._claims[0]
            if extension in self.extensions(message_id):
                return expires_us
            heappop(self._claims)
        return None

    def files(self) -> Iterator[FileName]:
        """Everything, oldest first."""
        for message_id in sorted(self._extensions, key=lambda id_: (moment_us(id_), id_)):
            for extension in self._extensions[message_id]:
                yield FileName(message_id, extension)

    def _add(self, name: str) -> FileName | None:
        """Take up a file; None if it is not ours or is known. A listing may show a moving file twice."""
        file = parse(name)
        if file is None:
            return None
        known = self._extensions.get(file.id, ())
        if file.extension in known:
            return None
        self._extensions[file.id] = (*known, file.extension)
        self._count(file, 1)
        published_us = moment_us(file.id)
        if self.highest_us < published_us <= _FOLLOWED_US_MAX:
            self.highest_us = published_us
        return file

    def _count(self, file: FileName, difference: int) -> None:
        if file.extension == READY:
            self.ready_count += difference
        elif file.extension != NEW:
            self.claim_count += difference
        elif difference > 0:
            self.drafts.add(file.id)
        else:
            self.drafts.remove(file.id)

    def _rebuild_ready(self) -> None:
        self._ready = [
            (moment_us(id_), id_)
            for id_, extensions in self._extensions.items()
            if READY in extensions and id_ not in self._passed_over
        ]
        heapify(self._ready)

    def _rebuild_claims(self) -> None:
        self._claims = [
            (moment_us(extension), id_, extension)
            for id_, extensions in self._extensions.items()
            for extension in extensions
            if extension not in (READY, NEW)
        ]
        heapify(self._claims)
