"""Consumers that wait in the world whose clock is moved, one for each dialect that can."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Protocol

from tests.one_world.world import World


class Waiter(Protocol):
    """One consumer at a time, under its label."""

    world: World
    label: str

    def wait(self, queue: str, seconds: int) -> None:
        """Begin to wait."""
        ...

    def got(self) -> bytes | None:
        """The body that came, or None if the time was up; waits for the answer on its way."""
        ...


class LmstfyWaiter:
    """Waits at one queue or at several."""

    def __init__(self, world: World, label: str = "lmstfy") -> None:
        self.world = world
        self.label = label

    def wait(self, queue: str, seconds: int) -> None:
        self.world.begin(self.label, "GET", f"/api/default/{queue}?timeout={seconds}")

    def got(self) -> bytes | None:
        answer = self.world.stage.answer(self.label)
        told = json.loads(answer.body)
        if answer.status == 404:
            assert told == {"msg": "no job available"}
            return None
        assert answer.status == 200, answer
        return b64decode(told["data"])


class MqsWaiter:
    """Waits at a queue that is there."""

    def __init__(self, world: World, label: str = "mqs") -> None:
        self.world = world
        self.label = label

    def wait(self, queue: str, seconds: int) -> None:
        self.world.begin(
            self.label, "GET", f"/messages/{queue}", headers={"X-MQS-MAX-WAIT-TIME": str(seconds)}
        )

    def got(self) -> bytes | None:
        answer = self.world.stage.answer(self.label)
        if answer.status == 204:
            return None
        assert answer.status == 200, answer
        return answer.body


def is_waiting(waiter: Waiter) -> bool:
    """Whether there is no answer yet, once the server has had a turn to give one."""
    waiter.world.ask("GET", "/health")
    return not waiter.world.stage.has_answer(waiter.label)
