"""The folders and files of each step in the life of a message, to the letter."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.commands import CreateQueue, DescribeQueue, Draft, IfMissing, Publish, ReleaseAll
from penstock.core.errors import StoreFailed
from penstock.core.model import Content, Counts
from penstock.core.outcomes import QueueShown, Refused
from penstock.stores.spool import SpoolStore
from tests.spool.spooling import DELAY_IS_OVER_MS, DELAY_MS, Server, queue_name, tree

Start = Callable[..., Server]


def test_an_added_message_is_a_file_with_its_body_in_the_folder_of_its_queue(server: Server) -> None:
    message_id = server.post("hello")
    assert tree(server.root) == {f"queues/jobs/{message_id}": "hello"}


def test_without_a_mover_an_added_message_waits_in_new(start: Start) -> None:
    server = start(moves=False)
    server.put()
    message_id = server.post("hello")
    assert tree(server.root) == {f"new/jobs:{message_id}": "hello"}
    assert server.fetched() is None


def test_a_fetched_message_is_in_delay_under_the_name_it_was_made_with(server: Server) -> None:
    message_id = server.post("hello")
    assert server.fetched() == "hello"
    assert tree(server.root) == {f"delay/jobs:{message_id}": "hello"}
    assert server.fetched() is None


def test_a_message_whose_delay_is_over_is_back_in_its_queue(server: Server) -> None:
    message_id = server.post("hello")
    server.fetch()
    server.advance(DELAY_MS - 1)
    assert tree(server.root) == {f"delay/jobs:{message_id}": "hello"}
    server.advance(DELAY_IS_OVER_MS - DELAY_MS)
    assert tree(server.root) == {f"queues/jobs/{message_id}": "hello"}
    again = server.fetch()
    assert again is not None
    assert (again.id, again.attempt) == (uuid.UUID(message_id).bytes, 2)


def test_a_released_message_is_back_in_its_queue_at_once(server: Server) -> None:
    message_id = server.post("hello")
    server.fetch()
    server.ask(ReleaseAll(queue_name("jobs")))
    assert tree(server.root) == {f"queues/jobs/{message_id}": "hello"}


@pytest.mark.parametrize("is_fetched", [True, False], ids=["fetched", "waiting"])
def test_a_deleted_message_waits_in_remove_for_the_reaper(server: Server, *, is_fetched: bool) -> None:
    message_id = server.post("hello")
    if is_fetched:
        server.fetch()
    assert server.delete(message_id)
    assert tree(server.root) == {f"remove/jobs:{message_id}": "hello"}
    assert server.reap() == 1
    assert tree(server.root) == {}
    assert not server.delete(message_id)


def test_a_message_deleted_before_the_mover_came_goes_from_new_to_remove(start: Start) -> None:
    server = start(moves=False)
    server.put()
    message_id = server.post("hello")
    assert server.delete(message_id)
    assert tree(server.root) == {f"remove/jobs:{message_id}": "hello"}


def test_a_deleted_queue_takes_its_messages_from_every_folder(start: Start) -> None:
    server = start()
    for queue in ("jobs", "stays"):
        server.put(queue)
        server.post("fetched", queue)
        server.fetch(queue)
        server.post("waiting", queue)
    (server.root / "new" / "jobs:by-others").write_text("new")
    server.drop("jobs")
    assert not (server.root / "queues" / "jobs").exists()
    server.reap()
    assert sorted(tree(server.root).values()) == ["fetched", "waiting"]
    server.put("jobs")
    server.advance(DELAY_MS)
    assert server.fetched("jobs") is None
    assert list((server.root / ".penstock" / "deleted").iterdir()) == []


def test_ids_are_uuids_of_version_1_that_grow_with_time(server: Server) -> None:
    ids = [uuid.UUID(server.post(str(number))) for number in range(50)]
    server.wall_ms -= 5000  # a clock that is set back does not turn the order round
    ids += [uuid.UUID(server.post(str(number))) for number in range(50, 60)]
    assert {message_id.version for message_id in ids} == {1}
    assert ids == sorted(ids, key=lambda message_id: message_id.time)
    assert [server.fetched() for _ in range(60)] == [str(number) for number in range(60)]


def test_ids_are_ordered_by_the_time_in_them_and_not_by_their_text(server: Server) -> None:
    earlier = uuid.UUID(fields=(0xFFFFFFFF, 0x213E, 0x11E3, 0xA9, 0xA3, 0x0025904F6E08))
    later = uuid.UUID(fields=(0x00000000, 0x213F, 0x11E3, 0xA9, 0xA3, 0x0025904F6E08))
    assert str(later) < str(earlier)
    for message_id, body in ((later, "later"), (earlier, "earlier")):
        (server.root / "new" / f"jobs:{message_id}").write_text(body)
    assert [server.fetched(), server.fetched()] == ["earlier", "later"]


def test_other_names_are_ordered_by_the_time_of_their_file(server: Server) -> None:
    for name, age_s in (("young", 10), ("old", 1000)):
        path = server.root / "queues" / "jobs" / f".{name}"
        path.write_text(name)
        os.utime(path, (server.wall_ms / 1000 - age_s,) * 2)
        path.rename(path.with_name(name))
    delivery = server.fetch()
    assert delivery is not None
    assert delivery.content.body == b"old"
    assert sorted(tree(server.root)) == ["delay/jobs:old", "queues/jobs/young"]
    assert server.delete(delivery.id)
    assert sorted(tree(server.root)) == ["queues/jobs/young", "remove/jobs:old"]


def test_everything_is_found_again_after_a_restart(start: Start) -> None:
    server = start(moves=False)
    server.put()
    new = server.post("new")
    server.crash()
    server = start()
    server.advance(2000)  # nobody saw who wrote it: it is taken for whole when it has settled
    fetched = server.post("fetched")
    assert server.fetched() == "new"
    server.crash()
    server = start()
    shown = server.ask(DescribeQueue(queue_name("jobs")))
    assert isinstance(shown, QueueShown)
    assert shown.counts == Counts(ready=1, claimed=1)
    assert server.delete(new)
    assert server.fetched() == "fetched"
    server.crash()
    assert tree(server.root) == {f"delay/jobs:{fetched}": "fetched", f"remove/jobs:{new}": "new"}
    server = start()
    assert server.reap() == 1


def test_the_timer_of_a_fetched_message_runs_on_through_a_restart(start: Start, server: Server) -> None:
    server.post("hello")
    server.fetch()
    server.crash()
    server = start(wall_ms=server.wall_ms + DELAY_MS - 1000)
    server.settle()
    assert server.fetched() is None
    server.advance(2500)
    assert server.fetched() == "hello"


def test_a_fetched_message_comes_back_though_the_clock_was_set_back_since(
    start: Start, server: Server
) -> None:
    server.post("hello")
    server.fetch()
    server.crash()
    server = start(wall_ms=server.wall_ms - 86_400_000)
    server.advance(DELAY_MS - 1)
    assert server.fetched() is None
    server.advance(1)
    assert server.fetched() == "hello"


def test_a_clock_that_was_set_back_while_nobody_looked_does_not_turn_the_order_round(
    start: Start, server: Server
) -> None:
    server.post("earlier")
    server.crash()
    server = start(wall_ms=server.wall_ms - 3_600_000)
    server.post("later")
    assert [server.fetched(), server.fetched()] == ["earlier", "later"]


def test_a_clock_that_jumps_ahead_only_ends_delays(server: Server) -> None:
    server.post("hello")
    server.fetch()
    server.jump(86_400_000)
    assert server.fetched() == "hello"
    assert server.fetched() is None


def test_what_is_no_message_is_left_alone(start: Start, root: Path) -> None:
    server = start()
    server.put()
    strange = {
        "new/no-colon": "1",
        "new/two:colons:here": "2",
        "new/jobs:": "3",
        "new/..:up": "4",
        "delay/jobs:.hidden": "5",
        "queues/jobs/.nfs0001": "6",
        "queues/jobs/with:colon": "7",
        "queues/not a queue/id": "8",
        "remove/elsewhere": "9",
    }
    (root / "queues" / "not a queue").mkdir()
    for name, body in strange.items():
        (root / name).write_text(body)
    (root / "queues" / "jobs" / "directory").mkdir()
    (root / "queues" / "jobs" / "link").symlink_to("/etc/hostname")
    for _ in range(2):
        server.advance(DELAY_MS)
        assert server.fetched() is None
        server.reap()
        assert {name: body for name, body in tree(root).items() if name in strange} == strange
        server.close()
        server = start()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../up", "a:b", "", "x" * 219, "a b", "a\0b", "ä"])
def test_no_queue_has_a_name_that_is_no_folder_of_ours(start: Start, tmp_path: Path, name: str) -> None:
    server = start()
    before = sorted(tmp_path.rglob("*"))
    create = CreateQueue(queue_name(name), None, keeps_existing=True)
    publish = Publish(queue_name(name), (Draft(Content(b"x")),), IfMissing.CREATE)
    assert isinstance(server.ask(create), Refused)
    assert isinstance(server.ask(publish), Refused)
    assert server.fetched(name) is None
    assert sorted(tmp_path.rglob("*")) == before


def test_the_longest_name_of_a_queue_fits_into_every_folder(server: Server) -> None:
    longest = "q" * 218
    server.put(longest)
    server.post("hello", longest)
    delivery = server.fetch(longest)
    assert delivery is not None
    assert server.delete(delivery.id, longest)


def test_a_thousand_queues_are_found_again_and_served(start: Start) -> None:
    server = start()
    for number in range(1000):
        (server.root / "queues" / f"q{number}").mkdir()
    assert [server.fetched(f"q{number}") for number in (0, 500, 999)] == [None] * 3
    server.post("hello", "q777")
    server.crash()
    server = start()
    assert server.fetched("q777") == "hello"
    server.advance(DELAY_IS_OVER_MS)
    assert server.fetched("q777") == "hello"


def test_a_root_that_is_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailed, match="cannot make the folders"):
        SpoolStore(tmp_path / "file")
