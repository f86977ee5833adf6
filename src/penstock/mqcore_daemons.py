"""MQ-Core's daemons, each as a process of its own on one root.

`mq` is the server without the other two roles. The mover is an engine without a server: what it has to do is
what an engine does of itself. The reaper only unlinks.
"""

from __future__ import annotations

import logging
import select
import signal
import threading
from types import FrameType

from penstock import wiring
from penstock.config import Config
from penstock.core.errors import StoreFailed
from penstock.engine.engine import Engine
from penstock.stores.spool import Disk, Folders, reap

log = logging.getLogger(__name__)

MQ_ALONE = wiring.Daemons(moves=False, reaps=False)
MOVER_ALONE = wiring.Daemons(moves=True, reaps=False)
REAP_EVERY_S = 0.5


class Stop:
    """Set by the first signal that asks for an end."""

    def __init__(self) -> None:
        self._is_set = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - any will do
        self._is_set.set()

    def __bool__(self) -> bool:
        return self._is_set.is_set()

    def wait(self, seconds: float) -> None:
        self._is_set.wait(seconds)


def run_mq(config: Config, announce: wiring.Announce) -> int:
    """Serve, and leave moving and reaping to others."""
    wiring.spool_root(config)
    return wiring.run(config, announce, MQ_ALONE)


def run_mover(config: Config) -> None:
    """Bring messages from `new` to their queues, and those back whose delay is over."""
    wiring.spool_root(config)
    stop = Stop()
    opened = wiring.open_store(config, MOVER_ALONE)
    try:
        engine = Engine(opened.store, ids=opened.ids)
        while not stop:
            engine.run()
            if not engine.is_healthy:
                raise StoreFailed(f"the mover cannot go on with {opened.place}", "The log says why.")
            _wait_for_change(opened.descriptor, engine.milliseconds_to_next() or 0)
    finally:
        opened.store.close()


def _wait_for_change(descriptor: int | None, milliseconds: float) -> None:
    """Wait until somebody changes something or so much time has passed. A signal ends the wait too."""
    poll = select.poll()
    if descriptor is not None:
        poll.register(descriptor, select.POLLIN)
    poll.poll(min(milliseconds, 1000))


def run_reaper(config: Config) -> None:
    """Unlink what was removed."""
    folders = Folders(str(wiring.spool_root(config)), Disk())
    folders.make()
    stop = Stop()
    while not stop:
        count = reap(folders)
        if count:
            log.info("unlinked %d files", count)
        stop.wait(REAP_EVERY_S)
    folders.disk.close()
