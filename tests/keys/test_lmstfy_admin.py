"""Tokens made over HTTP count in every dialect at once. The routes themselves are in the transcripts."""

from __future__ import annotations

import base64
import fcntl
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from penstock.config import Config
from penstock.dialects.lmstfy.admin import LmstfyAdmin
from penstock.dialects.lmstfy.dialect import Lmstfy
from penstock.dialects.mqs.dialect import Mqs
from penstock.keys import file as key_file
from penstock.keys.file import KeyFile
from penstock.server.routing import Router
from penstock.wiring import dialects, listeners
from tests.keys.making import add_key
from tests.transcripts.over_port import OverPortStage

PATIENCE_S = 10.0
NOTHING: dict[str, str] = {}


class AdminOnTheSamePort(LmstfyAdmin):
    """So that one stage serves both. A real listener has one or the other."""

    roots: frozenset[str] | None = frozenset({"token", "limits"})


class World:
    """A server of lmstfy with its administrators' routes."""

    def __init__(self, directory: Path, *, is_local: bool) -> None:
        self.keys = KeyFile(directory)
        self.stage = OverPortStage(
            [Lmstfy(), Mqs(), AdminOnTheSamePort(is_local=is_local)], directory, self.keys
        )

    def ask(
        self, method: str, target: str, body: bytes = b"", shown: dict[str, str] = NOTHING
    ) -> tuple[int, bytes]:
        connection = HTTPConnection(*self.stage.address, timeout=PATIENCE_S)
        try:
            connection.request(method, target, body or None, shown)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def make_token(self, namespace: str) -> str:
        status, body = self.ask("POST", f"/token/{namespace}?description=d")
        assert status == 201
        return str(json.loads(body)["token"])


@pytest.fixture
def local(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, is_local=True)
    with world.stage:
        yield world


@pytest.fixture
def exposed(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, is_local=False)
    add_key(world.keys, "administer:shop/*")
    with world.stage:
        yield world


def test_the_first_token_keeps_everybody_else_out_by_the_time_it_is_told(local: World) -> None:
    assert local.ask("GET", "/api/shop/mail/size")[0] == 200
    token = local.make_token("shop")
    assert local.ask("GET", "/api/shop/mail/size")[0] == 401
    assert local.ask("GET", "/api/shop/mail/size", shown={"X-Token": token})[0] == 200
    assert local.ask("GET", "/api/other/mail/size", shown={"X-Token": token})[0] == 401


def test_a_token_may_do_everything_in_its_namespace_in_every_dialect(local: World) -> None:
    token = local.make_token("default")
    lmstfy, mqs = {"X-Token": token}, {"Authorization": f"Bearer {token}"}
    assert local.ask("PUT", "/api/default/jobs", b"x", shown=lmstfy)[0] == 201
    assert local.ask("GET", "/api/default/jobs/peek", shown=lmstfy)[0] == 200
    assert local.ask("GET", "/messages/jobs", shown=mqs) == (200, b"x")
    assert local.ask("DELETE", "/api/default/jobs", shown=lmstfy)[0] == 204
    assert local.ask("DELETE", "/queues/jobs", shown=mqs)[0] == 200


def test_a_deleted_token_is_refused_at_once(local: World) -> None:
    token = local.make_token("shop")
    assert local.ask("DELETE", f"/token/shop/{token}")[0] == 204
    assert local.ask("GET", "/api/shop/mail/size", shown={"X-Token": token}) == (
        401,
        b'{"error":"invalid token"}',
    )


def test_a_limit_holds_at_once_for_what_it_is_about(local: World) -> None:
    token = {"X-Token": local.make_token("shop")}
    limit = b'{"read": 0, "write": 2, "interval": 3600}'
    assert local.ask("PUT", f"/token/shop/{token['X-Token']}/limit", limit)[0] == 200
    published = [local.ask("PUT", "/api/shop/mail", b"x", shown=token)[0] for _ in range(3)]
    assert published == [201, 201, 429]
    assert [local.ask("GET", "/api/shop/mail", shown=token)[0] for _ in range(3)] == [200, 200, 404]


def test_a_key_for_two_namespaces_loses_only_the_one_it_is_deleted_from(local: World) -> None:
    key = add_key(local.keys, "inspect:shop/*", "inspect:other/*")
    assert local.ask("DELETE", f"/token/shop/{key}")[0] == 204
    assert local.ask("GET", "/api/shop/mail/size", shown={"X-Token": key})[0] == 401
    assert local.ask("GET", "/api/other/mail/size", shown={"X-Token": key})[0] == 200


def test_away_from_loopback_only_who_administers_everything_makes_tokens(exposed: World) -> None:
    target = "/token/shop?description=d"
    in_shop = add_key(exposed.keys, "publish,consume,inspect,administer:shop/*")
    root = add_key(exposed.keys, "administer:*/*")
    assert exposed.ask("POST", target)[0] == 401
    root_key = {"Authorization": f"Bearer {root}"}
    status = 401
    while status == 401:  # until the server has seen the new keys
        status, _ = exposed.ask("POST", target, shown=root_key)
    assert status == 201
    assert exposed.ask("POST", target, shown={"Authorization": f"Bearer {in_shop}"})[0] == 403
    password = base64.b64encode(f"anybody:{root}".encode()).decode()
    assert exposed.ask("POST", target, shown={"Authorization": f"Basic {password}"})[0] == 201
    assert exposed.ask("POST", target, shown={"Authorization": "Basic nonsense"})[0] == 401


def test_a_file_that_cannot_be_changed_is_told_as_unavailable(
    local: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = {"X-Token": local.make_token("shop")}
    monkeypatch.setattr(key_file, "LOCK_PATIENCE_S", 0.05)
    with local.keys.path.with_suffix(".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert local.ask("POST", "/token/shop?description=d") == (503, b'{"error":"service unavailable"}')
    assert local.ask("GET", "/api/shop/mail/size", shown=token)[0] == 200


@pytest.mark.parametrize(("host", "needs_key"), [("127.0.0.1", False), ("0.0.0.0", True)])  # noqa: S104
def test_which_listener_needs_a_key_follows_from_its_address(host: str, *, needs_key: bool) -> None:
    config = Config(listen=(f"lmstfy-admin={host}:7778",), insecure=True)
    (listener,) = listeners(config, dialects(config))
    assert isinstance(listener.router, Router)
    dialect = listener.router.fallback
    assert isinstance(dialect, LmstfyAdmin)
    assert bool(dialect._needs) is needs_key  # noqa: SLF001 - a request would have to come from outside
