"""The files of this project, as the tidy tests read them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
MADE_HERE = {".git", ".venv", ".venv-lock", "dist", "penstock-data", "__pycache__"}


def _files_below(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        made_here = path.name in MADE_HERE or path.name.endswith("_cache") or path.name == ".hypothesis"
        if path.is_dir() and not made_here:
            yield from _files_below(path)
        elif path.is_file():
            yield path


def text_files() -> list[Path]:
    """Everything a person wrote here; what is not UTF-8 text is an image."""
    return [path for path in _files_below(ROOT) if _is_text(path)]


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def python_files(directory: Path) -> list[Path]:
    return [path for path in _files_below(directory) if path.suffix == ".py"]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_matching(path: Path, pattern: str) -> list[str]:
    """Where a pattern occurs, as `file:line: text`."""
    found = re.compile(pattern)
    numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return [f"{relative(path)}:{number}: {line.strip()}" for number, line in numbered if found.search(line)]
