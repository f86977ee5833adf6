"""A full disk, a second owner, a stop under load: what the process as a whole does about them."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.crash.aftermath import FILE, examine
from tests.crash.clients import Clients
from tests.crash.history import History, faults
from tests.crash.server_process import PATIENCE_S, ServerProcess, environment, serve_command

STOP_S_MAX = 5.0
WAITING_CONSUMERS = 5

# One write in the words of each dialect, and how it says that nothing can be promised.
WRITES = {
    "mqs": ("POST", "/messages/q", b"x", "error"),
    "emodb": ("POST", "/queue/1/q/send", b'"x"', "message"),
    "lmstfy": ("PUT", "/api/default/q", b"x", "error"),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path) as running:
        running.wait_until_ready()
        running.make_queue("q", visibility_s=30)
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    using = Clients(History(), {"q": 30}, seed=1)
    yield using
    using.end()


def fill_disk(server: ServerProcess, file_bytes_max: int) -> None:
    """From now on no file of the server can grow past a size. It is told so as by a full disk."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (file_bytes_max, resource.RLIM_INFINITY))


def free_disk(server: ServerProcess) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)


def publish_until_refused(server: ServerProcess) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while server.ask("POST", "/messages/q", b"x" * 100_000)[0].status == 201:
        assert time.monotonic() < deadline, "a full disk is noticed"


def assert_nothing_is_promised(server: ServerProcess) -> None:
    for method, target in (("POST", "/messages/q"), ("GET", "/messages/q"), ("PUT", "/queues/other")):
        assert server.ask(method, target, b"{}")[0].status == 503
    response, answer = server.ask("GET", "/health")
    assert (response.status, answer) == (503, b"red")


@pytest.mark.parametrize("dialect", WRITES)
def test_on_a_full_disk_a_write_is_refused_in_the_words_of_its_dialect(
    server: ServerProcess, dialect: str
) -> None:
    fill_disk(server, 0)
    publish_until_refused(server)
    method, target, body, member = WRITES[dialect]
    connection = server.connect()
    connection.request(method, target, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert (response.status, response.getheader("Retry-After")) == (503, "1")
    assert list(answer) == [member]


def test_after_a_full_disk_nothing_is_promised_until_a_restart_even_if_there_is_room_again(
    server: ServerProcess,
) -> None:
    assert server.ask("GET", "/health")[1] == b"green"
    fill_disk(server, 0)
    publish_until_refused(server)
    assert_nothing_is_promised(server)
    free_disk(server)
    assert_nothing_is_promised(server)
    assert "restart" in server.log()
    server.terminate()
    with ServerProcess(server.data) as restarted:
        restarted.wait_until_ready()
        assert restarted.ask("GET", "/health")[1] == b"green"
        assert restarted.ask("POST", "/messages/q", b"x")[0].status == 201


@pytest.mark.parametrize("ending", ["kill", "terminate"])
def test_a_disk_that_fills_up_under_load_loses_nothing_that_was_promised(
    server: ServerProcess, clients: Clients, ending: str
) -> None:
    clients.start(server)
    eventually_promised(clients, 100)
    fill_disk(server, (server.data / f"{FILE}-wal").stat().st_size)
    publish_until_refused(server)
    clients.end()
    getattr(server, ending)()
    kept = examine(server.data, clients.journal)
    kept.ids_by_label.pop("x" * 100_000, None)
    assert faults(clients.history, kept.ids_by_label) == []
    assert {surprise.split()[-1] for surprise in clients.surprises} <= {"503"}
    with ServerProcess(server.data) as restarted:
        restarted.wait_until_ready()
        assert restarted.count("q") == kept.count_by_queue["q"]


def test_a_server_on_a_full_disk_still_stops_in_time_and_without_a_trace(server: ServerProcess) -> None:
    fill_disk(server, 0)
    publish_until_refused(server)
    log_before = server.log()
    assert server.terminate() < STOP_S_MAX
    assert "Traceback" not in server.log()[len(log_before) :]


def test_a_second_process_on_the_same_directory_is_told_who_owns_it(server: ServerProcess) -> None:
    second = subprocess.run(
        serve_command(server.data),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode == 2
    assert f"is in use by another penstock (process {server.process.pid})" in second.stderr
    assert "--data" in second.stderr
    assert server.ask("POST", "/messages/q", b"x")[0].status == 201


def test_the_directory_of_a_killed_server_is_free_at_once(server: ServerProcess) -> None:
    server.kill()
    with ServerProcess(server.data) as next_owner:
        next_owner.wait_until_ready()
        assert next_owner.count("q") == 0


def test_a_stop_under_load_ends_in_time_and_loses_nothing(server: ServerProcess, clients: Clients) -> None:
    clients.start(server)
    eventually_promised(clients, 100)
    seconds = server.terminate()
    clients.end()
    assert seconds < STOP_S_MAX
    assert server.process.returncode == 0
    assert server.log() == ""
    assert faults(clients.history, examine(server.data, clients.journal).ids_by_label) == []
    assert {surprise.split()[-1] for surprise in clients.surprises} <= {"503"}


def test_a_stop_answers_waiting_consumers_that_there_is_nothing(server: ServerProcess) -> None:
    with ThreadPoolExecutor(WAITING_CONSUMERS) as threads:
        connections = [server.connect() for _ in range(WAITING_CONSUMERS)]
        for connection in connections:
            connection.request("GET", "/messages/q", headers={"X-MQS-MAX-WAIT-TIME": "20"})
        answers = [threads.submit(connection.getresponse) for connection in connections]
        # Whoever asks after them is answered after they were read, and so while they wait.
        server.count("q")
        seconds = server.terminate()
        responses: list[HTTPResponse] = [answer.result(PATIENCE_S) for answer in answers]
    assert seconds < STOP_S_MAX
    assert [(response.status, response.getheader("Connection")) for response in responses] == [
        (204, "close")
    ] * WAITING_CONSUMERS
    for connection in connections:
        connection.close()


def eventually_promised(clients: Clients, count: int) -> None:
    """Wait until the load is well under way."""
    deadline = time.monotonic() + PATIENCE_S
    while sum(life.publish_was_promised for life in list(clients.history.lives.values())) < count:
        assert time.monotonic() < deadline, "the clients publish"
        time.sleep(0.01)
