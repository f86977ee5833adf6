"""Small habits of the tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.tidy.tree import TESTS, parsed, python_files, relative

WORDS_MIN = 3
LEAVES_OUT = {"skip", "skipif", "xfail", "importorskip"}

each_test_file = pytest.mark.parametrize("path", python_files(TESTS), ids=relative)


@each_test_file
def test_a_test_is_named_by_a_sentence(path: Path) -> None:
    names = [
        node.name
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    ]
    too_short = [name for name in names if len(name.removeprefix("test_").split("_")) < WORDS_MIN]
    assert too_short == []


@each_test_file
def test_no_test_can_be_left_out(path: Path) -> None:
    left_out = [
        f"{relative(path)}:{node.lineno}: {node.attr}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in LEAVES_OUT and _is_pytest(node.value)
    ]
    assert left_out == []


def _is_pytest(node: ast.expr) -> bool:
    """`pytest`, `pytest.mark`, `mark` or `unittest`, but not somebody's own `skip` method."""
    return ast.unparse(node) in {"pytest", "pytest.mark", "mark", "unittest"}
