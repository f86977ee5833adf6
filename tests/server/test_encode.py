"""Responses as bytes, where a socket adds nothing to the test."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from penstock.dialects.http import Response
from penstock.server.encode import CLOSE, Encoder, UnsafeHeaderError
from penstock.server.limits import Limits
from tests.server.conftest import Serve, eventually, steady


def encode(response: Response, *, is_head: bool = False) -> bytes:
    return Encoder().encode(response, "id", CLOSE, is_head=is_head)


def test_a_response_begins_with_its_status_and_the_date_and_has_its_id() -> None:
    status, date, *rest = encode(Response(201, b"ab")).split(b"\r\n")
    assert status == b"HTTP/1.1 201 Created"
    assert date.startswith(b"Date: ")
    assert parsedate_to_datetime(date[6:].decode()).tzname() == "UTC"
    assert rest == [b"X-Request-ID: id", b"Content-Length: 2", b"Connection: close", b"", b"ab"]


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_has_no_length_either(status: int) -> None:
    encoded = steady(encode(Response(status, b"dropped")))
    assert encoded.split(b"\r\n")[1:] == [b"Connection: close", b"", b""]


def test_a_status_that_has_no_name_is_sent_by_its_number() -> None:
    assert encode(Response(299)).startswith(b"HTTP/1.1 299 \r\n")


@pytest.mark.parametrize("value", [b"a\r\nB: c", b"a\nB: c", b"a\rB: c"])
def test_a_header_cannot_begin_another(value: bytes) -> None:
    with pytest.raises(UnsafeHeaderError):
        encode(Response(200, b"", ((b"A", b"fine"), (b"B", value))))


def test_a_server_tells_the_date_of_today(serve: Serve) -> None:
    server = serve(limits=Limits(idle_seconds=0.05))
    clock = [1_000_000_000.0]
    server.call(lambda: setattr(server.server.service, "encoder", Encoder(clock=lambda: clock[0])))
    clock[0] += 86_400

    def date() -> bytes:
        client = server.connect()
        client.send(b"GET /at-once HTTP/1.0\r\n\r\n")
        return client.receive_all().split(b"\r\n")[1]

    eventually(lambda: date() == b"Date: Mon, 10 Sep 2001 01:46:40 GMT")


def test_the_date_moves_on() -> None:
    clock = [1_000_000_000.0]
    encoder = Encoder(clock=lambda: clock[0])
    assert b"Date: Sun, 09 Sep 2001 01:46:40 GMT\r\n" in encoder.encode(
        Response(200), "id", b"", is_head=False
    )
    clock[0] += 1
    encoder.set_date_now()
    assert b"Date: Sun, 09 Sep 2001 01:46:41 GMT\r\n" in encoder.encode(
        Response(200), "id", b"", is_head=False
    )
