"""The reasons that events give, as the source lists them."""

from __future__ import annotations

import re
from inspect import getsource
from typing import get_args

from penstock.core import events


def reasons_in_the_comments() -> set[tuple[type, str]]:
    """The reasons that `core.events` lists beside its fields, as `reason: str  # this · that`."""
    found = set()
    for kind in get_args(events.Event):
        listed = re.search(r"^ +reason: str(?: = \"\")?  # (.+)$", getsource(kind), flags=re.MULTILINE)
        if listed is not None:
            quoted = re.findall(r'"([^"]+)"', listed[1])
            found |= {(kind, reason) for reason in quoted or listed[1].split(" · ")}
    return found
