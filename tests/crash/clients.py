"""Programs that use the queue while it is killed under them: publishers, consumers, a reader of the journal.

Each has a thread and one connection that it keeps. It ends with its connection, or when it is told to.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPMessage
from itertools import count

from tests.crash.history import History
from tests.crash.server_process import ServerProcess

PUBLISHERS = 2
CONSUMERS = 5  # a delivery takes two requests, and some are abandoned
ABANDONED_SHARE = 0.15  # deliveries that are never deleted, and so come again
WAITING_SHARE = 0.2  # receives that wait for a message
LARGE_SHARE = 0.02  # bodies that do not fit in a page of the file
LARGE_BYTES = 60_000
SMALL_BYTES_MAX = 1_500


class Journal:
    """The lines of the journal that a reader saw, from the first on."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.compared = 0  # so many of them were seen to outlive a crash


class Clients:
    """Everybody who uses one server, from its start until it is gone."""

    def __init__(self, history: History, visibilities_s: Mapping[str, int], seed: int) -> None:
        self.history = history
        self.journal = Journal()
        self.surprises: list[str] = []  # answers that nobody should get
        self._visibilities_s = visibilities_s
        self._random = random.Random(seed)
        self._labels = count()
        self._is_ending = threading.Event()
        self._has_no_power = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, server: ServerProcess) -> None:
        self._is_ending.clear()
        self._has_no_power.clear()
        roles = [*[self._publish] * PUBLISHERS, *[self._consume] * CONSUMERS, self._read_journal]
        for role in roles:
            chance = random.Random(self._random.random())
            self._threads.append(threading.Thread(target=self._work, args=(server, role, chance)))
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Tell all of them to end, and wait until they have."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _work(
        self,
        server: ServerProcess,
        role: Callable[[HTTPConnection, random.Random], None],
        chance: random.Random,
    ) -> None:
        connection = server.connect()
        try:
            while not self._is_ending.is_set():
                role(connection, chance)
        except (OSError, HTTPException):
            pass  # the server was killed, which is what it is here for
        finally:
            connection.close()

    def lose_power(self) -> None:
        """Hear nothing from now on: a machine whose power is cut sends no more answers.

        Ours lives on without its disk, and a file system that is cut off in the middle of a sync may still
        report that sync as done.
        """
        self._has_no_power.set()

    def _ask(
        self,
        connection: HTTPConnection,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, HTTPMessage, bytes]:
        answer = exchange(connection, method, target, body, headers)
        if self._has_no_power.is_set():
            raise HTTPException("the power was cut")
        return answer

    def _publish(self, connection: HTTPConnection, chance: random.Random) -> None:
        queue = chance.choice(list(self._visibilities_s))
        label = f"m{next(self._labels)}"
        size = LARGE_BYTES if chance.random() < LARGE_SHARE else chance.randrange(SMALL_BYTES_MAX)
        self.history.publish_tried(label, queue)
        body = f"{label} ".encode().ljust(size, b".")
        status, _, _ = self._ask(connection, "POST", f"/messages/{queue}", body)
        if status == 201:
            self.history.publish_promised(label)
        else:
            self._wonder("publish", status)

    def _consume(self, connection: HTTPConnection, chance: random.Random) -> None:
        queue = chance.choice(list(self._visibilities_s))
        label = self.receive(connection, queue, wait_s=int(chance.random() < WAITING_SHARE))
        if label is not None and chance.random() > ABANDONED_SHARE:
            self.delete(connection, label)

    def receive(self, connection: HTTPConnection, queue: str, wait_s: int) -> str | None:
        """The label of the next message; None if there is none."""
        asked_at = self.history.now()
        headers = {"X-MQS-MAX-WAIT-TIME": str(wait_s)}
        status, answer_headers, body = self._ask(connection, "GET", f"/messages/{queue}", None, headers)
        if status != 200:
            self._wonder("receive", status, but_for=204)
            return None
        label = label_of(body)
        message_id = answer_headers["X-MQS-MESSAGE-ID"]
        self.history.received(label, message_id, asked_at, self._visibilities_s[queue])
        return label

    def delete(self, connection: HTTPConnection, label: str) -> None:
        self.history.delete_tried(label)
        message_id = self.history.lives[label].receives[-1].message_id
        status, _, _ = self._ask(connection, "DELETE", f"/messages/{message_id}")
        if status == 204:
            self.history.delete_promised(label)
        elif status == 404:
            self.history.delete_missed(label)
        else:
            self._wonder("delete", status)

    def _read_journal(self, connection: HTTPConnection, chance: random.Random) -> None:  # noqa: ARG002
        lines = self.journal.lines
        headers = {"Accept": "application/x-ndjson"}
        status, _, body = self._ask(connection, "GET", f"/journal?after={len(lines)}", None, headers)
        if status != 200:
            self._wonder("journal", status)
            return
        for line in body.splitlines():
            assert json.loads(line)["sequence"] == len(lines) + 1, "the journal has no holes"
            lines.append(line)
        self._is_ending.wait(0.02)

    def _wonder(self, what: str, status: int, but_for: int | None = None) -> None:
        if status != but_for:
            self.surprises.append(f"{what} was answered {status}")


def label_of(body: bytes) -> str:
    return body.split(b" ", 1)[0].decode()


def exchange(
    connection: HTTPConnection,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, HTTPMessage, bytes]:
    """One request and its answer: status, headers, body."""
    connection.request(method, target, body, dict(headers or {}))
    response = connection.getresponse()
    return response.status, response.headers, response.read()
