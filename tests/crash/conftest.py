"""Which of the crash tests run on this machine. Nothing is left out unless a person says so."""

from __future__ import annotations

import os

WITHOUT_DISKS = bool(os.environ.get("PENSTOCK_CRASH_WITHOUT_DISKS"))

collect_ignore = ["test_own_disk.py"] if WITHOUT_DISKS else []


def pytest_report_header() -> str | None:
    return "without power cuts, as PENSTOCK_CRASH_WITHOUT_DISKS says" if WITHOUT_DISKS else None
