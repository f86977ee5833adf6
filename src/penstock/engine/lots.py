"""Ids for new messages: the layout is the core's, the chance is drawn here."""

from __future__ import annotations

from os import urandom

from penstock.core.ids import MessageId, make_id

_TAGS_PER_DRAW = 1024  # one system call for many tags


class IdMaker:
    """Makes ids whose last 32 bits cannot be guessed."""

    def __init__(self) -> None:
        self._tags: list[int] = []

    def __call__(self, now_ms: int, sequence: int) -> MessageId:
        if not self._tags:
            drawn = memoryview(urandom(4 * _TAGS_PER_DRAW)).cast("I")
            self._tags = drawn.tolist()
        return make_id(now_ms, sequence, self._tags.pop())
