"""An event as the journal has it: what happened, when, under which number, asked for by whom."""

from __future__ import annotations

import msgspec

from penstock.core.events import Event
from penstock.core.model import QueueName


class Record(msgspec.Struct, frozen=True, gc=False):
    """One entry of the journal."""

    sequence: int
    at_ms: int
    dialect: str
    queue_name: QueueName
    event: Event
