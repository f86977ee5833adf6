"""What the tests of VSQS share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vsqs.power import power_can_be_cut
from tests.vsqs.support import memory_directory, namespaces_can_be_made

# Only root may mount a disk to break it, and not every machine lets a user set limits for itself.
collect_ignore: list[str] = []
if not power_can_be_cut():
    collect_ignore.append("test_power_cut.py")
if not namespaces_can_be_made():
    collect_ignore.append("test_limits.py")


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for one queue, not there yet. In memory where that can be: here no test cuts the power."""
    with tempfile.TemporaryDirectory(dir=memory_directory()) as parent:
        yield Path(parent) / "queue"
