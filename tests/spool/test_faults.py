"""Whatever operation on whatever file fails or is the last one: what was acknowledged holds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.core.commands import Acknowledge, Claim, CreateQueue, Draft, IfMissing, Publish
from penstock.core.ids import MessageId, to_uuid
from penstock.core.model import Content
from penstock.core.outcomes import Delivered, Ended, Outcome, Published, QueueShown, Unavailable
from tests.spool.spooling import DELAY_IS_OVER_MS, FailingDisk, Killed, Server, queue_name, tree

JOBS = queue_name("jobs")
LIVING = ("new/", "queues/", "delay/")


class Conversation:
    """A client that adds, fetches, waits for a redelivery and deletes, and notes what it was promised."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.added: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.is_in_doubt: set[str] = set()  # asked to be deleted, and not told whether they were
        self.refusals = 0

    def hold(self) -> None:
        self.ask(CreateQueue(JOBS, None, keeps_existing=True))
        for body in ("first", "second", "third"):
            self.add(body)
        self.fetch()
        self.fetch()
        self.server.advance(DELAY_IS_OVER_MS)
        fetched = self.fetch()
        if fetched is not None:
            self.delete(fetched)
        for message_id in list(self.added)[-1:]:
            self.delete(bytes.fromhex(message_id.replace("-", "")))

    def ask(self, command: CreateQueue | Publish | Claim | Acknowledge) -> Outcome:
        outcome = self.server.ask(command)
        self.refusals += isinstance(outcome, Unavailable)
        return outcome

    def add(self, body: str) -> None:
        outcome = self.ask(Publish(JOBS, (Draft(Content(body.encode() * 1000)),), IfMissing.CREATE))
        if isinstance(outcome, Published):
            self.added[to_uuid(outcome.receipts[0].id)] = body * 1000

    def fetch(self) -> MessageId | None:
        outcome = self.ask(Claim((JOBS,), if_missing=IfMissing.EMPTY))
        if isinstance(outcome, Delivered) and outcome.messages:
            return outcome.messages[0].id
        return None

    def delete(self, message_id: MessageId) -> None:
        self.is_in_doubt.add(to_uuid(message_id))
        if isinstance(self.ask(Acknowledge("default", "jobs", (message_id,))), Ended):
            self.deleted.add(to_uuid(message_id))
            self.is_in_doubt.discard(to_uuid(message_id))

    def check_promises(self, root: Path) -> None:
        living = [(name, body) for name, body in tree(root).items() if name.startswith(LIVING)]
        there = {name.replace(":", "/").rpartition("/")[2]: body for name, body in living}
        assert len(living) == len(there), "a message is in two folders"
        assert not self.deleted & there.keys(), "a deleted message is back"
        owed = self.added.keys() - self.deleted - self.is_in_doubt
        assert {message_id: there.get(message_id) for message_id in owed} == {
            message_id: self.added[message_id] for message_id in owed
        }
        for body in there.values():
            assert body in ("first" * 1000, "second" * 1000, "third" * 1000), "a part of a message"


def operations_of_a_conversation(root: Path) -> range:
    """The numbers of all that happens once the server has started."""
    disk = FailingDisk()
    server = Server(root, disk=disk)
    first = disk.operations + 1
    Conversation(server).hold()
    server.close()
    return range(first, disk.operations + 1)


@pytest.fixture(params=["killed", errno.EIO, errno.ENOSPC], ids=["killed", "EIO", "ENOSPC"])
def fault(request: pytest.FixtureRequest) -> BaseException:
    return Killed() if request.param == "killed" else OSError(request.param, os.strerror(request.param))


def test_promises_hold_whichever_operation_fails(tmp_path: Path, fault: BaseException) -> None:
    operations = operations_of_a_conversation(tmp_path / "whole")
    assert len(operations) > 30
    for number in operations:
        root = tmp_path / str(number)
        server = Server(root, disk=FailingDisk(number, fault))
        conversation = Conversation(server)
        try:
            conversation.hold()
            is_killed = False
        except Killed:
            is_killed = True
        assert is_killed == isinstance(fault, Killed), f"operation {number}"
        assert is_killed or conversation.refusals, f"operation {number} failed and nobody was told"
        conversation.check_promises(root)
        server.crash()
        go_on_after(root, conversation)


def go_on_after(root: Path, conversation: Conversation) -> None:
    """A server that starts on what is left keeps the promises, and serves everything to its end."""
    server = Server(root)
    conversation.check_promises(root)
    server.advance(DELAY_IS_OVER_MS)
    while (delivery := server.fetch()) is not None:
        assert to_uuid(delivery.id) not in conversation.deleted
        assert server.delete(delivery.id)
    server.reap()
    assert tree(root) == {}
    server.close()


class FullDisk(FailingDisk):
    """It has no room for new files while it is full."""

    is_full = False

    def write_new(self, path: str, body: bytes) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write_new(path, body)


def test_a_full_disk_refuses_what_is_new_and_serves_what_is_there(root: Path) -> None:
    disk = FullDisk()
    server = Server(root, disk=disk)
    server.put()
    server.post("one")
    disk.is_full = True
    publish = Publish(JOBS, (Draft(Content(b"two")), Draft(Content(b"three"))), IfMissing.REFUSE)
    assert server.ask(publish) == Unavailable()
    delivery = server.fetch()
    assert delivery is not None
    assert server.delete(delivery.id)
    assert server.fetched() is None
    disk.is_full = False
    server.post("four")
    assert server.fetched() == "four"
    assert list((root / ".penstock" / "incoming").iterdir()) == []
    server.close()


def test_after_a_failed_sync_nothing_is_promised_any_more(root: Path) -> None:
    server = Server(root)
    server.put()
    server.crash()

    class FailsToSync(FailingDisk):
        def sync_file(self, file: int) -> None:  # noqa: ARG002
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    server = Server(root, disk=FailsToSync())
    publish = Publish(JOBS, (Draft(Content(b"two")),), IfMissing.REFUSE)
    assert server.ask(publish) == Unavailable()
    assert server.ask(Claim((JOBS,))) == Unavailable()
    assert not server.engine.is_healthy
    assert tree(root) == {}
    server.crash()


def test_a_publish_of_more_messages_than_files_may_be_open_is_kept_whole(root: Path) -> None:
    server = Server(root)
    server.put()
    inboxes = [
        server.submit(Publish(JOBS, (Draft(Content(str(number).encode())),) * 3, IfMissing.REFUSE))
        for number in range(200)
    ]
    server.settle()
    assert all(isinstance(inbox.outcome, Published) for inbox in inboxes)
    assert len(tree(root)) == 600
    assert [server.fetched() for _ in range(4)] == ["0", "0", "0", "1"]
    server.close()


def test_files_and_folders_are_synced_before_success_is_told(root: Path) -> None:
    order: list[str] = []

    class Noted(FailingDisk):
        def sync_file(self, file: int) -> None:
            order.append("sync body")
            super().sync_file(file)

        def sync_directory(self, path: str) -> None:
            order.append(f"sync {path.rpartition('/')[2]}")
            super().sync_directory(path)

        def move(self, source: str, target: str) -> None:
            order.append(f"move {'/'.join(target.split(':', maxsplit=1)[0].split('/')[-2:]).split('/')[0]}")
            super().move(source, target)

    server = Server(root, disk=Noted())
    server.put()
    del order[:]
    first = server.submit(Publish(JOBS, (Draft(Content(b"1")),), IfMissing.REFUSE))
    server.submit(Publish(JOBS, (Draft(Content(b"2")),), IfMissing.REFUSE))
    server.settle()
    assert order == ["sync body"] * 2 + ["move new"] * 2 + ["sync new"] + ["move jobs"] * 2
    assert isinstance(first.outcome, Published)
    del order[:]
    server.fetch()
    assert order[0] == "move delay"
    assert sorted(order[1:]) == ["sync delay", "sync jobs"]
    del order[:]
    server.delete(first.outcome.receipts[0].id)
    assert order[0] == "move remove"
    assert sorted(order[1:]) == ["sync delay", "sync remove"]
    server.close()


def test_a_queue_is_there_for_good_when_its_making_is_answered(root: Path) -> None:
    synced: list[str] = []

    class Noted(FailingDisk):
        def sync_directory(self, path: str) -> None:
            synced.append(path.rpartition("/")[2])
            super().sync_directory(path)

    server = Server(root, disk=Noted())
    del synced[:]
    assert isinstance(server.ask(CreateQueue(JOBS, None)), QueueShown)
    assert synced == ["queues"]
    del synced[:]
    server.drop()
    assert {"queues", "deleted"} <= set(synced)
    server.close()
