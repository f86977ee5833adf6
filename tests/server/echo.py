"""A dialect, an engine and a journal with nothing in them but what the server has to cope with."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from threading import Event
from urllib.parse import parse_qs

from penstock.core.commands import Command, DescribeMove
from penstock.core.outcomes import Crashed, Outcome, Refused, Unavailable
from penstock.dialects.http import (
    BodyRule,
    Denial,
    HealthCheck,
    JournalLatest,
    JournalQuery,
    Problem,
    Request,
    Response,
    ServerQuery,
)
from penstock.engine.asker import Asker
from penstock.keys.grants import Needs

BODY_BYTES_MAX = 100
LARGE_BODY_BYTES_MAX = 1_000_000


class EchoDialect:
    """Says back what it is told. Its commands carry text, and so do its engine's outcomes."""

    def __init__(self, name: str = "echo", roots: frozenset[str] | None = None) -> None:
        self.name = name
        self.roots = roots
        self.is_mute = False

    def credential(self, head: Request) -> bytes | None:
        return head.headers.get(b"x-key")

    def needs(self, head: Request) -> Needs:  # noqa: ARG002 - open to everybody
        return ()

    def body_rule(self, head: Request) -> BodyRule:
        match head.path:
            case "/cut":
                return BodyRule(5, cuts=True)
            case "/large":
                return BodyRule(LARGE_BODY_BYTES_MAX)
            case "/rule-crash":
                raise KeyError("secret")
            case _:
                return BodyRule(BODY_BYTES_MAX)

    def read(self, request: Request) -> Command | Response | ServerQuery:
        query = parse_qs(request.query)
        match request.path:
            case "/at-once":
                return Response(200, b"at once")
            case "/empty":
                return Response(204)
            case "/read-crash":
                raise KeyError("secret")
            case "/bad-header":
                return Response(200, b"", ((b"X-Of-A-Message", b"a\r\nSet-Cookie: stolen"),))
            case "/big-answer":
                return Response(200, b"x" * int(query["bytes"][0]))
            case "/head":
                return Response(200, repr((request.method, request.path, request.query)).encode())
            case "/id":
                return Response(200, request.request_id.encode())
            case "/health":
                return HealthCheck()
            case "/journal":
                return JournalQuery(int(query["after"][0]), int(query["limit"][0]), as_arrow=False)
            case "/journal/latest":
                return JournalLatest()
            case "/echo" | "/cut" | "/large" | "/rule-crash":
                return DescribeMove("say " + request.body.decode("latin-1"))
            case path:
                return DescribeMove(f"{path[1:]} {request.query}")

    def write(self, command: Command, outcome: Outcome, now_ms: int) -> Response:
        assert now_ms > 0
        assert isinstance(command, DescribeMove)
        assert isinstance(outcome, Refused)
        if outcome.reason == "unwritable":
            raise KeyError("secret")
        body = f"{self.name}: {outcome.reason}".encode("latin-1")
        return Response(200, body, ((b"Content-Type", b"text/plain"),))

    def refuse(self, problem: Problem, detail: str) -> Response:
        if self.is_mute:
            raise KeyError("secret")
        return Response(problem.value, f"{self.name} refuses: {detail}".encode())

    def deny(self, denial: Denial) -> Response:
        return Response(403, f"{self.name} denies: {denial.name}".encode())


class EchoEngine:
    """Answers each command with its text; `wait` waits for a `wake` or for its milliseconds to pass."""

    def __init__(self) -> None:
        self.is_healthy = True
        self.queue: deque[tuple[str, Asker]] = deque()
        self.waiting: dict[Asker, float] = {}  # by when to give up, in milliseconds
        self.batches: list[list[str]] = []
        self.untaken: list[str] = []  # answers that nobody was there to take
        self.is_broken = False
        self.batch_max = 1_000_000

    @property
    def is_idle(self) -> bool:
        return not self.queue

    def submit(self, command: Command, asker: Asker) -> None:
        assert isinstance(command, DescribeMove)
        self.queue.append((command.reference, asker))

    def withdraw(self, asker: Asker) -> bool:
        return self.waiting.pop(asker, None) is not None

    def run(self) -> None:
        if self.is_broken:
            raise RuntimeError("secret")
        batch = [self.queue.popleft() for _ in range(min(len(self.queue), self.batch_max))]
        if batch:
            self.batches.append([text for text, _ in batch])
        for text, asker in batch:
            self._do(text, asker)
        for asker in [asker for asker, until_ms in self.waiting.items() if until_ms <= self._now_ms()]:
            del self.waiting[asker]
            self._answer(asker, "nothing came")

    def milliseconds_to_next(self) -> float | None:
        if self.queue:
            return 0
        return max(0.0, min(self.waiting.values()) - self._now_ms()) if self.waiting else None

    @property
    def decided_at_ms(self) -> int:
        return int(self._now_ms())

    def end_waits(self) -> None:
        waiting, self.waiting = self.waiting, {}
        for asker in waiting:
            self._answer(asker, "nothing came")

    def _now_ms(self) -> float:
        return time.monotonic() * 1000

    def _do(self, text: str, asker: Asker) -> None:
        verb, _, rest = text.partition(" ")
        if not self.is_healthy:
            asker.answer(Unavailable())
        elif verb == "crash":
            asker.answer(Crashed())
        elif verb == "wait":
            self.waiting[asker] = self._now_ms() + float(rest or 60_000)
        elif verb == "wake":
            self._answer(asker, f"woke {self.wake()}")
        else:
            self._answer(asker, rest if verb == "say" else text.strip())

    def wake(self) -> int:
        for asker in list(self.waiting):
            del self.waiting[asker]
            if self._answer(asker, "woken"):
                return 1
        return 0

    def _answer(self, asker: Asker, text: str) -> bool:
        is_taken = asker.answer(Refused(text))
        if not is_taken:
            self.untaken.append(text)
        return is_taken


class PieceJournal:
    """A journal of numbered pieces. A piece below `after` 0 fails, and it can be held up between two."""

    def __init__(self) -> None:
        self.go = Event()
        self.go.set()
        self.asked_for = 0  # pieces
        self.closed = Event()
        self.piece_bytes = 0

    def latest(self) -> bytes:
        assert self.go.wait(5)
        return b'{"first": 1, "last": 9}'

    def stream(self, query: JournalQuery) -> tuple[str, Iterator[bytes]]:
        if query.after == -1:
            raise KeyError("secret")
        return "application/x-ndjson", self._pieces(query)

    def _pieces(self, query: JournalQuery) -> Iterator[bytes]:
        try:
            for number in range(query.after + 1, query.after + 1 + query.limit):
                assert self.go.wait(5)
                if number == 13:
                    raise KeyError("secret")
                self.asked_for += 1
                if number % 10 == 0:
                    yield b""  # a source may have nothing to say for a while
                yield (b"%d\n" % number).ljust(self.piece_bytes, b".")
        finally:
            self.closed.set()
