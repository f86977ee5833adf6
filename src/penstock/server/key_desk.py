"""Answers requests about keys: in a thread, because a change waits for a lock and for the disk."""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import TYPE_CHECKING

from penstock.core.errors import KeyFileError
from penstock.dialects.http import KeyRequest, Problem, Response
from penstock.keys.file import KeyFile

if TYPE_CHECKING:
    from penstock.server.exchange import Exchange
    from penstock.server.service import Service


class KeyDesk:
    """The one place of the server that changes the file of keys."""

    def __init__(self, service: Service, file: KeyFile | None) -> None:
        self._service = service
        self._file = file

    def answer(self, exchange: Exchange, request: KeyRequest) -> None:
        assert self._file is not None, "a dialect about keys is served without a file of keys"
        self._service.streams.in_thread(
            partial(self._file.change, request.edit), partial(self._answered, exchange)
        )

    def _answered(self, exchange: Exchange, done: Future[Response]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, KeyFileError):
            self._service.log.keys_refused(str(error))
            exchange.refuse(Problem.UNAVAILABLE, "the file of keys cannot be changed now")
        elif error is not None:
            exchange.crash("changing keys", error)
        else:
            self._service.look_at_keys()  # before the client, told of its key, comes with it
            exchange.respond(done.result())
