"""Any sequence of calls, on several queue objects and beside another program, against a plain dictionary."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.vsqs import Queue
from penstock.vsqs.names import expiry_like, moment_us, parse
from penstock.vsqs.watching import Watcher
from tests.vsqs.support import Clock, memory_directory, names_in

FOREIGN = "README"

whom = st.integers(0, 2)
spans_s = st.sampled_from([0, 0.0004, 0.001, 1, 2.5, 3600])


class Message:
    """What the model knows of one message."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.expiry = ""  # as in the file's name; empty while it is ready

    def is_over(self, now_us: int) -> bool:
        return bool(self.expiry) and moment_us(self.expiry) <= now_us


class QueueMachine(RuleBasedStateMachine):
    """The model: what is in the directory, and what the document says each call does to it."""

    def __init__(self) -> None:
        super().__init__()
        self.resources = contextlib.ExitStack()
        parent = self.resources.enter_context(tempfile.TemporaryDirectory(dir=memory_directory()))
        self.path = Path(parent) / "queue"
        self.clock = Clock()
        self.messages: dict[str, Message] = {}
        self.ids_ever: list[str] = []
        self.bodies = 0

    @initialize(first_is_told=st.booleans(), unit=st.sampled_from(["ms", "us"]))
    def open(self, first_is_told: bool, unit: str) -> None:  # noqa: FBT001 - hypothesis gives it by name
        self.queues = [
            self.resources.enter_context(Queue(self.path, unit=given, clock_us=self.clock))
            for given in ("ms", "us" if unit == "us" else "ms", "ms")
        ]
        self.are_told = [first_is_told, True, False]
        self.path.joinpath(FOREIGN).write_bytes(b"not a message")

    def kernel(self, who: int) -> contextlib.AbstractContextManager[object]:
        """For one that is not told of changes, the kernel has no watch to give."""
        if self.are_told[who]:
            return contextlib.nullcontext()
        return patch.object(Watcher, "subscribe", lambda *_: None)

    def requeue(self) -> None:
        for message in self.messages.values():
            if message.is_over(self.clock.now_us):
                message.expiry = ""

    def oldest_ready(self) -> str | None:
        ready = [id_ for id_, message in self.messages.items() if not message.expiry]
        return min(ready, key=lambda id_: (moment_us(id_), id_), default=None)

    @rule(who=whom)
    def publish(self, who: int) -> None:
        self.bodies += 1
        body = str(self.bodies).encode()
        with self.kernel(who):
            message_id = self.queues[who].publish(body)
        present_us = [moment_us(id_) for id_ in self.messages]
        assert moment_us(message_id) > max(present_us, default=0)
        assert message_id not in self.ids_ever
        self.ids_ever.append(message_id)
        self.messages[message_id] = Message(body)

    @rule(who=whom, visibility_s=spans_s)
    def receive(self, who: int, visibility_s: float) -> None:
        with self.kernel(who):
            received = self.queues[who].receive(visibility_timeout=visibility_s, timeout=0)
        self.requeue()
        message_id = self.oldest_ready()
        if message_id is None:
            assert received == (None, None)
            return
        assert received == (message_id, self.messages[message_id].body)
        expiry_us = self.clock.now_us + round(visibility_s * 1_000_000)
        self.messages[message_id].expiry = expiry_like(message_id, expiry_us)

    @precondition(lambda self: self.ids_ever)
    @rule(who=whom, data=st.data())
    def delete(self, who: int, data: st.DataObject) -> None:
        message_id = data.draw(st.sampled_from(self.ids_ever))
        with self.kernel(who):
            self.queues[who].delete(message_id)
        self.messages.pop(message_id, None)

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), visibility_ms=st.integers(1, 5000))
    def another_program_changes_a_message(self, data: st.DataObject, visibility_ms: int) -> None:
        message_id = data.draw(st.sampled_from(sorted(self.messages)))
        message = self.messages[message_id]
        path = self.path / (f"{message_id}.{message.expiry}" if message.expiry else message_id)
        match data.draw(st.sampled_from(["claim", "requeue", "delete"])):
            case "claim" if not message.expiry:
                message.expiry = expiry_like(message_id, self.clock.now_us + visibility_ms * 1000)
                os.rename(path, self.path / f"{message_id}.{message.expiry}")
            case "requeue" if message.expiry:
                message.expiry = ""
                os.rename(path, self.path / message_id)
            case "delete":
                os.unlink(path)
                del self.messages[message_id]
            case _:
                pass

    @rule(span_ms=st.sampled_from([0.001, 0.4, 1, 999, 2500, 3_600_000]))
    def time_goes_by(self, span_ms: float) -> None:
        self.clock.advance_ms(span_ms)

    @rule(span_ms=st.sampled_from([1, 2500, 3_600_000]))
    def the_clock_steps_back(self, span_ms: float) -> None:
        self.clock.advance_ms(-span_ms)

    @invariant()
    def the_directory_is_as_it_should_be(self) -> None:
        if not self.path.exists():
            return
        files = [parse(name) for name in names_in(self.path) if name != FOREIGN]
        expected = [(id_, message.expiry) for id_, message in self.messages.items()]
        assert sorted(file for file in files if file is not None) == sorted(expected)
        for who, queue in enumerate(self.queues):
            with self.kernel(who):
                assert queue.size() == len(self.messages)

    def teardown(self) -> None:
        self.resources.close()


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=40)
