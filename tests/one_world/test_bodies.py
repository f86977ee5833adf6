"""Bodies go through untouched, with what was said of them, as far as both dialects can carry it."""

from __future__ import annotations

import gzip
from base64 import b64encode

import pytest

from tests.one_world.clients import IN_DEFAULT, Client, Content, EmodbClient
from tests.one_world.conftest import Pair
from tests.one_world.world import JSON, World

ALL_BYTES = bytes(range(256))

AS_JSON = {
    "object": Content(b'{"to":"neo","n":[1,2.50,null]}', "application/json"),
    "spaced": Content(b'{ "a" :\t1 }', "application/json; charset=utf-8"),
    "blanks around": Content(b"\r\n [true] ", "application/json"),
    "null": Content(b"null", "application/json"),
    "text": Content('"grüße, 世界 🌊"'.encode(), "application/json"),
    "under another type": Content(b"[1]", "text/plain"),
}
NOT_JSON = {
    "empty": Content(b""),
    "every byte": Content(ALL_BYTES, "image/x-own"),
    "plain text": Content("grüße, 世界 🌊\r\n".encode(), "text/plain; charset=utf-8"),
    "compressed": Content(gzip.compress(b'{"a":1}', mtime=0), "application/json", "gzip"),
    "almost": Content(b'{"a":1', "application/json"),
    "two values": Content(b"1 2", "application/json"),
    "a mark in front": Content(b"\xef\xbb\xbf1", "application/json"),
    "not UTF-8": Content(b'"\xff"', "application/json"),
    "half a pair": Content(b'"\\ud800"', "application/json"),
    "too deep": Content(b"[" * 3000 + b"]" * 3000, "application/json"),
    "a letter of latin-1": Content(b"x", "text/plain; name=grüße"),
}


def sees(consumer: Client, content: Content, *, is_json: bool) -> object:
    if is_json or not isinstance(consumer, EmodbClient):
        return consumer.sees(content)
    return {"contentType": content.type, "base64": b64encode(content.body).decode()}


def test_json_is_the_same_json_at_the_other_end(pair: Pair) -> None:
    for content in AS_JSON.values():
        pair.publisher.publish("jobs", content)
    received = {name: pair.consumer.claim("jobs") for name in AS_JSON}
    assert {name: message.seen for name, message in received.items() if message} == {
        name: sees(pair.consumer, pair.publisher.kept(content), is_json=True)
        for name, content in AS_JSON.items()
    }


def test_what_is_not_json_is_the_same_bytes_or_their_base64(pair: Pair) -> None:
    if isinstance(pair.publisher, EmodbClient):
        assert_refuses_all(pair)
        return
    for content in NOT_JSON.values():
        pair.publisher.publish("jobs", content)
    received = {name: pair.consumer.claim("jobs") for name in NOT_JSON}
    assert {name: message.seen for name, message in received.items() if message} == {
        name: sees(pair.consumer, pair.publisher.kept(content), is_json=False)
        for name, content in NOT_JSON.items()
    }


def assert_refuses_all(pair: Pair) -> None:
    """EmoDB publishes JSON alone, and what it refuses nobody gets to see."""
    emodb = pair.publisher
    assert isinstance(emodb, EmodbClient)
    statuses = {
        name: emodb.world.ask("POST", f"{emodb.base}/jobs/send", content.body, JSON).status
        for name, content in NOT_JSON.items()
    }
    assert statuses == dict.fromkeys(NOT_JSON, 400)
    assert pair.consumer.claim("jobs") is None


@pytest.mark.parametrize("name", IN_DEFAULT)
def test_a_body_larger_than_its_consumer_could_send_comes_whole(name: str, world: World) -> None:
    """Of the limits on a body the publisher's alone counts; MQ-Core has none but the server's."""
    world.make_queue("jobs")
    consumer = IN_DEFAULT[name](world)
    large = Content(ALL_BYTES * 12_000, "application/x-own")
    IN_DEFAULT["mqcore"](world).publish("jobs", large)
    received = consumer.claim("jobs")
    assert received is not None
    assert received.seen == sees(consumer, large, is_json=False)


def test_a_bulk_keeps_the_bytes_of_each_of_its_elements(client: Client, world: World) -> None:
    elements = [b'{"a": 1}', b'"\\u00fc"', b"1.50", b"null"]
    answer = world.ask("PUT", "/api/default/jobs/bulk?ttl=0", b"[ " + b" ,\n".join(elements) + b" ]")
    assert answer.status == 201
    received = [client.claim("jobs") for _ in elements]
    assert [message.seen for message in received if message] == [
        client.sees(Content(element, "application/json")) for element in elements
    ]


def test_a_trace_id_of_mqs_survives_consumers_that_cannot_show_it(client: Client, world: World) -> None:
    trace_id = "018f6a3e-0000-7000-8000-00000000abcd"
    world.make_queue("jobs")
    world.ask("POST", "/messages/jobs", b"1", {"X-TRACE-ID": trace_id})
    assert client.claim("jobs") is not None
    world.pass_s(client.hides_s)
    assert world.ask("GET", "/messages/jobs").headers["x-trace-id"] == trace_id.encode()
