"""One request and its answer.

Whatever goes wrong while a dialect or the engine is asked becomes a status here and nowhere else. A client is
told that we failed, never how: that is in the log, under the id that its answer carries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.core.commands import Command
from penstock.core.outcomes import Crashed, Outcome, Unavailable
from penstock.dialects.http import (
    Dialect,
    HealthCheck,
    JournalLatest,
    JournalQuery,
    KeyRequest,
    Problem,
    Request,
    Response,
    ServerQuery,
)
from penstock.keys.holders import Holder
from penstock.server.encode import CLOSE, KEEP_ALIVE
from penstock.server.refusals import Refusal, plain

if TYPE_CHECKING:
    from penstock.server.answers import AnswerLine
    from penstock.server.streams import Stream

_FAULTS = (Unavailable, Crashed)
_SERVER_QUERIES = (JournalQuery, JournalLatest, HealthCheck, KeyRequest)

_FAILED = "the service failed; its log has more under this request's id"
_STORE_FAILED = "the store failed; nothing can be promised until the service is restarted"


class Exchange(msgspec.Struct, eq=False):
    """Made when a request's head is read, done when its answer is on its way. The engine's asker.

    A struct, because one is made for every request: half the cost of a class with slots.
    """

    line: AnswerLine
    dialect: Dialect
    request: Request
    keeps_open: bool  # the client wants the connection for another request
    is_head: bool = False  # send the head of the answer only
    is_http_1_0: bool = False
    awaits_continue: bool = False  # the client sends its body once it is told to
    lingers: bool = False  # the client may still be sending: let it read the answer before closing
    holder: Holder | None = None  # whose key it shows; None: keys are not in use, or it needs none
    denied: Refusal | None = None  # what its head was answered with: the rest of it is not looked at
    command: Command | None = None  # while the engine has it
    stream: Stream | None = None  # the answer, when it is one that is written piece by piece
    ready: bytes | None = None  # the answer, while those before it are not given
    closes: bool = False  # decided when the answer is written down

    def begin(self) -> None:
        """Find out what the request asks for, and ask it."""
        if self.denied is not None:
            self.decline(self.denied)
            return
        service = self.line.service
        try:
            asked = self.dialect.read(self.request)
        except Exception as error:  # noqa: BLE001 - a fault in one dialect must not reach the other clients
            self.crash(f"reading {self.dialect.name}", error)
            return
        if isinstance(asked, Response):
            self.respond(asked)
        elif isinstance(asked, _SERVER_QUERIES):
            self._ask_server(asked)
        elif service.guard.is_on:
            self._ask_by_key(asked)
        else:
            self.command = asked
            service.pump.submit(asked, self)

    def _ask_by_key(self, command: Command) -> None:
        service = self.line.service
        admitted = service.guard.admit(self.dialect, self.holder, command)
        if isinstance(admitted, Refusal):
            self.decline(admitted)
        else:
            self.command = admitted
            service.pump.submit(admitted, self)

    def _ask_server(self, query: ServerQuery) -> None:
        service = self.line.service
        refusal = service.guard.deny_query(self.dialect, self.holder, query) if service.guard.is_on else None
        if refusal is not None:
            self.decline(refusal)
        else:
            service.streams.answer(self, query)

    def answer(self, outcome: Outcome) -> bool:
        """Tell the client how its command went. False: it has gone, and takes nothing."""
        command, self.command = self.command, None
        assert command is not None, "answered twice"
        if isinstance(outcome, _FAULTS):
            return self._confess(outcome)
        try:
            response = self.dialect.write(command, outcome, self.line.service.engine.decided_at_ms)
        except Exception as error:  # noqa: BLE001 - a fault in one dialect must not reach the other clients
            return self.crash(f"writing {self.dialect.name}", error)
        return self.respond(response)

    def _confess(self, fault: Unavailable | Crashed) -> bool:
        if isinstance(fault, Crashed):
            return self.refuse(Problem.INTERNAL, _FAILED)
        return self.refuse(Problem.UNAVAILABLE, _STORE_FAILED)

    def respond(self, response: Response) -> bool:
        if response.status >= 500:
            self.line.service.log.failed(self.request.request_id, response.status, self.dialect.name)
        return self._give(response)

    def refuse(self, problem: Problem, detail: str) -> bool:
        return self.respond(self._in_words(problem, detail))

    def turn_down(self, refusal: Refusal) -> None:
        """Refuse, and close the connection: what the client sends from here on cannot be made sense of."""
        self.keeps_open = False
        self.lingers = True
        self.decline(refusal)

    def decline(self, refusal: Refusal) -> None:
        """Refuse this request only."""
        self.line.service.log.refused(self.request.request_id, refusal.status, refusal.detail)
        if refusal.response is not None:
            self._give(refusal.response)
        elif refusal.problem is None:
            self._give(plain(refusal.status, refusal.detail))
        else:
            self._give(self._in_words(refusal.problem, refusal.detail))

    def recheck(self) -> None:
        """End a wait that the keys now in force do not allow. Only asked when nothing else is under way."""
        service = self.line.service
        if self.command is None:
            return
        refusal = service.guard.recheck(self.dialect, self.holder, self.command)
        if refusal is not None:
            service.pump.withdraw(self)
            self.command = None
            self.decline(refusal)

    def crash(self, doing: str, error: BaseException) -> bool:
        """Answer for a fault of our own."""
        self.line.service.log.crashed(self.request.request_id, doing, error)
        return self._give(self._in_words(Problem.INTERNAL, _FAILED))

    def connection_header(self) -> bytes:
        """Decide what becomes of the connection after this answer, and how the client is told."""
        if not self.keeps_open or self.line.ends_with(self):
            self.closes = True
            return CLOSE
        return KEEP_ALIVE if self.is_http_1_0 else b""

    def _give(self, response: Response) -> bool:
        line, request_id = self.line, self.request.request_id
        encoder = line.service.encoder
        is_plain = self.keeps_open and not self.is_http_1_0 and not line.is_ending
        connection = b"" if is_plain else self.connection_header()
        try:
            data = encoder.encode(response, request_id, connection, is_head=self.is_head)
        except Exception as error:  # noqa: BLE001 - no response at all: a fault of its dialect
            line.service.log.crashed(request_id, f"encoding {self.dialect.name}", error)
            data = encoder.encode(plain(500, _FAILED), request_id, connection, is_head=self.is_head)
        return line.deliver(self, data)

    def _in_words(self, problem: Problem, detail: str) -> Response:
        try:
            return self.dialect.refuse(problem, detail)
        except Exception as error:  # noqa: BLE001 - the last resort must not fail
            self.line.service.log.crashed(self.request.request_id, f"refusing {self.dialect.name}", error)
            return plain(problem.value, detail)
