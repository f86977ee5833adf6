"""One root, several programs: each follows what the others do."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.commands import Claim, DescribeQueue, Draft, IfMissing, Publish, Purge
from penstock.core.ids import from_uuid, to_uuid
from penstock.core.model import Content, Counts, Phase
from penstock.core.outcomes import Counted, Delivered, NoSuchQueue, Published, QueueShown
from penstock.stores.spool import Disk
from penstock.stores.spool import inotify as kernel
from penstock.stores.spool.inotify import Change, Inotify
from tests.engine.driving import Inbox
from tests.spool.naive import NaiveMqCore
from tests.spool.spooling import DELAY_IS_OVER_MS, Server, queue_name, tree

Start = Callable[..., Server]


def test_what_another_program_adds_is_moved_and_handed_out(server: Server, naive: NaiveMqCore) -> None:
    message_id = naive.add("jobs", "theirs")
    delivery = server.fetch()
    assert delivery is not None
    assert (delivery.id, delivery.content.body) == (from_uuid(message_id), b"theirs")
    assert tree(server.root) == {f"delay/jobs:{message_id}": "theirs"}


def test_what_we_add_another_program_fetches_deletes_and_reaps(server: Server, naive: NaiveMqCore) -> None:
    message_id = server.post("ours")
    assert naive.fetch("jobs") == (message_id, "ours")
    assert server.fetched() is None
    assert naive.delete("jobs", message_id)
    naive.reap()
    server.advance(DELAY_IS_OVER_MS)
    assert tree(server.root) == {}


def test_what_another_program_fetched_comes_back_after_the_delay(server: Server, naive: NaiveMqCore) -> None:
    server.post("ours")
    naive.fetch("jobs")
    server.settle()
    assert server.fetched() is None
    server.advance(DELAY_IS_OVER_MS)
    assert server.fetched() == "ours"


def test_what_we_fetched_another_mover_gives_back(server: Server, root: Path) -> None:
    message_id = server.post("ours")
    server.fetch()
    impatient = NaiveMqCore(root, delay_s=0)
    assert impatient.move_due() == 1
    assert server.fetched() == "ours"
    assert impatient.move_due() == 1
    assert impatient.fetch("jobs") == (message_id, "ours")


def test_a_queue_that_another_program_makes_and_removes_is_followed(
    server: Server, naive: NaiveMqCore
) -> None:
    naive.create("theirs")
    naive.add("theirs", "hello")
    naive.move_new()
    assert server.fetched("theirs") == "hello"
    shutil.rmtree(server.root / "queues" / "theirs")
    assert isinstance(server.ask(DescribeQueue(queue_name("theirs"))), NoSuchQueue)


def test_a_message_for_a_queue_that_is_not_there_yet_is_delivered_when_it_is(
    server: Server, naive: NaiveMqCore
) -> None:
    message_id = naive.add("later", "early")
    server.advance(5000)
    assert tree(server.root) == {f"new/later:{message_id}": "early"}
    server.put("later")
    server.advance(5000)
    assert server.fetched("later") == "early"


def test_a_file_still_being_written_in_new_is_not_moved(server: Server) -> None:
    path = server.root / "new" / "jobs:partly"
    with path.open("w") as file:
        file.write("first half, ")
        file.flush()
        assert server.fetched() is None
        file.write("second half")
    assert server.fetched() == "first half, second half"


def test_a_waiting_consumer_is_woken_by_another_programs_message(server: Server, naive: NaiveMqCore) -> None:
    inbox = Inbox()
    server.engine.submit(Claim((queue_name("jobs"),), wait_ms=60_000), inbox)
    server.engine.run()
    assert inbox.outcomes == []
    naive.add("jobs", "hello")
    server.settle()
    assert isinstance(inbox.outcome, Delivered)
    assert inbox.outcome.messages[0].content.body == b"hello"


def test_two_programs_that_know_nothing_of_each_other_share_the_work(
    server: Server, naive: NaiveMqCore
) -> None:
    lots = random.Random(7)
    added: set[str] = set()
    got: Counter[str] = Counter()

    def we_fetch() -> bool:
        delivery = server.fetch()
        if delivery is not None:
            server.delete(delivery.id)
            got[to_uuid(delivery.id)] += 1
        return delivery is not None

    def they_fetch() -> None:
        fetched = naive.fetch("jobs")
        if fetched is not None:
            naive.delete("jobs", fetched[0])
            got[fetched[0]] += 1

    deeds: list[Callable[[], object]] = [
        lambda: added.add(server.post("x")),
        lambda: added.add(naive.add("jobs", "x")),
        naive.move_new,
        they_fetch,
        we_fetch,
        we_fetch,
    ]
    for _ in range(600):
        lots.choice(deeds)()
    while we_fetch():
        pass
    assert got == Counter(added)


# When the kernel does not tell


def test_when_the_kernels_queue_runs_over_everything_is_looked_at_again(
    server: Server, naive: NaiveMqCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = server.post("gone")
    server.post("stays")
    told = Inotify.changes

    def overflowed(inotify: Inotify) -> list[Change]:
        return [Change(-1, kernel.OVERFLOWED, "")] if told(inotify) else []

    monkeypatch.setattr(Inotify, "changes", overflowed)
    naive.delete("jobs", gone)
    naive.create("made")
    naive.add("made", "hello")
    naive.move_new()
    assert server.fetched() == "stays"
    assert server.fetched() is None
    assert server.fetched("made") == "hello"


@pytest.mark.parametrize("refused", ["inotify_init1", "inotify_add_watch"])
def test_without_the_kernels_help_messages_are_still_found(
    start: Start, naive: NaiveMqCore, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    if refused == "inotify_init1":
        monkeypatch.setattr(Inotify, "__init__", lambda inotify: setattr(inotify, "descriptor", None))
    else:
        monkeypatch.setattr(Inotify, "watch", lambda *_: None)
    server = start()
    naive.create("jobs")
    message_id = naive.add("jobs", "hello")
    naive.move_new()
    assert server.fetched() == "hello"
    naive.add("jobs", "again")
    naive.move_new()
    assert server.fetched() == "again"
    assert server.delete(message_id)
    other = naive.add("jobs", "never seen")
    naive.move_new()
    assert server.delete(other)
    assert sorted(tree(server.root).values()) == ["again", "hello", "never seen"]
    assert [name for name in tree(server.root) if name.startswith("remove")] != []
    if server.spool.descriptor is None:
        server.close()


def test_a_folder_that_vanishes_is_made_again(server: Server) -> None:
    server.post("one")
    for folder in ("delay", "remove", "new"):
        shutil.rmtree(server.root / folder)
    delivery = server.fetch()
    assert delivery is not None
    assert server.delete(delivery.id)
    server.post("two")
    assert server.fetched() == "two"
    server.advance(DELAY_IS_OVER_MS)
    assert server.fetched() == "two"


def test_what_cannot_be_read_does_not_hide_the_next_message(start: Start) -> None:
    class Unreadable(Disk):
        def read(self, path: str) -> bytes:
            if path.endswith(unreadable):
                raise PermissionError(13, "Permission denied")
            return super().read(path)

    unreadable = "nothing yet"
    server = start(disk=Unreadable())
    server.put()
    unreadable = server.post("secret")
    server.post("plain")
    assert server.fetched() == "plain"
    assert sorted(tree(server.root).values()) == ["plain", "secret"]
    unreadable = "nothing any more"
    server.spool._survey.look()  # noqa: SLF001 - what its thread does twice a minute
    assert server.fetched() == "secret"


# Several at once


def test_a_purge_takes_what_is_there_and_leaves_what_comes(server: Server) -> None:
    drafts = tuple(Draft(Content(str(number).encode())) for number in range(700))
    published = server.ask(Publish(queue_name("jobs"), drafts, IfMissing.REFUSE))
    assert isinstance(published, Published)
    server.fetch()
    outcome = server.ask(Purge(queue_name("jobs"), (Phase.READY, Phase.CLAIMED, Phase.DELAYED)))
    assert outcome == Counted(700)
    server.post("later")
    shown = server.ask(DescribeQueue(queue_name("jobs")))
    assert isinstance(shown, QueueShown)
    assert shown.counts == Counts(ready=1)
    assert server.reap() == 700


def test_a_message_claimed_in_the_batch_of_its_publish_is_never_in_the_queue(server: Server) -> None:
    publish = Publish(queue_name("jobs"), (Draft(Content(b"hello")),), IfMissing.REFUSE)
    published = server.submit(publish)
    claimed = server.submit(Claim((queue_name("jobs"),)))
    server.settle()
    assert isinstance(published.outcome, Published)
    assert isinstance(claimed.outcome, Delivered)
    assert [*tree(server.root).values()] == ["hello"]
    assert next(iter(tree(server.root))).startswith("delay/jobs:")
