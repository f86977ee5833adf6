"""What the tests of VSQS share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import WITHOUT_DISKS
from tests.vsqs.support import memory_directory

# A machine that lets nobody make user namespaces cannot show what happens when its limits are reached.
WITHOUT_LIMITS = bool(os.environ.get("PENSTOCK_VSQS_WITHOUT_LIMITS"))

collect_ignore = ["test_own_disk.py"] * WITHOUT_DISKS + ["test_limits.py"] * WITHOUT_LIMITS


def pytest_report_header() -> str | None:
    return "without used-up limits, as PENSTOCK_VSQS_WITHOUT_LIMITS says" if WITHOUT_LIMITS else None


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for one queue, not there yet. In memory where that can be: here no test cuts the power."""
    with tempfile.TemporaryDirectory(dir=memory_directory()) as parent:
        yield Path(parent) / "queue"
