"""Many processes publish to one directory and many consume from it, some of which die on the way."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from tests.vsqs.crowd import check, run_crowd
from tests.vsqs.support import names_in

SECONDS = float(os.environ.get("PENSTOCK_VSQS_CROWD_SECONDS", "3"))


@pytest.mark.slow
def test_eight_publishers_and_eight_consumers_lose_and_double_nothing(directory: Path) -> None:
    published, received = run_crowd(directory, ["told"] * 8, ["told"] * 8, SECONDS)
    check(published, received)
    assert len(published) > 100 * SECONDS
    for former, latter in pairwise(sorted(published)):
        assert former.publisher != latter.publisher or int(former.id) < int(latter.id)
    assert len(received) > len(published), "some were delivered again"
    assert names_in(directory) == []


@pytest.mark.slow
def test_those_who_list_the_directory_and_those_who_are_told_share_it(directory: Path) -> None:
    published, received = run_crowd(directory, ["told", "listing"], ["told", "told", "listing"], SECONDS)
    check(published, received)
    assert names_in(directory) == []
