"""Following a directory through everything that can go wrong with it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from multiprocessing.synchronize import Barrier
from pathlib import Path

from penstock.vsqs import Queue, QueueManager
from penstock.vsqs.watching import Watcher
from tests.vsqs.support import Clock, Started, put

KERNEL_KEEPS = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def descriptors_open() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_more_changes_than_the_kernel_keeps_are_made_up_for(directory: Path) -> None:
    put(directory, "1415776871123", "1415776871124")
    with Queue(directory, clock_us=Clock()) as queue:
        assert queue.size() == 2
        for _ in range(KERNEL_KEEPS // 2 + 10):
            os.rename(directory / "1415776871123", directory / "other")
            os.rename(directory / "other", directory / "1415776871123")
        put(directory, "1415776871122")
        assert queue.size() == 3
        assert queue.receive(timeout=0)[0] == "1415776871122"
        put(directory, "1415776871121")
        assert queue.receive(timeout=0)[0] == "1415776871121"


def test_changes_that_were_lost_to_the_noise_of_another_queue_are_made_up_for(directory: Path) -> None:
    noisy = directory.with_name("noisy")
    put(directory, "1415776871123")
    put(noisy, "1415776871123")
    with Queue(directory) as queue, Queue(noisy) as other:
        assert queue.size() == other.size() == 1
        for _ in range(KERNEL_KEEPS // 2 + 10):
            os.rename(noisy / "1415776871123", noisy / "other")
            os.rename(noisy / "other", noisy / "1415776871123")
        put(directory, "1415776871124")
        assert queue.size() == 2


def test_a_queue_nobody_uses_does_not_gather_changes_for_ever(directory: Path) -> None:
    put(directory, "1415776871123")
    with Queue(directory) as idle, Queue(directory) as busy:
        assert idle.size() == 1
        for _ in range(KERNEL_KEEPS // 2 + 10):
            os.rename(directory / "1415776871123", directory / "1415776871124")
            os.rename(directory / "1415776871124", directory / "1415776871123")
            if _ % 1000 == 0:
                busy.size()
        put(directory, "1415776871122")
        assert busy.size() == idle.size() == 2
        assert idle.receive(timeout=0)[0] == "1415776871122"


def test_a_thousand_queues_share_one_watcher(directory: Path) -> None:
    before = descriptors_open()
    with QueueManager(directory) as manager:
        queues = [manager.get_queue(str(number)) for number in range(1000)]
        for queue in queues:
            queue.publish(queue.path.encode())
        assert descriptors_open() <= before + 2
        assert all(queue.receive(timeout=0)[1] == queue.path.encode() for queue in queues)
    assert descriptors_open() == before


def test_a_queue_that_was_forgotten_gives_back_its_watch(directory: Path) -> None:
    before = descriptors_open()
    queue = Queue(directory)
    queue.size()
    assert descriptors_open() == before + 2
    del queue
    gc.collect()
    with Queue(directory) as other:
        other.publish(b"payload")
        assert other.size() == 1
    assert descriptors_open() == before


def test_a_forked_process_follows_the_directory_for_itself(directory: Path) -> None:
    fork = multiprocessing.get_context("fork")
    each_publishes, processes = 50, 4

    def work(barrier: Barrier) -> None:
        for _ in range(each_publishes):
            queue.publish(b"payload")
        barrier.wait()
        assert queue.size() == each_publishes * processes
        barrier.wait()
        for _ in range(each_publishes):
            message_id, _ = queue.receive(timeout=0)
            assert message_id is not None
            queue.delete(message_id)

    with Queue(directory) as queue:
        queue.size()
        barrier = fork.Barrier(processes)
        children = [fork.Process(target=work, args=(barrier,)) for _ in range(processes)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * processes
        assert queue.size() == 0


def test_a_fork_in_the_middle_of_a_call_leaves_the_child_able_to_work(directory: Path) -> None:
    with Queue(directory) as queue:
        waiting = threading.Thread(target=queue.receive, kwargs={"timeout": 30})
        waiting.start()
        child = multiprocessing.get_context("fork").Process(target=queue.publish, args=(b"payload",))
        child.start()
        child.join(10)
        waiting.join(10)
        assert child.exitcode == 0
        assert not waiting.is_alive()


def test_news_that_another_thread_happens_to_read_reaches_those_who_wait(directory: Path) -> None:
    with Queue(directory) as queue, Queue(directory.with_name("other")) as other:
        other.size()
        message = directory.with_name("message")
        for _ in range(200):
            received = Started(queue.receive, begins_within_s=0.002)
            message.write_bytes(b"payload")
            message.rename(directory / "1415776871123")
            other.size()
            message_id, _ = received.result()
            assert message_id is not None
            queue.delete(message_id)


def test_a_watch_on_what_is_not_a_directory_is_no_watch(directory: Path) -> None:
    watcher = Watcher()
    assert watcher.subscribe(str(directory)) is None
    directory.write_bytes(b"")
    assert watcher.subscribe(str(directory)) is None
