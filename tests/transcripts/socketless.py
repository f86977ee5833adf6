"""A stage without sockets: the dialect reads, the engine decides on the memory store, the dialect writes."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.commands import Command
from penstock.core.outcomes import Outcome
from penstock.dialects.http import (
    Dialect,
    HealthCheck,
    JournalLatest,
    JournalQuery,
    KeyRequest,
    Problem,
    Request,
    Response,
)
from penstock.dialects.wire import JSON_TYPE
from penstock.engine.engine import Engine
from penstock.keys.file import draw
from penstock.keys.ring import KeyRing
from penstock.server.routing import Router
from penstock.stores.memory import MemoryStore
from penstock.wiring import JournalAnswers
from tests.transcripts.player import STARTS_AT_MS, Answer, Question


class MovableClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = STARTS_AT_MS

    def __call__(self) -> int:
        return self.now_ms


def settle(engine: Engine) -> None:
    """Do everything that is due by now."""
    engine.run()
    while engine.milliseconds_to_next() == 0:
        engine.run()


class _Keys:
    """The keys of one stage, which asks nobody for one."""

    def __init__(self) -> None:
        self._ring = KeyRing()

    def answer(self, request: KeyRequest) -> Response:
        self._ring, response = request.edit(self._ring, draw())
        return response


class _Exchange:
    """One request on its way, and its answer once there is one."""

    def __init__(self, engine: Engine, journal: JournalAnswers, keys: _Keys, dialect: Dialect) -> None:
        self._engine = engine
        self._keys = keys
        self._journal = journal
        self._dialect = dialect
        self._command: Command | None = None
        self.response: Response | None = None

    def begin(self, request: Request) -> None:
        rule = self._dialect.body_rule(request)
        if len(request.body) > rule.bytes_max and not rule.cuts:
            self.response = self._dialect.refuse(Problem.BODY_TOO_LARGE, "the body is too large")
            return
        request.body = request.body[: rule.bytes_max]
        asked = self._dialect.read(request)
        match asked:
            case Response():
                self.response = asked
            case HealthCheck():
                self.response = Response(200, b"green")
            case JournalLatest():
                self.response = Response(200, self._journal.latest(), (JSON_TYPE,))
            case JournalQuery():
                content_type, pieces = self._journal.stream(asked)
                self.response = Response(200, b"".join(pieces), ((b"Content-Type", content_type.encode()),))
            case KeyRequest():
                self.response = self._keys.answer(asked)
            case _:
                self._command = asked
                self._engine.submit(asked, self)

    def answer(self, outcome: Outcome) -> bool:
        assert self._command is not None, "nothing was asked"
        self.response = self._dialect.write(self._command, outcome, self._engine.now_ms())
        return True


class SocketlessStage:
    """Everything in this thread."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._router = Router(dialects, dialects[0])
        self._clock = MovableClock()
        store = MemoryStore()
        self._engine = Engine(store, self._clock)
        self._journal = JournalAnswers(store.journal_reader())
        self._keys = _Keys()
        self._exchanges: dict[str, _Exchange] = {}

    def ask(self, label: str, question: Question) -> None:
        path, _, query = question.target.partition("?")
        headers = {name.lower().encode(): value for name, value in question.headers}
        dialect = self._router.route(question.method, path)
        exchange = self._exchanges[label] = _Exchange(self._engine, self._journal, self._keys, dialect)
        exchange.begin(Request(question.method, path, query, headers, question.body))
        settle(self._engine)

    def answer(self, label: str) -> Answer:
        response = self._exchanges.pop(label).response
        assert response is not None, f"no answer to {label or 'the last request'}"
        headers = {name.decode().lower(): value for name, value in response.headers}
        return Answer(response.status, headers, response.body)

    def has_answer(self, label: str) -> bool:
        return self._exchanges[label].response is not None

    def move_clock(self, milliseconds: int) -> None:
        self._clock.now_ms += milliseconds
        settle(self._engine)
