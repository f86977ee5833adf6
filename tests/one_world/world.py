"""The whole service as clients see it: all dialects on one port, over sqlite, with a clock to be moved."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from penstock.config import Config
from penstock.wiring import dialects
from tests.transcripts.over_port import OverPortStage
from tests.transcripts.player import Answer, Question

JSON = {"Content-Type": "application/json"}

SETTINGS = {"retention_timeout": 3600, "visibility_timeout": 30}


class Counts(NamedTuple):
    """What a queue holds, as all dialects of its namespace agree."""

    there: int  # ready, delayed and claimed
    ready: int
    claimed: int


class World:
    """Everything as it is wired by default."""

    def __init__(self, directory: Path) -> None:
        self.stage = OverPortStage(list(dialects(Config()).values()), directory)

    def __enter__(self) -> Self:
        self.stage.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stage.__exit__(kind, error, trace)

    def ask(
        self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        """One request and its answer."""
        self.begin("", method, target, body, headers)
        return self.stage.answer("")

    def begin(
        self, label: str, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        """A request whose answer is fetched from `stage` by its label, once it is there."""
        encoded = [(name, value.encode("latin-1")) for name, value in (headers or {}).items()]
        self.stage.ask(label, Question(method, target, encoded, body))

    def ask_json(
        self, method: str, target: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Any:
        """One request that succeeds with JSON, or fails the test."""
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self.ask(method, target, sent, headers)
        assert answer.status in {200, 201}, answer
        return json.loads(answer.body)

    def pass_ms(self, milliseconds: int) -> None:
        self.stage.move_clock(milliseconds)

    def pass_s(self, seconds: int) -> None:
        self.stage.move_clock(seconds * 1000)

    def make_queue(self, name: str, **settings: object) -> None:
        """A queue as mqs makes it: the one dialect with words for every setting."""
        self.ask_json("PUT", f"/queues/{name}", SETTINGS | settings)

    def describe(self, name: str) -> dict[str, Any]:
        """A queue as mqs tells of it."""
        described: dict[str, Any] = self.ask_json("GET", f"/queues/{name}")
        return described

    def counts(self, name: str, namespace: str = "default") -> Counts:
        """What is in a queue; fails where two dialects differ."""
        service = "dedupq" if namespace == "dedup" else "queue"
        counts = Counts(
            there=self.ask_json("GET", f"/{service}/1/{name}/size"),
            ready=self.ask_json("GET", f"/api/{namespace}/{name}/size")["size"],
            claimed=self.ask_json("GET", f"/{service}/1/{name}/claimcount"),
        )
        if namespace == "default" and self.ask("GET", f"/queues/{name}").status == 200:
            status = self.describe(name)["status"]
            assert (status["messages"], status["visible_messages"]) == counts[:2]
        return counts

    def dead(self, name: str, namespace: str = "default") -> int:
        """How many messages are in a queue's own dead letter sink."""
        told = self.ask_json("GET", f"/api/{namespace}/{name}/deadletter/size")
        return int(told["size"])

    def journal(self, *columns: str, after: int = 0) -> list[tuple[Any, ...]]:
        """These columns of all that happened to messages."""
        answer = self.ask("GET", f"/journal?after={after}", headers={"Accept": "application/x-ndjson"})
        records = [json.loads(line) for line in answer.body.splitlines()]
        return [tuple(record[column] for column in columns) for record in records if record["message_id"]]
