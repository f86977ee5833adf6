"""The first few of a long sorted run, the rest of which is in the file.

A window may be whole (all of the run is in it) or not (the file has more behind its last entry). What
is added behind the end of a window that is not whole is left to the file, so memory does not grow with
the run; a window that has run out is filled again from the file.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from penstock.core.model import Message, Phase

ENTRIES_FILLED = 256  # read from the file in one go
ENTRIES_MAX = 1024

Entry = tuple[int, int, Message]  # (at_ms, sequence, message); no two share the first two


class Window:
    """The first entries of one run."""

    __slots__ = ("entries", "is_whole")

    def __init__(self, *, is_whole: bool) -> None:
        self.entries: list[Entry] = []
        self.is_whole = is_whole

    def add(self, at_ms: int, message: Message) -> Message | None:
        """Take in a message, unless it belongs behind the end of a window that is not whole.

        Answers with the message that had to leave for it, if one had to.
        """
        entry = (at_ms, message.sequence, message)
        entries = self.entries
        if not entries or entries[-1] < entry:
            self.is_whole = self.is_whole and len(entries) < ENTRIES_MAX
            if self.is_whole:
                entries.append(entry)
            return None
        insort(entries, entry)
        if len(entries) <= ENTRIES_MAX:
            return None
        self.is_whole = False
        return entries.pop()[2]

    def find(self, at_ms: int, sequence: int) -> Message | None:
        """The message at that place, if it is in here."""
        entries = self.entries
        place = bisect_left(entries, (at_ms, sequence))
        return entries[place][2] if place < len(entries) and entries[place][1] == sequence else None

    def discard(self, at_ms: int, sequence: int) -> Message | None:
        """Take the message at that place out, if it is in here."""
        entries = self.entries
        if not entries:
            return None
        place = 0 if entries[0][1] == sequence else bisect_left(entries, (at_ms, sequence))
        if place < len(entries) and entries[place][1] == sequence:
            return entries.pop(place)[2]
        return None

    def fill(self, entries: list[Entry], *, is_whole: bool) -> None:
        """Begin anew with what the file has."""
        self.entries = entries
        self.is_whole = is_whole

    def is_short_of(self, limit: int) -> bool:
        """Whether the file has to be asked for the first `limit`."""
        return not self.is_whole and len(self.entries) < limit


class Deadlines:
    """The claims of a queue by the end of each. All are in memory, for they are in flight.

    Ended and renewed claims are not taken out but skipped: most end long before their deadline.
    """

    __slots__ = ("_entries", "_living")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._living = 0

    def add(self, message: Message) -> None:
        """Note the deadline of a claim."""
        at_ms = message.at_ms
        entry = (at_ms, message.sequence, message)
        entries = self._entries
        self._living += 1
        if not entries or entries[-1][:2] < entry[:2]:
            entries.append(entry)
        else:
            place = bisect_left(entries, entry[:2])
            if place < len(entries) and entries[place][:2] == entry[:2]:
                entries[place] = entry  # the same deadline once more
            else:
                entries.insert(place, entry)
        if len(entries) > 2 * self._living + ENTRIES_MAX:
            self._entries = [entry for entry in entries if _is_living(entry)]

    def discard(self) -> None:
        """One of the claims is over."""
        self._living -= 1

    def first(self, limit: int) -> list[Message]:
        """The claims that end first."""
        self._skip_ended()
        found: list[Message] = []
        for entry in self._entries:
            if len(found) == limit:
                break
            if _is_living(entry):
                found.append(entry[2])
        return found

    def starts_at_ms(self) -> int | None:
        """When the first of them ends."""
        self._skip_ended()
        return self._entries[0][0] if self._entries else None

    def _skip_ended(self) -> None:
        entries = self._entries
        ended = 0
        while ended < len(entries) and not _is_living(entries[ended]):
            ended += 1
        del entries[:ended]


def _is_living(entry: Entry) -> bool:
    return entry[2].at_ms == entry[0] and entry[2].phase is Phase.CLAIMED
