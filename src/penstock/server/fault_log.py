"""What goes wrong, as one JSON object per log line.

A line names the request by its id and says where our code failed. It never holds what a client sent: no
header, path, query or body, and no exception's message either, which may quote any of them.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable

import msgspec

LINES_PER_SECOND_MAX = 50

_log = logging.getLogger("penstock.server")


class FaultLog:
    """Writes fault lines, so many in a second at most: no client may fill a disk by failing quickly."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._lines = 0
        self._left_out = 0

    def refused(self, request_id: str, status: int, detail: str) -> None:
        """Something that is not a request we take, or not one in time."""
        fields = {"event": "refused", "request_id": request_id, "status": status, "detail": detail}
        self._write(logging.INFO, fields)

    def failed(self, request_id: str, status: int, dialect: str) -> None:
        """An answer of 500 or above."""
        fields = {"event": "failed", "request_id": request_id, "status": status, "dialect": dialect}
        self._write(logging.WARNING, fields)

    def keys_refused(self, detail: str) -> None:
        """Keys that cannot be used; `detail` names the file and what is wrong with it, and no key."""
        self._write(logging.ERROR, {"event": "keys_refused", "detail": detail})

    def crashed(self, request_id: str, doing: str, error: BaseException) -> None:
        """A fault of our own."""
        fields = {"event": "crashed", "request_id": request_id, "doing": doing, **_place(error)}
        self._write(logging.ERROR, fields)

    def _write(self, level: int, fields: dict[str, object]) -> None:
        if not _log.isEnabledFor(level):
            return
        second = int(self._clock())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines > LINES_PER_SECOND_MAX:
            self._left_out += 1
            return
        if self._left_out:
            fields["left_out_before"], self._left_out = self._left_out, 0
        _log.log(level, "%s", msgspec.json.encode(fields).decode())


def _place(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
