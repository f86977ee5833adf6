"""The index alone: what it forgets, and what it costs."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from penstock.vsqs.index import Index
from penstock.vsqs.names import NEW, READY, file_name, moment_us, parse
from tests.vsqs.support import NOW_MS

MANY = 20_000
ids = st.integers(NOW_MS, NOW_MS + 5).map(str) | st.integers(NOW_MS * 1000, NOW_MS * 1000 + 5000).map(str)
extensions = st.sampled_from([READY, NEW]) | st.integers(NOW_MS + 10, NOW_MS + 15).map(str)
names = st.builds(file_name, ids, extensions) | st.sampled_from(["README", "1.2", ""])


@given(listed=st.lists(names), changes=st.lists(st.tuples(st.booleans(), names)), now_ms=st.integers(0, 20))
def test_following_changes_gives_what_a_listing_would(
    listed: list[str], changes: list[tuple[bool, str]], now_ms: int
) -> None:
    index = Index()
    index.replace(listed, 0)
    there = set(listed)
    for is_there, name in changes:
        (there.add if is_there else there.discard)(name)
        (index.appear if is_there else index.vanish)(name)
    now_us = (NOW_MS + now_ms) * 1000
    files = sorted(
        (file for name in there if (file := parse(name)) is not None),
        key=lambda file: (moment_us(file.id), file.id),
    )
    ready = [file.id for file in files if file.extension == READY]
    claims = [file for file in files if file.extension not in {READY, NEW}]
    over = {file for file in claims if moment_us(file.extension) <= now_us and file.id not in ready}
    assert index.oldest_ready() == next(iter(ready), None)
    assert set(index.expired(now_us)) == over
    assert index.next_expiry_us() == min((moment_us(file.extension) for file in claims), default=None)
    assert index.size == len(ready) + len(claims)
    assert sorted(index.files()) == sorted(files)


def test_what_has_come_and_gone_leaves_nothing_behind() -> None:
    index = Index()
    tracemalloc.start()
    for number in range(MANY):
        for name in (f"{NOW_MS + number}", f"{NOW_MS + number}.{NOW_MS + number + 10_000}"):
            index.appear(name)
            index.vanish(name)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 1_000_000


def test_messages_deleted_from_the_middle_leave_nothing_behind() -> None:
    index = Index()
    index.appear(str(NOW_MS))
    tracemalloc.start()
    for number in range(1, MANY):
        index.appear(f"{NOW_MS + number}")
        index.vanish(f"{NOW_MS + number}")
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 1_000_000
    assert index.oldest_ready() == str(NOW_MS)
