"""What a program sees of a queue, whether the kernel tells of changes or every look is a listing."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from pathlib import Path

import pytest

from penstock.vsqs import Queue, QueueFullException, QueueManager, StoredMessage
from penstock.vsqs.watching import Watcher
from tests.vsqs.support import NOW_MS, Clock, names_in, put

HOUR_MS = 3_600_000


@pytest.fixture(params=["told", "listing"], autouse=True)
def told_or_listing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "listing":
        monkeypatch.setattr(Watcher, "subscribe", lambda *_: None)


def test_what_is_published_is_received_and_deleted(directory: Path) -> None:
    with QueueManager(directory) as manager:
        queue = manager.get_queue("jobs")
        message_id = queue.publish(b"\0binary\xff")
        assert queue.receive(visibility_timeout=10, timeout=0) == (message_id, b"\0binary\xff")
        assert queue.receive(timeout=0) == (None, None)
        queue.delete(message_id)
        assert queue.size() == 0
    assert names_in(directory / "jobs") == []


@pytest.mark.parametrize("data", [b"", b"x", bytearray(b"array"), memoryview(b"view"), b"large" * 1_000_000])
def test_any_bytes_come_back_as_they_were(data: bytes, directory: Path) -> None:
    with Queue(directory) as queue:
        queue.publish(data)
        assert queue.receive()[1] == bytes(data)


@pytest.mark.parametrize("data", ["text", None, 5, ["list"]])
def test_what_is_not_bytes_is_refused_before_anything_is_created(data: object, directory: Path) -> None:
    with Queue(directory) as queue:
        modified_ns = directory.stat().st_mtime_ns
        with pytest.raises(TypeError, match="a message is bytes"):
            queue.publish(data)  # type: ignore[arg-type]
        assert directory.stat().st_mtime_ns == modified_ns


def test_messages_come_in_the_order_of_their_publish(directory: Path) -> None:
    with Queue(directory) as queue:
        published = [queue.publish(str(number).encode()) for number in range(50)]
        assert published == sorted(published)
        assert [queue.receive()[1] for _ in range(50)] == [str(number).encode() for number in range(50)]


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_many_messages_are_published_in_one_go_and_in_their_order(count: int, directory: Path) -> None:
    bodies = [str(number).encode() for number in range(count)]
    with Queue(directory) as queue:
        ids = queue.publish_many(bodies)
        assert ids == sorted(set(ids))
        assert [queue.receive(timeout=0) for _ in bodies] == list(zip(ids, bodies, strict=True))
        with pytest.raises(TypeError):
            queue.publish_many([b"good", "bad"])  # type: ignore[list-item]
        assert queue.size() == count


def test_many_messages_need_room_for_all_of_them(directory: Path) -> None:
    with Queue(directory, capacity=5) as queue:
        queue.publish_many([b""] * 3)
        with pytest.raises(QueueFullException, match="no room for 3 more"):
            queue.publish_many([b""] * 3, timeout=0)
        queue.publish_many([b""] * 2, timeout=0)


def test_ids_go_on_rising_when_the_clock_steps_back(directory: Path) -> None:
    clock = Clock()
    with Queue(directory, clock_us=clock) as queue:
        assert queue.publish(b"before") == "1415776871123"
        clock.advance_ms(-HOUR_MS)
        assert queue.publish(b"after") == "1415776871124"
        queue.delete("1415776871123")
        queue.delete("1415776871124")
        assert queue.publish(b"even though those are gone") == "1415776871125"


def test_ids_go_on_rising_in_another_process_while_there_are_messages(directory: Path) -> None:
    with (
        Queue(directory, clock_us=Clock()) as first,
        Queue(directory, clock_us=Clock(NOW_MS - HOUR_MS)) as second,
    ):
        assert first.publish(b"") == "1415776871123"
        assert second.publish(b"") == "1415776871124"
        assert first.publish(b"") == "1415776871125"


def test_a_clock_before_its_time_still_makes_ids(directory: Path) -> None:
    with Queue(directory, clock_us=Clock(0)) as queue:
        assert [queue.publish(b""), queue.publish(b"")] == ["100000000000", "100000000001"]
        assert queue.receive()[0] == "100000000000"


def test_a_message_from_the_far_future_does_not_drag_others_there(directory: Path) -> None:
    put(directory, "99999999999999", "99999999999999999")
    with Queue(directory, clock_us=Clock()) as queue:
        assert queue.publish(b"") == "1415776871123"


def test_a_message_is_back_in_its_place_when_its_time_is_up(directory: Path) -> None:
    clock = Clock()
    with Queue(directory, clock_us=clock) as queue:
        first, second = queue.publish(b"first"), queue.publish(b"second")
        assert queue.receive(visibility_timeout=2)[0] == first
        clock.advance_ms(1999)
        assert queue.receive(visibility_timeout=2)[0] == second
        clock.advance_ms(1)
        assert queue.receive(visibility_timeout=2)[0] == first


def test_without_a_visibility_timeout_a_message_is_there_for_the_next_at_once(directory: Path) -> None:
    with Queue(directory) as queue:
        message_id = queue.publish(b"payload")
        assert [queue.receive(visibility_timeout=0)[0] for _ in range(3)] == [message_id] * 3


def test_a_deleted_message_does_not_come_back_when_its_time_is_up(directory: Path) -> None:
    clock = Clock()
    with Queue(directory, clock_us=clock) as queue:
        queue.delete(queue.publish(b"payload"))
        message_id = queue.publish(b"payload")
        queue.receive(visibility_timeout=1)
        queue.delete(message_id)
        queue.delete(message_id)
        clock.advance_ms(5000)
        assert queue.receive(timeout=0) == (None, None)


def test_a_message_is_deleted_by_a_queue_object_that_never_saw_it(directory: Path) -> None:
    with Queue(directory) as publisher, Queue(directory) as consumer, Queue(directory) as third:
        third.size()
        ids = [publisher.publish(b"payload") for _ in range(300)]
        consumer.receive()
        for message_id in ids:
            third.delete(message_id)
    assert names_in(directory) == []


def test_size_counts_what_is_being_consumed_but_not_what_is_being_written(directory: Path) -> None:
    put(directory, "1415776871120.new", "1415776871121", "1415776871122.1415776879654")
    with Queue(directory, clock_us=Clock()) as queue:
        assert queue.size() == 2
        put(directory, "1415776871123")
        assert queue.size() == 3


def test_messages_lists_everything_oldest_first(directory: Path) -> None:
    put(directory, "1415776871125.new", "1415776871124", "1415776871122.1415776879654", "README")
    with Queue(directory, clock_us=Clock()) as queue:
        assert list(queue.messages()) == [
            StoredMessage("1415776871122", "consumed", 1415776879654000, 27),
            StoredMessage("1415776871124", "ready", None, 13),
            StoredMessage("1415776871125", "new", None, 17),
        ]


def test_a_full_queue_refuses_and_names_its_capacity(directory: Path) -> None:
    with Queue(directory, capacity=2) as queue:
        queue.publish(b"1")
        queue.publish(b"2")
        queue.receive()  # what is being consumed takes its room
        before = names_in(directory)
        for timeout in (0, 0.01, -1):
            with pytest.raises(QueueFullException, match="no room for 1 more: it may have 2 messages"):
                queue.publish(b"3", timeout=timeout)
        assert names_in(directory) == before


def test_a_publish_into_a_full_queue_goes_on_when_there_is_room(directory: Path) -> None:
    with Queue(directory, capacity=1) as queue, Queue(directory) as other:
        message_id = queue.publish(b"1")
        waiting = threading.Thread(target=queue.publish, args=(b"2",))
        waiting.start()
        other.delete(message_id)
        waiting.join(10)
        assert not waiting.is_alive()
        assert other.receive(timeout=0)[1] == b"2"


def test_threads_of_one_process_do_not_exceed_the_capacity(directory: Path) -> None:
    refused: list[QueueFullException] = []

    def publish() -> None:
        try:
            queue.publish(b"payload", timeout=0)
        except QueueFullException as error:
            refused.append(error)

    with Queue(directory, capacity=5) as queue:
        threads = [threading.Thread(target=publish) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert queue.size() == 5
        assert len(refused) == 15


def test_capacity_may_be_changed_later(directory: Path) -> None:
    with QueueManager(directory).get_queue("jobs", capacity=0) as queue:
        with pytest.raises(QueueFullException):
            queue.publish(b"1", timeout=0)
        queue.capacity = 1
        queue.publish(b"1", timeout=0)


def test_drafts_of_the_dead_are_removed_after_an_hour(directory: Path) -> None:
    now_ms = 1415776871123
    dead, written_lately, named_lately = "1415773271123.new", "1415773271122.new", "1415773271124.new"
    put(directory, dead, written_lately, named_lately)
    hour_ago_s = (now_ms - HOUR_MS) / 1000
    for name in (dead, named_lately):
        os.utime(directory / name, (hour_ago_s, hour_ago_s))
    with Queue(directory, clock_us=Clock(now_ms)) as queue:
        assert queue.size() == 0
    assert names_in(directory) == [written_lately, named_lately]


def test_a_publisher_whose_draft_was_taken_for_a_leftover_publishes_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts: list[str] = []
    write = os.write

    def write_and_lose_the_first_draft(descriptor: int, data: bytes) -> int:
        drafts.extend(names_in(directory))
        if len(drafts) == 1:
            (directory / drafts[0]).unlink()
        return write(descriptor, data)

    with Queue(directory, clock_us=Clock()) as queue:
        monkeypatch.setattr(os, "write", write_and_lose_the_first_draft)
        assert queue.publish(b"payload") == "1415776871124"
    assert drafts == ["1415776871123.new", "1415776871124.new"]
    assert (directory / "1415776871124").read_bytes() == b"payload"


def test_a_name_taken_by_a_program_that_does_not_look_is_not_overwritten(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_while_another_takes_the_name(descriptor: int, data: bytes) -> int:
        written = write(descriptor, data)
        put(directory, "1415776871123")
        return written

    with Queue(directory, clock_us=Clock()) as queue:
        monkeypatch.setattr(os, "write", write_while_another_takes_the_name)
        assert queue.publish(b"payload") == "1415776871124"
    assert names_in(directory) == ["1415776871123", "1415776871124"]
    assert (directory / "1415776871123").read_bytes() == b"1415776871123"


def test_two_messages_of_one_id_that_others_made_are_both_received(directory: Path) -> None:
    put(directory, "1415776871123", "1415776871123.1415776871124")
    with Queue(directory, clock_us=Clock(1415776879654)) as queue:
        received = {queue.receive(timeout=0) for _ in range(2)}
        assert received == {
            ("1415776871123", b"1415776871123"),
            ("1415776871123", b"1415776871123.1415776871124"),
        }
        assert queue.receive(timeout=0) == (None, None)


def test_what_cannot_be_read_is_passed_over_and_said_so(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(directory, "1415776871124")
    clock = Clock()
    with Queue(directory, clock_us=clock) as queue:
        queue.size()
        os.mkfifo(directory / "1415776871122")
        (directory / "1415776871123").symlink_to("1415776871124")
        with caplog.at_level(logging.WARNING):
            assert queue.receive()[0] == "1415776871124"
            assert queue.receive(timeout=0)[0] is None
        # A listing knows better than to take them for messages.
        assert len(caplog.records) in {0, 2}
    assert names_in(directory)[:2] == ["1415776871122", "1415776871123"]


def test_a_directory_that_vanishes_is_an_empty_queue_until_it_is_back(directory: Path) -> None:
    with Queue(directory) as queue:
        message_id = queue.publish(b"gone with its directory")
        queue.receive()
        shutil.rmtree(directory)
        assert queue.size() == 0
        assert queue.receive(timeout=0) == (None, None)
        queue.delete(message_id)
        assert not directory.exists()
        put(directory, "1415776871123")
        assert queue.receive(timeout=0)[0] == "1415776871123"


def test_a_publish_makes_a_directory_that_vanished(directory: Path) -> None:
    with Queue(directory) as queue:
        queue.publish(b"gone with its directory")
        shutil.rmtree(directory)
        message_id = queue.publish(b"payload")
        assert names_in(directory) == [message_id]
        assert queue.receive(timeout=0) == (message_id, b"payload")


def test_a_directory_that_is_replaced_by_another_is_the_queue_from_then_on(directory: Path) -> None:
    with Queue(directory) as queue:
        queue.publish(b"in the old one")
        assert queue.size() == 1
        directory.rename(directory.with_name("old"))
        put(directory, "1415776871123")
        assert queue.size() == 1
        assert queue.receive(timeout=0)[0] == "1415776871123"


def test_a_file_in_place_of_the_directory_is_reported(directory: Path) -> None:
    directory.write_bytes(b"")
    with pytest.raises(FileExistsError):
        Queue(directory)


def test_a_closed_queue_says_so(directory: Path) -> None:
    with QueueManager(directory) as manager:
        queue = manager.get_queue("jobs")
        queue.publish(b"payload")
    for use in (queue.receive, queue.size, lambda: queue.publish(b""), lambda: queue.delete("1415776871123")):
        with pytest.raises(ValueError, match="was closed"):
            use()
    queue.close()


def test_an_unknown_unit_is_refused(directory: Path) -> None:
    with pytest.raises(ValueError, match="'ms' or 'us', not 's'"):
        Queue(directory, unit="s")  # type: ignore[arg-type]
    assert not directory.exists()


def test_ids_run_ahead_of_the_clock_in_a_burst_but_not_for_long(directory: Path) -> None:
    put(directory, str(NOW_MS + 9_998))  # as if ten thousand had just been published in this millisecond
    clock = Clock()
    with Queue(directory, clock_us=clock) as queue:
        assert [queue.publish(b""), queue.publish(b"")] == [str(NOW_MS + 9_999), str(NOW_MS + 10_000)]
        waiting = threading.Thread(target=queue.publish, args=(b"",))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        clock.advance_ms(1)
        waiting.join(10)
        assert names_in(directory)[-1] == str(NOW_MS + 10_001)


def test_nobody_waits_for_a_clock_that_stepped_back(directory: Path) -> None:
    put(directory, str(NOW_MS + 60_000))
    with Queue(directory, clock_us=Clock()) as queue:
        assert queue.publish(b"") == str(NOW_MS + 60_001)
