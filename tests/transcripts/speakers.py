"""The dialects that a folder of transcripts speaks. A new dialect is one line here and one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.dialects.emodb.dialect import Emodb
from penstock.dialects.http import Dialect
from penstock.dialects.lmstfy.admin import LmstfyAdmin
from penstock.dialects.lmstfy.dialect import Lmstfy
from penstock.dialects.mqcore import MqCore
from penstock.dialects.mqs.dialect import Mqs
from penstock.dialects.native import Native

Setting = str | int | float | bool


def _all_on_one_port(**settings: Setting) -> Sequence[Any]:
    """MQ-Core beside everybody else: what it may name there depends on them."""
    others: list[Any] = [Mqs(), Emodb(), Lmstfy(), Native()]
    reserved: frozenset[str] = frozenset().union(*(other.roots for other in others))
    mqcore: Callable[..., Any] = MqCore
    return [*others, mqcore(reserved=reserved, **settings)]


# Settings are written in the transcripts, so their types are known only there.
_BY_FOLDER: dict[str, Callable[..., Sequence[Any]]] = {
    # Other dialects may publish what is not JSON.
    "emodb": lambda **settings: [Emodb(**settings), Mqs()],
    "lmstfy": lambda **settings: [Lmstfy(**settings), Mqs()],
    "lmstfy-admin": lambda: [LmstfyAdmin(is_local=True)],
    "mqcore": _all_on_one_port,
    "mqs": lambda **settings: [Mqs(**settings)],
    "native": lambda **settings: [Native(**settings), Mqs()],
}


def speakers(folder: str, settings: dict[str, Setting]) -> Sequence[Dialect]:
    """The dialects, with the settings of one transcript."""
    return _BY_FOLDER[folder](**settings)
