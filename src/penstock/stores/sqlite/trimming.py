"""Forgetting old events, a slice at a time, so that the file stays bounded.

The body of a message is in the row of its publish, so that row stays for as long as the message lives,
but it is no longer part of the journal: readers are told of a gap.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.stores.sqlite.file import DataFile

EVENT_BYTES = 100  # what an event takes in the file besides its body, roughly
SLICE = 500

_OLDEST = "SELECT sequence, at_ms, size FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ?"
_FORGET = """
    DELETE FROM journal WHERE sequence > ? AND sequence <= ? AND NOT (
        kind = 1 AND EXISTS (
            SELECT 1 FROM messages m
            WHERE m.queue = coalesce(journal.home, journal.queue) AND m.sequence = journal.sequence))
"""
# Names of deleted queues are kept for as long as an event speaks of them.
_FORGET_QUEUES = """
    DELETE FROM queues WHERE deleted_sequence <= ? AND ready + delayed + claimed + dead + copies = 0
"""


class JournalLimits(msgspec.Struct, frozen=True):
    """How much of the past is kept. Bodies of living messages are, in any case."""

    age_ms_max: int = 7 * 24 * 3600 * 1000
    bytes_max: int = 4 * 1024 * 1024 * 1024


class Trimmer:
    """Knows how far the journal was trimmed, and how large it is since then."""

    def __init__(self, limits: JournalLimits, trimmed_to: int, journal_bytes: int) -> None:
        self._limits = limits
        self.trimmed_to = trimmed_to
        self.journal_bytes = journal_bytes

    def note(self, event_count: int, body_bytes: int) -> None:
        """Events were added."""
        self.journal_bytes += EVENT_BYTES * event_count + body_bytes

    def trim(self, file: DataFile, now_ms: int) -> bool:
        """Forget the oldest events if they are too old or too many; True if there may be more of them."""
        oldest_kept_ms = now_ms - self._limits.age_ms_max
        up_to = self.trimmed_to
        rows: list[Any] = file.connection.execute(_OLDEST, (self.trimmed_to, SLICE)).fetchall()
        for sequence, at_ms, size in rows:
            if at_ms >= oldest_kept_ms and self.journal_bytes <= self._limits.bytes_max:
                break
            up_to = sequence
            self.journal_bytes -= EVENT_BYTES + (size or 0)
        if up_to == self.trimmed_to:
            return False
        connection = file.begin()
        connection.execute(_FORGET, (self.trimmed_to, up_to))
        connection.execute(_FORGET_QUEUES, (up_to,))
        self.trimmed_to = up_to
        return len(rows) == SLICE
