"""MQ-Core's folders as a store, shareable with MQ-Core itself and with other servers on one file system.

store.py         what the rules and the engine see
transitions.py   what an event does to files: the one place from which they are moved
incoming.py      new messages before others may see them
folders.py       where files are, and what a rename can answer
names.py         what files are called, and the time in their ids
index.py         what is in the folders, in memory
shelf.py         one queue in memory; lines.py: who is next in it; agenda.py: when something is due
others.py        whoever else changes the folders
following.py     taking in what they did; inotify.py: what the kernel tells; survey.py: what it did not
reaper.py        unlinking what was removed
disk.py          every file operation there is
"""

from penstock.stores.spool.disk import Disk
from penstock.stores.spool.folders import Folders
from penstock.stores.spool.reaper import reap
from penstock.stores.spool.store import SpoolStore

__all__ = ["Disk", "Folders", "SpoolStore", "reap"]
