"""Keys in every dialect, over a real port: how they are shown, and what those hear who lack one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.keys.file import KeyFile
from penstock.keys.rates import Rate, Rates
from tests.keys.making import add_key, remove_key
from tests.transcripts.over_port import OverPortStage
from tests.transcripts.speakers import speakers

PATIENCE_S = 10.0
NOTHING: dict[str, str] = {}
JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes


class Dialect(NamedTuple):
    """How one dialect publishes to, claims from and counts the queue `default/Q`, and shows a key."""

    name: str
    publish: tuple[str, str]
    body: bytes
    claim: tuple[str, str]
    size: tuple[str, str]
    shown: Callable[[str], dict[str, str]]
    missing: tuple[int, str, str]  # the status, a header with its value, the body
    unknown: tuple[int, str, str]
    forbidden: tuple[int, str, str]
    too_many: tuple[int, str, str]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


NO_KEY = "A key is needed, as Authorization: Bearer KEY"
UNKNOWN = "There is no such key"
NOT_ALLOWED = "The key does not allow this"
TOO_OFTEN = "The key was used too often; try again later"
ASK = "WWW-Authenticate: Bearer"
ASK_AGAIN = 'WWW-Authenticate: Bearer error="invalid_token"'
IS_JSON = "Content-Type: application/json"
IS_TEXT = "Content-Type: text/plain; charset=utf-8"
IN_UTF8 = "Content-Type: application/json; charset=utf-8"
UNAUTHORIZED = (
    403,
    "X-BV-Exception: com.bazaarvoice.emodb.common.api.UnauthorizedException",
    '{"reason":"not authorized"}',
)
INVALID_TOKEN = (401, IN_UTF8, '{"error":"invalid token"}')

DIALECTS = [
    Dialect(
        "mqs",
        ("POST", "/messages/Q"),
        b"x",
        ("GET", "/messages/Q"),
        ("GET", "/queues/Q"),
        bearer,
        (401, ASK, f'{{"error":"{NO_KEY}"}}'),
        (401, ASK_AGAIN, f'{{"error":"{UNKNOWN}"}}'),
        (403, IS_JSON, f'{{"error":"{NOT_ALLOWED}"}}'),
        (429, IS_JSON, f'{{"error":"{TOO_OFTEN}"}}'),
    ),
    Dialect(
        "mqcore",
        ("POST", "/Q/messages"),
        b"x",
        ("GET", "/Q/messages"),
        ("GET", "/Q"),
        bearer,
        (401, ASK, f"{NO_KEY}\n"),
        (401, ASK_AGAIN, f"{UNKNOWN}\n"),
        (403, IS_TEXT, f"{NOT_ALLOWED}\n"),
        (429, IS_TEXT, f"{TOO_OFTEN}\n"),
    ),
    Dialect(
        "emodb",
        ("POST", "/queue/1/Q/send"),
        b"1",
        ("GET", "/queue/1/Q/poll"),
        ("GET", "/queue/1/Q/size"),
        lambda key: {"X-BV-API-Key": key},
        UNAUTHORIZED,
        UNAUTHORIZED,
        UNAUTHORIZED,
        (429, IS_JSON, '{"message":"The API key was used too often; try again later"}'),
    ),
    Dialect(
        "lmstfy",
        ("PUT", "/api/default/Q"),
        b"x",
        ("GET", "/api/default/Q"),
        ("GET", "/api/default/Q/size"),
        lambda key: {"X-Token": key},
        (401, IN_UTF8, '{"error":"token not found"}'),
        INVALID_TOKEN,
        INVALID_TOKEN,
        (429, IN_UTF8, '{"msg":"the token has reached its rate limit, please retry later"}'),
    ),
]

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


class World:
    """A server with all dialects on one port, and its keys."""

    def __init__(self, address: tuple[str, int], keys: KeyFile, root: str) -> None:
        """`root` is a key that may do everything."""
        self.keys = keys
        self.root = root
        self._address = address

    def ask(self, method: str, target: str, body: bytes = b"", shown: dict[str, str] = NOTHING) -> Answer:
        connection = HTTPConnection(*self._address, timeout=PATIENCE_S)
        try:
            connection.request(method, target, body or None, JSON | shown)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def key(self, *grants: str, rates: Rates | None = None) -> str:
        made = add_key(self.keys, *grants, rates=rates or Rates())
        self.await_change()
        return made

    def await_change(self) -> None:
        """Until the server has seen the file as it is now: a key made after it is known."""
        self.await_key(add_key(self.keys, "journal:*/*"))

    def await_key(self, key: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.ask("GET", "/journal/latest", shown=bearer(key)).status != 200:
            assert time.monotonic() < deadline, "the server does not follow its keys"

    def make_queue(self, name: str) -> None:
        assert self.ask("PUT", f"/{name}", shown=bearer(self.root)).status == 201

    def size(self, name: str) -> int:
        answer = self.ask("GET", f"/api/default/{name}/size", shown={"X-Token": self.root})
        return int(json.loads(answer.body)["size"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    keys = KeyFile(tmp_path)
    root = add_key(keys, "publish,consume,inspect,administer,journal:*/*")
    with OverPortStage(speakers("mqcore", {}), tmp_path, keys) as stage:
        yield World(stage.address, keys, root)


def is_denial(answer: Answer, expected: tuple[int, str, str]) -> bool:
    status, header, body = expected
    name, _, value = header.partition(": ")
    return (answer.status, answer.headers.get(name.lower()), answer.body.decode()) == (status, value, body)


def at(queue: str, request: tuple[str, str]) -> tuple[str, str]:
    return request[0], request[1].replace("Q", queue)


@each_dialect
def test_a_key_is_missing_unknown_or_for_other_queues(world: World, dialect: Dialect) -> None:
    world.make_queue("jobs")
    key = world.key("publish,consume,inspect:default/mail")
    method, target = at("jobs", dialect.publish)
    body = dialect.body
    assert is_denial(world.ask(method, target, body), dialect.missing)
    assert is_denial(world.ask(method, target, body, shown=dialect.shown("nobody")), dialect.unknown)
    assert is_denial(world.ask(method, target, body, shown=dialect.shown(key)), dialect.forbidden)
    assert world.size("jobs") == 0


@each_dialect
def test_each_action_needs_its_own_grant(world: World, dialect: Dialect) -> None:
    world.make_queue("jobs")
    requests = {
        "publish": (*at("jobs", dialect.publish), dialect.body),
        "consume": (*at("jobs", dialect.claim), b""),
        "inspect": (*at("jobs", dialect.size), b""),
    }
    for granted in requests:
        key = world.key(f"{granted}:default/jobs")
        for action, request in requests.items():
            answer = world.ask(*request, shown=dialect.shown(key))
            if action == granted:
                assert answer.status < 300, answer
            else:
                assert is_denial(answer, dialect.forbidden), (granted, action, answer)


@each_dialect
def test_a_key_that_is_taken_back_is_unknown_to_the_running_server(world: World, dialect: Dialect) -> None:
    world.make_queue("jobs")
    key = world.key("inspect:default/jobs")
    assert world.ask(*at("jobs", dialect.size), shown=dialect.shown(key)).status == 200
    remove_key(world.keys, key)
    world.await_change()
    assert is_denial(world.ask(*at("jobs", dialect.size), shown=dialect.shown(key)), dialect.unknown)


@each_dialect
def test_a_key_used_too_often_is_told_when_to_come_back(world: World, dialect: Dialect) -> None:
    world.make_queue("jobs")
    key = world.key("inspect:default/jobs", rates=Rates(requests=Rate(1, 600)))
    assert world.ask(*at("jobs", dialect.size), shown=dialect.shown(key)).status == 200
    answer = world.ask(*at("jobs", dialect.size), shown=dialect.shown(key))
    assert is_denial(answer, dialect.too_many)
    assert 590 <= int(answer.headers["retry-after"]) <= 600


@pytest.mark.parametrize(
    ("target", "parameter"), [("/queue/1/jobs/size", "APIKey"), ("/api/default/jobs/size", "token")]
)
def test_a_key_may_be_in_the_query_and_the_header_goes_first(
    world: World, target: str, parameter: str
) -> None:
    key = world.key("inspect:default/jobs")
    header = {"X-Token": "wrong", "X-BV-API-Key": "wrong"}
    assert world.ask("GET", f"{target}?a=b&{parameter}={key}").status == 200
    assert world.ask("GET", f"{target}?{parameter}=wrong").status in {401, 403}
    assert world.ask("GET", f"{target}?{parameter}={key}", shown=header).status in {401, 403}


def test_health_and_paths_where_nothing_is_are_open_to_everybody(world: World) -> None:
    assert world.ask("GET", "/health").body == b"green"
    assert world.ask("GET", "/api/default/jobs/nothing").status == 404
    assert world.ask("PUT", "/api/default/_jobs", b"x").status == 400
    assert world.ask("GET", "/queue/1/jobs/nothing").status == 404
    assert world.ask("PATCH", "/queues/jobs").status == 404
    assert world.ask("GET", "/no.queue").status == 404


def test_the_journal_needs_a_key_for_it(world: World) -> None:
    assert is_denial(world.ask("GET", "/journal"), (401, ASK, f'{{"error":"{NO_KEY}"}}'))
    everything_else = world.key("publish,consume,inspect,administer:*/*")
    assert world.ask("GET", "/journal/latest", shown=bearer(everything_else)).status == 403
    assert world.ask("GET", "/journal", shown=bearer(world.key("journal:*/*"))).status == 200


# mqs


def test_a_message_in_a_queue_that_may_not_be_consumed_is_not_there_to_delete(world: World) -> None:
    world.make_queue("jobs")
    world.make_queue("mail")
    ids = {}
    for queue in ("jobs", "mail"):
        world.ask("POST", f"/messages/{queue}", b"x", shown=bearer(world.root))
        ids[queue] = world.ask("GET", f"/messages/{queue}", shown=bearer(world.root)).headers[
            "x-mqs-message-id"
        ]
    key = world.key("consume:default/jobs", "inspect,publish,administer:*/*")
    assert world.ask("DELETE", f"/messages/{ids['mail']}", shown=bearer(key)).status == 404
    assert world.ask("DELETE", f"/messages/{ids['jobs']}", shown=bearer(key)).status == 204
    assert world.ask("DELETE", f"/messages/{ids['mail']}", shown=bearer(world.root)).status == 204
    elsewhere = world.key("consume:shop/*")
    assert world.ask("DELETE", f"/messages/{ids['mail']}", shown=bearer(elsewhere)).status == 403


def test_a_list_shows_only_queues_that_may_be_inspected(world: World) -> None:
    for name in ("jobs", "mail-1", "mail-2"):
        world.make_queue(name)
    key = world.key("inspect:default/mail-*", "publish:default/jobs")
    listed = json.loads(world.ask("GET", "/queues", shown=bearer(key)).body)
    assert [queue["name"] for queue in listed["queues"]] == ["mail-1", "mail-2"]
    assert listed["total"] == 2
    assert world.ask("GET", "/queues", shown=bearer(world.key("publish:default/*"))).status == 403


def test_who_administers_a_queue_cannot_have_its_messages_put_into_another(world: World) -> None:
    world.make_queue("mail")
    settings = {
        "retention_timeout": 60,
        "visibility_timeout": 60,
        "redrive_policy": {"max_receives": 1, "dead_letter_queue": "mail"},
    }
    body = json.dumps(settings).encode()
    key = world.key("administer:default/jobs")
    assert world.ask("PUT", "/queues/jobs", body, shown=bearer(key)).status == 403
    key = world.key("administer:default/jobs", "publish:default/mail")
    assert world.ask("PUT", "/queues/jobs", body, shown=bearer(key)).status == 201


# EmoDB


def test_a_batch_with_one_forbidden_queue_sends_nothing(world: World) -> None:
    batch = b'{"jobs": [1], "mail": [2]}'
    key = {"X-BV-API-Key": world.key("publish:default/jobs")}
    assert is_denial(world.ask("POST", "/queue/1/_sendbatch", batch, shown=key), UNAUTHORIZED)
    assert world.size("jobs") == 0
    assert world.ask("POST", "/queue/1/_sendbatch", b'{"jobs": [1]}', shown=key).status == 200
    assert world.size("jobs") == 1
    # Of the other service's queues of the same names it may use none.
    assert is_denial(world.ask("POST", "/dedupq/1/_sendbatch", b'{"jobs": [1]}', shown=key), UNAUTHORIZED)


def test_a_move_needs_to_consume_here_and_to_publish_there(world: World) -> None:
    target = "/queue/1/_move?from=jobs&to=mail"
    for grants in (
        ["consume:default/*"],
        ["publish:default/*"],
        ["consume:default/mail", "publish:default/jobs"],
    ):
        answer = world.ask("POST", target, shown={"X-BV-API-Key": world.key(*grants)})
        assert is_denial(answer, UNAUTHORIZED), grants
    mover = {"X-BV-API-Key": world.key("consume,inspect:default/jobs", "publish:default/mail")}
    moved = world.ask("POST", target, shown=mover)
    assert moved.status == 200
    status = f"/queue/1/_move/{json.loads(moved.body)['id']}"
    assert world.ask("GET", status, shown=mover).status == 200
    onlooker = {"X-BV-API-Key": world.key("inspect:default/other")}
    assert world.ask("GET", status, shown=onlooker).status == 404


# lmstfy


def test_of_several_queues_to_consume_from_each_has_to_be_allowed(world: World) -> None:
    key = {"X-Token": world.key("consume:default/jobs")}
    assert world.ask("GET", "/api/default/jobs", shown=key).body == b'{"msg":"no job available"}'
    assert is_denial(world.ask("GET", "/api/default/jobs,mail", shown=key), INVALID_TOKEN)
    assert is_denial(world.ask("GET", "/api/shop/jobs", shown=key), INVALID_TOKEN)


def test_a_limit_on_consuming_leaves_publishing_and_answers_alone(world: World) -> None:
    key = {"X-Token": world.key("publish,consume:default/jobs", rates=Rates(consumes=Rate(1, 600)))}
    for _ in range(2):
        assert world.ask("PUT", "/api/default/jobs", b"x", shown=key).status == 201
    job = json.loads(world.ask("GET", "/api/default/jobs", shown=key).body)["job_id"]
    assert world.ask("GET", "/api/default/jobs", shown=key).status == 429
    assert world.ask("DELETE", f"/api/default/jobs/job/{job}", shown=key).status == 204


@pytest.mark.parametrize("path", ["/api/default/%6Aobs", "/api/d%65fault/jobs"])
def test_a_name_in_another_spelling_is_the_same_queue(world: World, path: str) -> None:
    key = world.key("publish:default/jobs")
    assert world.ask("PUT", path, b"x", shown={"X-Token": key}).status == 201
    other = world.key("publish:default/%6Aobs")
    assert world.ask("PUT", path, b"x", shown={"X-Token": other}).status == 401
