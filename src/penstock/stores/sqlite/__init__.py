"""The embedded store: everything in one SQLite file.

store.py     what the rules and the engine see
shelf.py     one queue in memory: its windows, claims and tallies
window.py    the first few of a long sorted run, the rest of which is in the file
ledger.py    what has changed since the last write, written in one go
file.py      the file itself: who owns it, its transactions, syncs and checkpoints
reader.py    reading the journal beside all this
schema.sql   the tables, and why they are as they are
"""

from penstock.stores.sqlite.store import SqliteStore
from penstock.stores.sqlite.trimming import JournalLimits

__all__ = ["JournalLimits", "SqliteStore"]
