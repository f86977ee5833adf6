"""Waiting for messages, for expiries and for room: across processes, threads and queues."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.vsqs import Queue
from penstock.vsqs.watching import Watcher
from tests.vsqs.support import SOON_S, Started

LONG_S = 30  # nobody waits that long unless something is broken


@pytest.fixture(params=["told", "listing"], autouse=True)
def told_or_listing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "listing":
        monkeypatch.setattr(Watcher, "subscribe", lambda *_: None)


class Elsewhere:
    """Another process with the same queue, which does as it is told line by line."""

    PROGRAM = """
import sys
from penstock.vsqs import Queue
queue = Queue(sys.argv[1])
for line in sys.stdin:
    print(eval(line), flush=True)
"""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-c", self.PROGRAM, str(directory)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.do("queue.size()")

    def do(self, expression: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        self._process.communicate(timeout=SOON_S)


@pytest.fixture
def elsewhere(directory: Path) -> Iterator[Elsewhere]:
    process = Elsewhere(directory)
    yield process
    process.end()


def test_a_waiting_consumer_gets_what_another_process_publishes(
    directory: Path, elsewhere: Elsewhere
) -> None:
    with Queue(directory) as queue:
        received = Started(queue.receive)
        message_id = elsewhere.do("queue.publish(b'payload')")
        assert received.result() == (message_id, b"payload")


def test_a_waiting_consumer_gets_what_another_process_did_not_delete_in_time(
    directory: Path, elsewhere: Elsewhere
) -> None:
    with Queue(directory) as queue:
        message_id = queue.publish(b"payload")
        elsewhere.do("queue.receive(visibility_timeout=0.3)")
        began_s = time.monotonic()
        assert queue.receive(timeout=LONG_S) == (message_id, b"payload")
        assert 0.1 < time.monotonic() - began_s < SOON_S


def test_an_expiry_that_comes_up_while_a_consumer_waits_is_noticed(
    directory: Path, elsewhere: Elsewhere
) -> None:
    with Queue(directory) as queue:
        first = queue.publish(b"first")
        queue.receive(visibility_timeout=1000)
        received = Started(queue.receive)
        elsewhere.do("queue.delete(" + repr(first) + ")")
        # Whoever is quicker gets it; if that is the other process, it gives it back soon.
        message_id = elsewhere.do("queue.publish(b'second')")
        elsewhere.do("queue.receive(visibility_timeout=0.2, timeout=0)")
        assert received.result() == (message_id, b"second")


def test_a_publisher_that_waits_for_room_gets_what_another_process_frees(
    directory: Path, elsewhere: Elsewhere
) -> None:
    with Queue(directory, capacity=1) as queue:
        message_id = queue.publish(b"first")
        published = Started(lambda: queue.publish(b"second"))
        assert published.is_waiting()
        elsewhere.do("queue.delete(" + repr(message_id) + ")")
        assert published.result() > message_id


def test_waiting_ends_when_the_time_is_up(directory: Path) -> None:
    with Queue(directory) as queue:
        began_s = time.monotonic()
        assert queue.receive(timeout=0.12) == (None, None)
        assert 0.1 < time.monotonic() - began_s < SOON_S


def test_looking_once_does_not_wait(directory: Path) -> None:
    with Queue(directory) as queue:
        queue.publish(b"payload")
        queue.receive(visibility_timeout=LONG_S)
        began_s = time.monotonic()
        assert queue.receive(timeout=0) == queue.receive(timeout=-1) == (None, None)
        assert time.monotonic() - began_s < SOON_S


def test_many_threads_of_one_process_each_get_one_message(directory: Path) -> None:
    with Queue(directory) as queue, Queue(directory) as twin, Queue(directory.with_name("other")) as other:
        waiting = [Started(each.receive) for each in (queue, twin) for _ in range(8)]
        elsewhere = [Started(other.receive) for _ in range(3)]
        ids = {queue.publish(b"payload") for _ in range(16)}
        assert {each.result()[0] for each in waiting} == ids
        assert all(each.is_waiting() for each in elsewhere)
        for _ in range(3):
            queue.receive(timeout=0)
            other.publish(b"payload")
        assert len({each.result()[0] for each in elsewhere}) == 3


def test_when_the_first_who_waits_gives_up_the_others_still_hear(directory: Path) -> None:
    with Queue(directory) as queue, Queue(directory.with_name("other")) as other:
        impatient = [Started(lambda: queue.receive(timeout=0.6)) for _ in range(3)]
        patient = [Started(queue.receive), Started(other.receive)]
        assert [each.result() for each in impatient] == [(None, None)] * 3
        other.publish(b"payload")
        queue.publish(b"payload")
        assert all(each.result()[1] == b"payload" for each in patient)


def test_those_who_wait_on_a_queue_that_is_closed_are_told(directory: Path) -> None:
    def receive() -> str:
        try:
            queue.receive()
        except ValueError as error:
            return str(error)
        return "nothing"

    queue = Queue(directory)
    waiting = [Started(receive) for _ in range(3)]
    queue.close()
    assert {each.result() for each in waiting} == {f"the queue {directory} was closed"}


def test_a_consumer_waits_through_the_death_and_return_of_its_directory(directory: Path) -> None:
    with Queue(directory) as queue:
        received = Started(queue.receive)
        os.rmdir(directory)
        time.sleep(0.1)
        assert received.is_waiting()
        with Queue(directory) as again:
            again.publish(b"payload")
        assert received.result()[1] == b"payload"
