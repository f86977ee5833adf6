"""The dialects that a folder of transcripts speaks. A new dialect is one line here and one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.dialects.emodb import Emodb
from penstock.dialects.http import Dialect
from penstock.dialects.mqs import Mqs

Setting = str | int | float | bool

# Settings are written in the transcripts, so their types are known only there.
_BY_FOLDER: dict[str, Callable[..., Sequence[Any]]] = {
    # Other dialects may publish what is not JSON.
    "emodb": lambda **settings: [Emodb(**settings), Mqs()],
    "mqs": lambda **settings: [Mqs(**settings)],
}


def speakers(folder: str, settings: dict[str, Setting]) -> Sequence[Dialect]:
    """The dialects, with the settings of one transcript."""
    return _BY_FOLDER[folder](**settings)
