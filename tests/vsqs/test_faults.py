"""An operation on a file fails, or the process dies at it, be it the first, the last or any in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.vsqs import Queue, files, names
from penstock.vsqs import queue as queue_module
from tests.vsqs.faulty import Fault, FaultyDirectory, die, fail
from tests.vsqs.support import NOW_MS, Clock, names_in

BODY = b"a message that is worth being whole"
OLD = {
    f"{NOW_MS - 5000}.{NOW_MS - 1}": b"expired",
    f"{NOW_MS - 4000}.{NOW_MS}": b"expires now",
    f"{NOW_MS - 3000}": b"ready",
    f"{NOW_MS - 2000}.{NOW_MS + 60_000}": b"with another consumer",
}
READY_ID, CONSUMED_ID = str(NOW_MS - 3000), str(NOW_MS - 2000)
OPERATIONS_MAX = 80
FEW = tuple(BODY + str(number).encode() for number in range(3))
MANY = tuple(BODY + str(number).encode() for number in range(10))


@dataclass
class Scene:
    """One call, and what follows from its success."""

    call: Callable[[Queue], object]
    published: tuple[bytes, ...] = ()
    deleted: bytes | None = None
    old: dict[str, bytes] = field(default_factory=lambda: dict(OLD))

    def kept_for_certain(self) -> set[bytes]:
        """What has to be there however the call went."""
        return set(self.old.values()) - {self.deleted}

    def kept_after_success(self) -> set[bytes]:
        return self.kept_for_certain() | set(self.published)

    def may_be_there(self) -> set[bytes]:
        """What may be there if nobody was told how it went."""
        return self.kept_after_success() | ({self.deleted} if self.deleted else set())


SCENES = {
    "publish": Scene(lambda queue: queue.publish(BODY), published=(BODY,)),
    "publish a few": Scene(lambda queue: queue.publish_many(FEW), published=FEW),
    "publish many": Scene(lambda queue: queue.publish_many(MANY), published=MANY),
    "receive": Scene(lambda queue: queue.receive(timeout=0), old={READY_ID: b"ready"}),
    "requeue and receive": Scene(lambda queue: queue.receive(timeout=0)),
    "delete what is ready": Scene(lambda queue: queue.delete(READY_ID), deleted=b"ready"),
    "delete what is consumed": Scene(
        lambda queue: queue.delete(CONSUMED_ID), deleted=b"with another consumer"
    ),
}

each_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@pytest.fixture(params=["moves", "links"], autouse=True)
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `links` the file system cannot rename without replacing."""
    if request.param == "links":
        monkeypatch.setattr(files, "_move_carefully", lambda *_: False)


@pytest.fixture
def faulty(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Scene, Fault], Queue]:
    """A queue in the state a scene begins with, on which a fault waits."""

    def make(scene: Scene, fault: Fault) -> Queue:
        directory.mkdir(exist_ok=True)
        for path in directory.iterdir():
            path.unlink()
        for name, body in scene.old.items():
            (directory / name).write_bytes(body)
        with monkeypatch.context() as patched:
            patched.setattr(queue_module, "Directory", lambda path: FaultyDirectory(path, fault))
            return Queue(directory, clock_us=Clock())

    return make


def strikes(fault_free: Fault) -> Iterator[int]:
    assert 0 < len(fault_free.operations) < OPERATIONS_MAX
    # One more than there are: after the last operation, before anybody is told.
    return iter(range(1, len(fault_free.operations) + 2))


def bodies_in(directory: Path) -> list[bytes]:
    """The messages that are there; whoever is half written is not yet a message."""
    found = [names.parse(name) for name in names_in(directory)]
    assert None not in found, "nothing else is ever put there"
    return [
        (directory / names.file_name(*file)).read_bytes()
        for file in found
        if file is not None and file.extension != names.NEW
    ]


def check(directory: Path, scene: Scene, *, is_acknowledged: bool) -> None:
    """Everything acknowledged is there, whole and once; nothing deleted is; a later consumer gets it all."""
    there = bodies_in(directory)
    assert len(set(there)) == len(there)
    if is_acknowledged:
        assert set(there) == scene.kept_after_success()
    else:
        assert scene.kept_for_certain() <= set(there) <= scene.may_be_there()
    day_later = Clock(NOW_MS + 24 * 3_600_000)
    with Queue(directory, clock_us=day_later) as queue:
        received = [queue.receive(timeout=0) for _ in there]
        assert [message_id for message_id, _ in received] == sorted(str(id_) for id_, _ in received)
        assert {body for _, body in received} == set(there)
        assert queue.receive(timeout=0) == (None, None)
        queue.publish(b"business as usual")


@each_scene
def test_a_process_that_dies_at_any_operation_leaves_everything_whole(
    scene: Scene, directory: Path, faulty: Callable[[Scene, Fault], Queue]
) -> None:
    fault_free = Fault(None, die)
    scene.call(faulty(scene, fault_free))
    check(directory, scene, is_acknowledged=True)
    for number in strikes(fault_free):
        queue = faulty(scene, Fault(number, die))
        child = os.fork()
        if child == 0:
            scene.call(queue)
            die("")
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        check(directory, scene, is_acknowledged=False)
        queue.close()


@each_scene
def test_an_operation_that_fails_is_told_and_breaks_nothing(
    scene: Scene, directory: Path, faulty: Callable[[Scene, Fault], Queue]
) -> None:
    fault_free = Fault(None, fail)
    scene.call(faulty(scene, fault_free))
    for number in strikes(fault_free):
        fault = Fault(number, fail)
        queue = faulty(scene, fault)
        try:
            scene.call(queue)
        except OSError:
            is_acknowledged = False
            assert not set(scene.published) & set(bodies_in(directory)), "it was reported as failed"
            removal_failed = "remove" in fault.operations[number - 1]
            assert removal_failed or not any(name.endswith(".new") for name in names_in(directory))
        else:
            is_acknowledged = True
        check(directory, scene, is_acknowledged=is_acknowledged)
        queue.close()


@each_scene
def test_what_failed_once_succeeds_when_it_is_tried_again(
    scene: Scene, directory: Path, faulty: Callable[[Scene, Fault], Queue]
) -> None:
    fault_free = Fault(None, fail)
    scene.call(faulty(scene, fault_free))
    for number in strikes(fault_free):
        queue = faulty(scene, Fault(number, fail))
        for _ in range(2):
            try:
                scene.call(queue)
            except OSError:
                continue
            break
        else:
            pytest.fail(f"failed twice: operation {number} of {fault_free.operations}")
        assert scene.kept_after_success() <= set(bodies_in(directory))
        assert scene.deleted not in bodies_in(directory)
        queue.close()


@each_scene
def test_a_call_syncs_what_it_promises_last(scene: Scene, faulty: Callable[[Scene, Fault], Queue]) -> None:
    fault = Fault(None, fail)
    scene.call(faulty(scene, fault))
    if scene.published:
        kinds = [" ".join(operation.split()[:3]) for operation in fault.operations]
        written = max(i for i, kind in enumerate(kinds) if kind.startswith("write"))
        synced = max(i for i, kind in enumerate(kinds) if kind in {"sync the file", "sync the files"})
        moved = min(i for i, kind in enumerate(kinds) if kind.startswith("move"))
        assert written < synced < moved
    if scene.published or scene.deleted:
        assert fault.operations[-1] == "sync the directory"
