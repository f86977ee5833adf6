"""docs/journal.md explains every column, event, reason and detail, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from penstock.journal.formats import ARROW_STREAM, COLUMNS, GAP, JSON_LINES, Line
from penstock.journal.records import KINDS, Detail
from tests.core.reasons import reasons_in_the_comments

DOCUMENT = (Path(__file__).parents[2] / "docs" / "journal.md").read_text(encoding="utf-8")


def table_under(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line[1:-1].split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def first_words(cells: list[str]) -> list[str]:
    return [cell.strip("`") for cell in cells]


def test_every_column_is_explained_with_its_type() -> None:
    explained = {name.strip("`"): kind for name, kind, _ in table_under("Columns")}
    assert explained == COLUMNS
    assert list(explained) == list(COLUMNS)


def test_every_event_is_explained() -> None:
    of_messages = first_words([row[0] for row in table_under("Events of messages")])
    of_queues = first_words([row[0] for row in table_under("Events of queues")])
    assert sorted([*of_messages, *of_queues]) == sorted(KINDS.values())
    assert all(name.startswith(("queue", "key", "move ")) for name in of_queues)


def test_every_reason_is_explained_beside_its_event() -> None:
    explained = {
        (event.strip("`"), reason)
        for event, _, reasons, _ in table_under("Events of messages")
        for reason in re.findall(r"`([^`]+)`", reasons)
    }
    given = {
        (kind.__name__.removeprefix("Message").lower(), reason) for kind, reason in reasons_in_the_comments()
    }
    assert explained == given


def test_every_detail_is_named() -> None:
    tables = [*table_under("Events of messages"), *table_under("Events of queues")]
    named = {word for row in tables for word in re.findall(r"`([a-z_]+)`", row[-1])}
    assert named == set(Detail.__struct_fields__)


def test_every_example_is_a_line_that_the_journal_could_write() -> None:
    examples = re.findall(r"^\{\"sequence\".+\}$", DOCUMENT, flags=re.MULTILINE)
    lines = [msgspec.json.decode(example, type=Line) for example in examples]
    assert [line.event for line in lines] == ["published", "claimed", GAP]
    assert [msgspec.json.encode(line).decode() for line in lines] == examples


def test_both_formats_are_named() -> None:
    assert f"`{JSON_LINES}`" in DOCUMENT
    assert f"`{ARROW_STREAM}`" in DOCUMENT
