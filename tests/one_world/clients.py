"""One client for each dialect, with the same few verbs, so that any can stand on either side of a queue."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from penstock.core.ids import from_ulid, to_ulid
from tests.one_world.world import JSON, World
from tests.transcripts.player import Answer


class Content(NamedTuple):
    """A body and what is said of it."""

    body: bytes
    type: str = "application/octet-stream"
    encoding: str | None = None


class Received(NamedTuple):
    """A message in a consumer's hands."""

    id: UUID
    seen: Any  # the content, as far as the dialect carries it


class Client(Protocol):
    """Who publishes in, and consumes from, queues of one namespace."""

    name: ClassVar[str]  # as the journal has it
    hides_s: ClassVar[int]  # how long its claims hold
    namespace: str
    world: World

    def publish(self, queue: str, content: Content) -> UUID | None:
        """The new message's id, where the dialect tells it."""
        ...

    def kept(self, content: Content) -> Content:
        """What is left of a content that this client publishes."""
        ...

    def claim(self, queue: str) -> Received | None: ...

    def sees(self, content: Content) -> Any:
        """How this client is shown a content."""
        ...

    def acknowledge(self, queue: str, message_id: UUID) -> None: ...


def _headers(content: Content) -> dict[str, str]:
    headers = {"Content-Type": content.type}
    return headers if content.encoding is None else headers | {"Content-Encoding": content.encoding}


def _content(answer: Answer) -> Content:
    encoding = answer.headers.get("content-encoding")
    return Content(
        answer.body,
        answer.headers["content-type"].decode("latin-1"),
        None if encoding is None else encoding.decode("latin-1"),
    )


class MqsClient:
    """Hides a message as long as its queue says."""

    name: ClassVar[str] = "mqs"
    hides_s: ClassVar[int] = 30
    namespace = "default"

    def __init__(self, world: World) -> None:
        self.world = world

    def publish(self, queue: str, content: Content) -> UUID | None:
        answer = self.world.ask("POST", f"/messages/{queue}", content.body, _headers(content))
        assert answer.status == 201, answer
        return None

    def kept(self, content: Content) -> Content:
        return content

    def claim(self, queue: str) -> Received | None:
        answer = self.world.ask("GET", f"/messages/{queue}")
        if answer.status == 204:
            return None
        assert answer.status == 200, answer
        return Received(UUID(answer.headers["x-mqs-message-id"].decode()), _content(answer))

    def sees(self, content: Content) -> Content:
        return content

    def acknowledge(self, queue: str, message_id: UUID) -> None:  # noqa: ARG002 - an id is enough for mqs
        assert self.world.ask("DELETE", f"/messages/{message_id}").status == 204


class MqCoreClient:
    """Hides a message for the ten seconds that `mqcore.delay` is by default."""

    name: ClassVar[str] = "mqcore"
    hides_s: ClassVar[int] = 10
    namespace = "default"

    def __init__(self, world: World) -> None:
        self.world = world

    def publish(self, queue: str, content: Content) -> UUID | None:
        answer = self.world.ask("POST", f"/{queue}/messages", content.body, _headers(content))
        assert answer.status == 201, answer
        return UUID(answer.headers["x-message-id"].decode())

    def kept(self, content: Content) -> Content:
        return content

    def claim(self, queue: str) -> Received | None:
        answer = self.world.ask("GET", f"/{queue}/messages")
        if answer.status == 204:
            return None
        assert answer.status == 200, answer
        return Received(UUID(answer.headers["x-message-id"].decode()), _content(answer))

    def sees(self, content: Content) -> Content:
        return content

    def acknowledge(self, queue: str, message_id: UUID) -> None:
        assert self.world.ask("DELETE", f"/{queue}/messages/{message_id}").status == 202


class LmstfyClient:
    """Shows ULIDs and base64; a namespace is part of its paths."""

    name: ClassVar[str] = "lmstfy"
    hides_s: ClassVar[int] = 120

    def __init__(self, world: World, namespace: str = "default") -> None:
        self.world = world
        self.namespace = namespace

    def publish(self, queue: str, content: Content) -> UUID | None:
        # More tries than any test needs, so that only those about tries run out of them.
        return self.publish_job(queue, content, "ttl=0&tries=9")

    def publish_job(self, queue: str, content: Content, terms: str) -> UUID:
        target = f"/api/{self.namespace}/{queue}?{terms}"
        answer = self.world.ask("PUT", target, content.body, _headers(content))
        assert answer.status == 201, answer
        return uuid_of(json.loads(answer.body)["job_id"])

    def kept(self, content: Content) -> Content:
        return content

    def claim(self, queue: str) -> Received | None:
        job = self.consume(queue)
        return None if job is None else Received(uuid_of(job["job_id"]), b64decode(job["data"]))

    def consume(self, queue: str, wish: str = "") -> dict[str, Any] | None:
        """The job itself."""
        answer = self.world.ask("GET", f"/api/{self.namespace}/{queue}?{wish}")
        if answer.status == 404:
            return None
        assert answer.status == 200, answer
        job: dict[str, Any] = json.loads(answer.body)
        return job

    def sees(self, content: Content) -> bytes:
        return content.body

    def acknowledge(self, queue: str, message_id: UUID) -> None:
        target = f"/api/{self.namespace}/{queue}/job/{to_ulid(message_id.bytes)}"
        assert self.world.ask("DELETE", target).status == 204


class EmodbClient:
    """Speaks JSON only: it publishes nothing else, and shows anything else as base64."""

    name: ClassVar[str] = "emodb"
    hides_s: ClassVar[int] = 30

    def __init__(self, world: World, service: str = "queue") -> None:
        self.world = world
        self.base = f"/{service}/1"
        self.namespace = "dedup" if service == "dedupq" else "default"

    def publish(self, queue: str, content: Content) -> UUID | None:
        answer = self.world.ask("POST", f"{self.base}/{queue}/send", content.body, JSON)
        assert answer.status == 200, answer
        return None

    def kept(self, content: Content) -> Content:
        return Content(content.body.strip(), "application/json")

    def claim(self, queue: str) -> Received | None:
        polled = self.world.ask_json("GET", f"{self.base}/{queue}/poll?limit=1")
        return Received(UUID(polled[0]["id"]), polled[0]["payload"]) if polled else None

    def sees(self, content: Content) -> Any:
        try:
            return json.loads(content.body)
        except ValueError:
            return {"contentType": content.type, "base64": b64encode(content.body).decode()}

    def acknowledge(self, queue: str, message_id: UUID) -> None:
        self.say(queue, "ack", message_id)

    def renew(self, queue: str, message_id: UUID, ttl_s: int) -> None:
        self.say(queue, f"renew?ttl={ttl_s}", message_id)

    def say(self, queue: str, verb: str, message_id: UUID) -> None:
        told = self.world.ask_json("POST", f"{self.base}/{queue}/{verb}", [str(message_id)], JSON)
        assert told == {"success": True}


def uuid_of(ulid: str) -> UUID:
    """The same 128 bits, as every other dialect writes them."""
    message_id = from_ulid(ulid)
    assert message_id is not None, ulid
    return UUID(bytes=message_id)


MakeClient = Callable[[World], Client]

IN_DEFAULT: dict[str, MakeClient] = {
    "mqs": MqsClient,
    "emodb": EmodbClient,
    "lmstfy": LmstfyClient,
    "mqcore": MqCoreClient,
}
IN_DEDUP: dict[str, MakeClient] = {
    "dedupq": lambda world: EmodbClient(world, "dedupq"),
    "lmstfy-dedup": lambda world: LmstfyClient(world, "dedup"),
}
EVERYBODY = IN_DEFAULT | IN_DEDUP
