"""Small habits of the documents: links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT, relative, text_files

MAKEFILE = ROOT / "Makefile"

each_document = pytest.mark.parametrize(
    "path", [path for path in text_files() if path.suffix == ".md"], ids=relative
)


def without_code(text: str) -> str:
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", without_blocks)


def anchors_of(path: Path) -> set[str]:
    """The names a heading can be linked by, as code hosts make them."""
    headings = re.findall(r"^#+\s+(.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@each_document
def test_a_link_within_the_project_leads_somewhere(path: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        file_part, _, anchor = target.partition("#")
        linked = (path.parent / file_part).resolve() if file_part else path
        if not linked.exists() or (anchor and anchor not in anchors_of(linked)):
            broken.append(target)
    assert broken == []


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE.read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_make_help_explains_every_target() -> None:
    explained = set(
        re.findall(r"^([a-z][a-z-]*):.*## \S", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert make_targets() == explained


@each_document
def test_a_make_command_in_a_document_is_a_target(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    commands = re.findall(r"(?:^\s*\$? ?|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE)
    assert set(commands) <= make_targets()
