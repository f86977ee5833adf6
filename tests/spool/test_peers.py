"""Several servers on one root: nobody is handed what another has, nor told that there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.commands import Claim, DescribeQueue, Peek
from penstock.core.outcomes import Delivered, NoSuchQueue
from penstock.stores.spool import Disk
from penstock.stores.spool.inotify import Change, Inotify
from tests.spool.naive import NaiveMqCore
from tests.spool.spooling import DELAY_IS_OVER_MS, Server, queue_name, tree

Start = Callable[..., Server]


@pytest.mark.parametrize("peers", [0, 1, 5])
def test_no_server_is_handed_what_another_has_nor_told_that_there_is_nothing(
    start: Start, peers: int
) -> None:
    servers = [start(peers=peers) for _ in range(3)]
    servers[0].put()
    for number in range(90):
        servers[0 if peers == 0 else number % 3].post(str(number))
    got: list[str] = []
    for number in range(90):
        delivery = servers[number % 3].fetch()
        assert delivery is not None, "a message waits, and nobody got it"
        got.append(str(delivery.content.body, "ascii"))
    assert sorted(got, key=int) == [str(number) for number in range(90)]
    assert [server.fetched() for server in servers] == [None] * 3
    if peers == 0:
        assert got == [str(number) for number in range(90)]


class LateNews(Inotify):
    """A kernel that tells nothing for as long as a test likes: what it would tell comes in one go."""

    is_held_back = False

    def changes(self) -> list[Change]:
        return [] if self.is_held_back else super().changes()


def test_a_lost_race_means_another_message_and_never_an_empty_answer(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.stores.spool.store.Inotify", LateNews)
    ours, theirs = start(), start()
    ours.put()
    for number in range(20):
        ours.post(str(number))
    theirs.settle()
    monkeypatch.setattr(LateNews, "is_held_back", True)
    assert [theirs.fetched() for _ in range(12)] == [str(number) for number in range(12)]
    assert ours.fetched() == "12"
    outcome = theirs.ask(Claim((queue_name("jobs"),), limit=4))
    assert isinstance(outcome, Delivered)
    assert [delivery.content.body for delivery in outcome.messages] == [b"13", b"14", b"15"]
    peeked = ours.ask(Peek(queue_name("jobs"), 3))
    assert isinstance(peeked, Delivered)
    assert [delivery.content.body for delivery in peeked.messages] == [b"16", b"17", b"18"]
    monkeypatch.setattr(LateNews, "is_held_back", False)


def test_a_message_taken_between_its_reading_and_its_claim_is_not_handed_out_twice(
    start: Start, naive: NaiveMqCore
) -> None:
    class TakenMeanwhile(Disk):
        thief: NaiveMqCore | None = None

        def read(self, path: str) -> bytes:
            body = super().read(path)
            if self.thief is not None:
                self.thief.fetch("jobs")
                self.thief = None
            return body

    disk = TakenMeanwhile()
    server = start(disk=disk)
    server.put()
    for body in ("theirs", "ours"):
        server.post(body)
    disk.thief = naive
    assert server.fetched() == "ours"
    disk.thief = naive
    server.post("theirs too")
    assert server.fetched() is None


def test_a_message_that_another_mover_moved_first_is_handed_out_all_the_same(
    start: Start, naive: NaiveMqCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.stores.spool.store.Inotify", LateNews)
    naive.create("jobs")
    naive.add("jobs", "hello")
    server = start()
    monkeypatch.setattr(LateNews, "is_held_back", True)
    naive.move_new()
    server.advance(5000)  # it is due to be moved by us, and not there any more
    monkeypatch.setattr(LateNews, "is_held_back", False)
    server.spool._survey.look()  # noqa: SLF001 - what its thread does twice a minute
    assert server.fetched() == "hello"


def test_a_server_that_missed_a_second_fetch_does_not_give_the_message_back_early(
    start: Start, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    monkeypatch.setattr("penstock.stores.spool.store.Inotify", LateNews)
    ours = start(delay_ms=200)
    ours.put()
    message_id = ours.post("hello")
    ours.fetch()
    monkeypatch.setattr(LateNews, "is_held_back", True)
    theirs = NaiveMqCore(root, delay_s=0)
    theirs.move_due()
    theirs.fetch("jobs")
    fetched_at_ms = (root / "delay" / f"jobs:{message_id}").stat().st_ctime_ns // 1_000_000
    ours.wall_ms = max(ours.wall_ms + 200, fetched_at_ms + 199)  # over for us, not for them
    ours.settle()
    if ours.wall_ms < fetched_at_ms + 200:
        assert tree(root) == {f"delay/jobs:{message_id}": "hello"}
    ours.advance(2000)
    assert tree(root) == {f"queues/jobs/{message_id}": "hello"}
    monkeypatch.setattr(LateNews, "is_held_back", False)


def test_a_queue_deleted_by_one_server_is_gone_for_the_other(start: Start) -> None:
    one, other = start(), start()
    one.put()
    one.post("hello")
    assert other.fetched() == "hello"
    one.drop()
    assert isinstance(other.ask(DescribeQueue(queue_name("jobs"))), NoSuchQueue)
    one.put()
    other.advance(DELAY_IS_OVER_MS)
    assert other.fetched() is None


def test_a_deleted_queue_takes_along_what_we_were_not_told_of(
    start: Start, naive: NaiveMqCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.stores.spool.store.Inotify", LateNews)
    server = start()
    server.put()
    server.post("fetched by them")
    monkeypatch.setattr(LateNews, "is_held_back", True)
    naive.fetch("jobs")
    naive.add("jobs", "added by them")
    server.drop()
    monkeypatch.setattr(LateNews, "is_held_back", False)
    server.put()
    server.advance(DELAY_IS_OVER_MS)
    assert server.fetched() is None
    assert server.reap() == 2


def test_a_message_landing_while_its_queue_is_deleted_goes_with_it(start: Start) -> None:
    class DeletesMeanwhile(Disk):
        other: Server | None = None

        def sync_directory(self, path: str) -> None:
            super().sync_directory(path)
            if path.endswith("/new") and self.other is not None:
                other, self.other = self.other, None
                other.drop()

    disk = DeletesMeanwhile()
    one, other = start(disk=disk), start()
    one.put()
    other.settle()
    disk.other = other
    one.post("hello")
    one.reap()
    one.put()
    assert one.fetched() is None
    assert tree(one.root) == {}


def test_a_message_that_is_moved_while_it_is_deleted_is_deleted_all_the_same(server: Server) -> None:
    message_id = server.post("hello")
    server.fetch()
    disk = server.spool._folders.disk  # noqa: SLF001 - the moment between two of its operations
    move, naive = disk.move, NaiveMqCore(server.root, delay_s=0)

    def move_late(source: str, target: str) -> None:
        disk.move = move  # type: ignore[method-assign]
        naive.move_due()
        move(source, target)

    disk.move = move_late  # type: ignore[method-assign]
    assert server.delete(message_id)
    assert tree(server.root) == {f"remove/jobs:{message_id}": "hello"}
