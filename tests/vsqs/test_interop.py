"""One directory, two programs: ours, and the document's word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.vsqs import Queue
from tests.vsqs.crowd import check, run_crowd
from tests.vsqs.naive import NaiveQueue
from tests.vsqs.support import Clock, names_in, put

SECONDS = 1.0


def test_what_the_other_publishes_we_consume(directory: Path) -> None:
    with Queue(directory) as queue:
        other = NaiveQueue(directory)
        ids = [other.publish(str(number).encode()) for number in range(5)]
        for number, message_id in enumerate(ids):
            assert queue.receive(timeout=0) == (message_id, str(number).encode())
            queue.delete(message_id)
        assert other.receive() == (None, None)
    assert names_in(directory) == []


def test_what_we_publish_the_other_consumes(directory: Path) -> None:
    with Queue(directory) as queue:
        other = NaiveQueue(directory)
        ids = [queue.publish(str(number).encode()) for number in range(5)]
        for number, message_id in enumerate(ids):
            assert other.receive() == (message_id, str(number).encode())
            other.delete(message_id)
        assert queue.receive(timeout=0) == (None, None)
    assert names_in(directory) == []


def test_what_either_has_the_other_does_not_get_and_may_delete(directory: Path) -> None:
    with Queue(directory) as queue:
        other = NaiveQueue(directory)
        first, second = queue.publish(b"first"), other.publish(b"second")
        assert queue.receive()[0] == first
        assert other.receive()[0] == second
        assert queue.receive(timeout=0) == other.receive() == (None, None)
        queue.delete(second)
        other.delete(first)
        assert queue.size() == 0


def test_what_either_lets_expire_the_other_gets_again(directory: Path) -> None:
    put(directory, "1415776871123")
    with Queue(directory, clock_us=Clock()) as queue:
        assert queue.receive(visibility_timeout=8.531)[0] == "1415776871123"
        other = NaiveQueue(directory)
        assert other.receive(visibility_timeout_ms=0)[0] == "1415776871123"
    with Queue(directory) as queue:
        assert queue.receive(timeout=1)[0] == "1415776871123"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("publishers", "consumers"),
    [(["naive"], ["told", "told", "listing"]), (["told", "told"], ["naive", "told"])],
    ids=["the other publishes", "the other consumes"],
)
def test_processes_of_both_kinds_lose_and_double_nothing(
    publishers: list[str], consumers: list[str], directory: Path
) -> None:
    check(*run_crowd(directory, publishers, consumers, SECONDS))
    assert names_in(directory) == []
