"""The page on reliability points at tests; they are where it says."""

from __future__ import annotations

import re

from tests.tidy.tree import ROOT

PAGE = ROOT / "docs" / "reliability.md"


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w./]+)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_variable_that_the_page_names_is_read_by_a_test() -> None:
    named = set(re.findall(r"PENSTOCK_CRASH_\w+", PAGE.read_text(encoding="utf-8")))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "crash").glob("*.py"))
    assert {name for name in named if f'"{name}"' not in sources} == set()
