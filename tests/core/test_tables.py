"""The tables of rules are complete: every command, outcome, event and reason stands in one of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import get_args

from penstock.core import events
from penstock.core.commands import Command
from penstock.core.outcomes import Crashed, Outcome, Unavailable
from tests.core.reasons import reasons_in_the_comments
from tests.core.table import TOLD, Due

# These two tell of faults, which the rules know nothing of; the engine's tests tell of them.
FAULTS = {Unavailable, Crashed}

for path in sorted(Path(__file__).parent.glob("test_rules_*.py")):
    importlib.import_module(f"tests.core.{path.stem}")


def test_every_command_is_decided_in_a_table() -> None:
    told = {type(row.when[1]) for row in TOLD} - {Due}
    assert told == set(get_args(Command))


def test_every_outcome_comes_of_something_in_a_table() -> None:
    told = {type(row.outcome) for row in TOLD} - {type(None)}
    assert told == set(get_args(Outcome)) - FAULTS


def test_every_event_happens_in_a_table() -> None:
    told = {type(event) for row in TOLD for event in row.events}
    assert told == set(get_args(events.Event))


def test_every_reason_is_given_in_a_table() -> None:
    told = {(type(event), getattr(event, "reason", None)) for row in TOLD for event in row.events}
    told = {(kind, reason) for kind, reason in told if reason}
    assert len(reasons_in_the_comments()) == 15
    assert told == reasons_in_the_comments()


def test_no_two_rows_of_a_test_say_the_same() -> None:
    assert len({(row.says, str(row.when)) for row in TOLD}) == len(TOLD)
