"""What the tests of VSQS share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vsqs.power import power_can_be_cut
from tests.vsqs.support import memory_directory

# Only root may mount a disk to break it.
collect_ignore = [] if power_can_be_cut() else ["test_power_cut.py"]


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for one queue, not there yet. In memory where that can be: here no test cuts the power."""
    with tempfile.TemporaryDirectory(dir=memory_directory()) as parent:
        yield Path(parent) / "queue"
