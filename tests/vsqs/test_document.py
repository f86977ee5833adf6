"""The states and transitions of the document, by the names of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.vsqs import Queue
from penstock.vsqs.watching import Watcher
from tests.vsqs.support import NOW_MS, Clock, names_in, put

FOREIGN = [
    "README",
    "notes.txt",
    ".1415776871123",
    "1415776871123.bak",
    "1415776871123.new.swp",
    "1415776871123.1415776879654.1415776879655",
    "1415776871123.",
    "01415776871123",
    "-1415776871123",
    "14157768711",  # 11 digits
    "141577687112345678",  # 18 digits
    "1415776871123.12345",
    "١٤١٥٧٧٦٨٧١١٢٣",  # digits, but no file name of ours
]


def consumer(directory: Path, now_ms: int = NOW_MS) -> Queue:
    return Queue(directory, clock_us=Clock(now_ms))


def test_a_message_is_new_while_it_is_written_and_then_ready(directory: Path) -> None:
    queue = consumer(directory)
    watcher = Watcher()
    subscription = watcher.subscribe(str(directory))
    assert subscription is not None
    assert queue.publish(b"payload") == "1415776871123"
    news, _ = watcher.catch_up(subscription)
    assert news == [(True, "1415776871123.new"), (False, "1415776871123.new"), (True, "1415776871123")]
    assert (directory / "1415776871123").read_bytes() == b"payload"
    watcher.unsubscribe(subscription)


@pytest.mark.parametrize("taken", ["1415776871123", "1415776871123.new", "1415776871123.1415776879654"])
def test_a_name_that_is_taken_in_any_state_is_not_used_again(taken: str, directory: Path) -> None:
    put(directory, taken)
    assert consumer(directory).publish(b"payload") == "1415776871124"
    assert names_in(directory) == [taken, "1415776871124"]
    assert (directory / taken).read_bytes() == taken.encode()


@pytest.mark.parametrize("taken", ["1415776871123", "1415776871123.new", "1415776871123.1415776879654"])
def test_a_name_that_is_taken_at_the_last_moment_is_not_used_again(taken: str, directory: Path) -> None:
    class Rival(Clock):
        """Another process publishes just when we ask for the time to name our message by."""

        def __call__(self) -> int:
            if is_armed:
                put(directory, taken)
            return super().__call__()

    is_armed = False
    queue = Queue(directory, clock_us=Rival())
    queue.size()
    is_armed = True
    assert queue.publish(b"payload") == "1415776871124"
    assert names_in(directory) == [taken, "1415776871124"]
    assert (directory / taken).read_bytes() == taken.encode()


def test_the_oldest_message_is_the_one_with_the_lowest_number(directory: Path) -> None:
    put(directory, "1000000000000", "999999999999")
    queue = consumer(directory)
    assert [queue.receive()[0], queue.receive()[0]] == ["999999999999", "1000000000000"]


def test_a_received_message_carries_the_moment_at_which_it_expires(directory: Path) -> None:
    put(directory, "1415776871123")
    assert consumer(directory).receive(visibility_timeout=8.531) == ("1415776871123", b"1415776871123")
    assert names_in(directory) == ["1415776871123.1415776879654"]


def test_a_fraction_of_a_millisecond_does_not_reach_the_name(directory: Path) -> None:
    put(directory, "1415776871123")
    consumer(directory).receive(visibility_timeout=8.5305001)
    assert names_in(directory) == ["1415776871123.1415776879654"]


@pytest.mark.parametrize("name", ["1415776871123.new", "1415776871123.1415776879654"])
def test_a_message_in_another_state_is_not_received(name: str, directory: Path) -> None:
    put(directory, name)
    assert consumer(directory, 1415776879653).receive(timeout=0) == (None, None)
    assert names_in(directory) == [name]


def test_a_message_whose_time_is_up_this_very_millisecond_is_requeued_and_received(directory: Path) -> None:
    put(directory, "1415776871123.1415776879654")
    received = consumer(directory, 1415776879654).receive(visibility_timeout=10, timeout=0)
    assert received == ("1415776871123", b"1415776871123.1415776879654")
    assert names_in(directory) == ["1415776871123.1415776889654"]


def test_what_was_requeued_comes_before_what_was_published_later(directory: Path) -> None:
    put(
        directory,
        "1415776871200",
        "1415776871100",
        "1415776871123.1415776879654",
        "1415776871150.1415776879600",
    )
    queue = consumer(directory, 1415776879654)
    received = [queue.receive(timeout=0)[0] for _ in range(4)]
    assert received == ["1415776871100", "1415776871123", "1415776871150", "1415776871200"]


def test_everything_that_expired_is_requeued_before_anything_is_received(directory: Path) -> None:
    put(directory, "1415776871123", "1415776871200.1415776871300", "1415776871201.1415776871301")
    consumer(directory, 1415776879654).receive(visibility_timeout=1)
    assert names_in(directory) == ["1415776871123.1415776880654", "1415776871200", "1415776871201"]


@pytest.mark.parametrize("name", ["1415776871123", "1415776871123.new", "1415776871123.1415776879654"])
def test_a_message_is_deleted_by_its_id_whatever_its_extension(name: str, directory: Path) -> None:
    put(directory, name, "1415776871124", "1415776871124.1415776879654")
    consumer(directory).delete("1415776871123")
    assert names_in(directory) == ["1415776871124", "1415776871124.1415776879654"]


def test_a_delete_leaves_another_publisher_s_draft_of_the_same_moment_alone(directory: Path) -> None:
    put(directory, "1415776871123.1415776879654", "1415776871123.new")
    consumer(directory).delete("1415776871123")
    assert names_in(directory) == ["1415776871123.new"]


def test_deleting_what_is_not_there_does_nothing(directory: Path) -> None:
    put(directory, "1415776871124")
    consumer(directory).delete("1415776871123")
    assert names_in(directory) == ["1415776871124"]


def test_microseconds_are_read_beside_milliseconds_in_the_order_of_time(directory: Path) -> None:
    put(directory, "1415776871123", "1415776871122999", "1415776871123001")
    queue = consumer(directory)
    received = [queue.receive(visibility_timeout=8.531)[0] for _ in range(3)]
    assert received == ["1415776871122999", "1415776871123", "1415776871123001"]
    # Each expiry is in the unit of its id: who wrote the one reads the other.
    assert names_in(directory) == [
        "1415776871122999.1415776879654000",
        "1415776871123.1415776879654",
        "1415776871123001.1415776879654000",
    ]


def test_expiries_in_microseconds_and_in_milliseconds_are_told_apart(directory: Path) -> None:
    put(
        directory,
        "1415776871123.1415776879654001",
        "1415776871124.1415776879654000",
        "1415776871125.1415776879655",
    )
    queue = consumer(directory, 1415776879654)
    assert queue.receive(timeout=0)[0] == "1415776871124"
    assert queue.receive(timeout=0)[0] is None


def test_ids_are_microseconds_when_asked_for(directory: Path) -> None:
    clock = Clock()
    clock.now_us += 456
    with Queue(directory, unit="us", clock_us=clock) as queue:
        assert [queue.publish(b"1"), queue.publish(b"2")] == ["1415776871123456", "1415776871123457"]


def test_what_is_not_ours_is_ignored_and_left_alone(directory: Path) -> None:
    put(directory, *FOREIGN)
    (directory / "1415776871124").mkdir()
    (directory / "1415776871125").symlink_to(directory / "README")
    before = names_in(directory)
    with consumer(directory, 1415776879654 + 7_200_000) as queue:
        assert queue.size() == 0
        assert queue.receive(timeout=0) == (None, None)
        for name in before:
            (directory / name).rename(directory / f"{name}~")
            (directory / f"{name}~").rename(directory / name)
        assert queue.receive(timeout=0) == (None, None)
        queue.delete(queue.publish(b"payload"))
        queue.delete("1415776871123")
    assert names_in(directory) == before


def test_nothing_but_messages_is_ever_put_into_the_directory(directory: Path) -> None:
    with Queue(directory) as queue:
        message_id = queue.publish(b"payload")
        assert names_in(directory) == [message_id]
        queue.receive()
        queue.delete(message_id)
    assert names_in(directory) == []
