"""The store's own check: everything in the file agrees with everything else, and with memory."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from penstock.core.ids import MessageId
from penstock.core.model import Message, Phase
from penstock.stores.sqlite.shelf import Shelf

_TALLIES = """
    SELECT m.queue,
        sum(c.queue IS NULL AND m.phase = 0), sum(c.queue IS NULL AND m.phase = 1), sum(c.queue IS NOT NULL),
        sum(c.queue IS NULL AND m.phase = 3), sum(c.queue IS NULL AND m.phase = 4)
    FROM messages m LEFT JOIN claims c USING (queue, sequence) GROUP BY m.queue
"""
_PLACES = """
    SELECT m.queue, m.phase, m.at_ms, m.sequence FROM messages m LEFT JOIN claims c USING (queue, sequence)
    WHERE c.queue IS NULL AND m.at_ms IS NOT NULL
    UNION ALL
    SELECT m.queue, 9, m.expires_at_ms, m.sequence FROM messages m LEFT JOIN claims c USING (queue, sequence)
    WHERE c.queue IS NULL AND m.expires_at_ms IS NOT NULL AND m.phase <> 3
"""
_FAULTS = {
    "a message without its body": """
        SELECT m.sequence FROM messages m LEFT JOIN journal j
        ON j.sequence = m.sequence AND j.kind = 1 AND coalesce(j.home, j.queue) = m.queue
        WHERE j.body IS NULL
    """,
    "a claim without its message": """
        SELECT c.sequence FROM claims c LEFT JOIN messages m USING (queue, sequence) WHERE m.queue IS NULL
    """,
    "a key whose message has gone": """
        SELECT t.queue FROM twins t LEFT JOIN messages m ON m.queue = t.queue AND m.id = t.id
        WHERE m.queue IS NULL
    """,
    "a place that no message has": f"""
        SELECT queue, kind, at_ms, sequence FROM places EXCEPT SELECT * FROM ({_PLACES})
    """,
    "a message without its place": f"{_PLACES} EXCEPT SELECT queue, kind, at_ms, sequence FROM places",
    "a forgotten event that is not a body": """
        SELECT sequence FROM journal, state WHERE sequence <= trimmed_to AND kind <> 1
    """,
}  # fmt: skip


def check_file(
    connection: apsw.Connection, shelves: Mapping[int, Shelf], claimed: Mapping[MessageId, Message]
) -> None:
    """Assert that nothing contradicts anything."""
    assert connection.pragma("quick_check") == "ok", "the file itself is damaged"
    for fault, query in _FAULTS.items():
        row = connection.execute(query).fetchone()
        assert row is None, f"{fault}: {row}"
    tallies = {number: tally for number, *tally in connection.execute(_TALLIES)}
    for number, shelf in shelves.items():
        assert shelf.tally == tallies.pop(number, [0] * len(Phase)), f"queue {number} is miscounted"
        _check_windows(shelf)
    assert not tallies, f"messages of queues that are not kept: {tallies}"
    claims = connection.execute("SELECT count(*) FROM claims").fetchone()
    assert claims == (len(claimed),), "claims in the file and in memory differ"


def _check_windows(shelf: Shelf) -> None:
    for run, window in shelf.windows.items():
        places = [entry[:2] for entry in window.entries]
        assert places == sorted(set(places)), f"run {run} of queue {shelf.queue.number} is out of order"
