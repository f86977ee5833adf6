"""Small habits of the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT, SOURCE, lines_matching, parsed, python_files, relative, text_files

LINES_MAX = 400
# A ratchet: a file that is longer for now stands here with its length, and may only become shorter.
LONGER_FOR_NOW: dict[str, int] = {}

# Written in two halves so that this file does not match itself.
UNDONE = r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b"
MACHINE = r"(?<![\w.~-])/(ro" + r"ot|ho" + r"me|Us" + r"ers|wo" + r"rk|opt/wh" + r"eels)/"
REGISTRY = r"py" + r"pi\.org|python" + r"hosted\.org"

each_source_file = pytest.mark.parametrize("path", python_files(SOURCE), ids=relative)


def occurrences(pattern: str) -> list[str]:
    return [line for path in text_files() for line in lines_matching(path, pattern)]


@each_source_file
def test_a_source_file_fits_in_a_head(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGER_FOR_NOW.get(relative(path), LINES_MAX)


def test_the_ratchet_on_long_files_is_as_tight_as_it_can_be() -> None:
    lengths = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in LONGER_FOR_NOW}
    assert lengths == LONGER_FOR_NOW
    assert all(length > LINES_MAX for length in lengths.values())


@each_source_file
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path)), f"{relative(path)} has no docstring"


@each_source_file
def test_only_the_command_line_prints_to_the_terminal(path: Path) -> None:
    if path == SOURCE / "penstock" / "cli.py":
        return
    printed = [
        f"{relative(path)}:{node.lineno}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printed == []


def test_nothing_is_left_for_later_in_a_note() -> None:
    assert occurrences(UNDONE) == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert occurrences(MACHINE) == []


def test_no_file_names_a_package_registry() -> None:
    assert occurrences(REGISTRY) == []
