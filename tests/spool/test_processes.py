"""Real processes on one root: killed, in pairs, and each daemon alone."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli import main
from tests.spool.processes import PATIENCE_S, Client, Daemon, Load, MqServer
from tests.spool.spooling import tree


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait for what another process does in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.01)


@pytest.mark.slow
def test_what_was_promised_holds_through_kills_in_mid_load(root: Path) -> None:
    loads: list[Load] = []
    for _ in range(4):
        with MqServer(root) as server:
            server.client().ask("PUT", "/jobs")
            load = Load(server)
            load.start(until_deleted=30)
            server.kill()
            load.join()
        loads.append(load)
        for each in loads:
            # What an earlier life left may have been deleted in a later one.
            each.deleted |= load.deleted & each.added.keys()
            each.in_doubt |= load.in_doubt & each.added.keys()
            each.check(root)


@pytest.mark.slow
@pytest.mark.parametrize("peers", [0, 1])
def test_two_servers_hand_out_every_message_once_and_say_empty_only_at_the_end(
    root: Path, peers: int
) -> None:
    count, consumers = 400, 4
    with MqServer(root, peers=peers) as one, MqServer(root, peers=peers) as other:
        client = one.client()
        client.ask("PUT", "/jobs")
        for number in range(count):
            assert client.ask("POST", "/jobs/messages", str(number).encode())[0] == 201
        got: Counter[bytes] = Counter()
        too_early: list[int] = []

        def consume(client: Client) -> None:
            while True:
                status, _, body = client.ask("GET", "/jobs/messages")
                if status == 204:
                    # Every other consumer may just be being handed one.
                    if sum(got.values()) < count - (consumers - 1):
                        too_early.append(sum(got.values()))
                    return
                got[body] += 1

        clients = [server.client() for server in (one, other) * (consumers // 2)]
        threads = [threading.Thread(target=consume, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert got == Counter({str(number).encode(): 1 for number in range(count)})
        assert too_early == []


def test_each_daemon_does_its_part_alone(root: Path) -> None:
    with MqServer(root, "mq-core", "mq", delay_s=3) as server:
        client = server.client()
        client.ask("PUT", "/jobs")
        _, message_id, _ = client.ask("POST", "/jobs/messages", b"hello")
        assert tree(root) == {f"new/jobs:{message_id}": "hello"}
        assert client.ask("GET", "/jobs/messages")[0] == 204
        with Daemon(root, "mq-core", "mover", delay_s=3) as mover:
            eventually(lambda: tree(root) == {f"queues/jobs/{message_id}": "hello"})
            assert client.ask("GET", "/jobs/messages") == (200, message_id, b"hello")
            assert tree(root) == {f"delay/jobs:{message_id}": "hello"}
            eventually(lambda: tree(root) == {f"queues/jobs/{message_id}": "hello"})
            assert mover.stop() == 0
        assert client.ask("DELETE", f"/jobs/messages/{message_id}")[0] == 202
        assert tree(root) == {f"remove/jobs:{message_id}": "hello"}
        with Daemon(root, "mq-core", "reaper") as reaper:
            eventually(lambda: tree(root) == {})
            assert reaper.stop() == 0
        assert server.stop() == 0


def test_one_process_is_all_three_by_default(root: Path) -> None:
    with MqServer(root, delay_s=0.3) as server:
        client = server.client()
        client.ask("PUT", "/jobs")
        (root / "new" / "jobs:by-hand").write_text("hello")
        eventually(lambda: client.ask("GET", "/jobs/messages")[2] == b"hello")
        eventually(lambda: client.ask("GET", "/jobs/messages")[2] == b"hello")
        _, message_id, _ = client.ask("POST", "/jobs/messages", b"ours")
        client.ask("DELETE", f"/jobs/messages/{message_id}")
        eventually(lambda: "ours" not in tree(root).values())


@pytest.mark.parametrize("daemon", ["mq", "mover", "reaper"])
def test_a_daemon_without_a_spool_is_refused_in_a_sentence(
    daemon: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["mq-core", daemon, "--store", "memory:"])
    assert ended.value.code == 2
    assert "--store spool:PATH" in capsys.readouterr().err
