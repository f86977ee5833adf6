"""Our own failures: what a client is told of them, and what the log."""

from __future__ import annotations

import json
import logging

import pytest

from penstock.server.fault_log import LINES_PER_SECOND_MAX, FaultLog
from penstock.server.listeners import Listener
from penstock.server.routing import Router
from tests.server.conftest import RunningServer, Serve, eventually
from tests.server.echo import EchoDialect

FAILED = b"echo refuses: the service failed; its log has more under this request's id"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [json.loads(record.getMessage()) for record in caplog.records]


@pytest.fixture(autouse=True)
def _logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.server")


@pytest.mark.parametrize("path", [b"/read-crash", b"/crash", b"/say?unwritable"])
def test_a_crash_is_a_500_that_tells_nothing(server: RunningServer, path: bytes) -> None:
    client = server.connect()
    client.send(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path * 2)
    for _ in range(2):
        assert client.answer() == (
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n" % len(FAILED) + FAILED
        )


def test_a_response_that_cannot_be_sent_is_a_500(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"GET /bad-header HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
    for _ in range(2):
        answer = client.answer()
        assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert b"stolen" not in answer


def test_a_dialect_that_cannot_even_refuse_is_spoken_for(serve: Serve) -> None:
    mute = EchoDialect()
    mute.is_mute = True
    server = serve(listeners=[Listener("127.0.0.1", 0, Router([mute], fallback=mute))])
    client = server.connect()
    client.send(b"GET /read-crash HTTP/1.1\r\nHost: h\r\n\r\n")
    assert client.answer().endswith(b"\r\n\r\nthe service failed; its log has more under this request's id\n")


def test_a_crash_over_a_body_rule_closes_the_connection(server: RunningServer) -> None:
    client = server.connect()
    client.send(b"POST /rule-crash HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
    assert client.answer().startswith(b"HTTP/1.1 500 ")
    assert client.is_closed()


def test_a_failed_store_makes_every_command_a_503(server: RunningServer) -> None:
    server.engine.is_healthy = False
    client = server.connect()
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\n\r\n")
    assert client.answer().startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


def test_a_crash_is_logged_under_its_request_without_what_was_sent(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = server.connect()
    client.send(
        b"POST /read-crash?token=hidden HTTP/1.1\r\nHost: h\r\nX-Request-ID: mine-1\r\n"
        b"Authorization: Bearer hidden\r\nContent-Length: 6\r\n\r\nhidden"
    )
    assert client.answer().startswith(b"HTTP/1.1 500 ")
    (crashed,) = lines(caplog)
    assert crashed["event"] == "crashed"
    assert crashed["request_id"] == "mine-1"
    assert crashed["error"] == "KeyError"
    assert "echo.py" in str(crashed["at"])
    assert "hidden" not in caplog.text
    assert "secret" not in caplog.text


def test_a_500_or_above_is_logged_under_its_request(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.engine.is_healthy = False
    client = server.connect()
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\nX-Request-ID: mine-2\r\n\r\n")
    client.answer()
    assert lines(caplog) == [{"event": "failed", "request_id": "mine-2", "status": 503, "dialect": "echo"}]


def test_a_refusal_is_logged_under_the_id_that_its_answer_has(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = server.connect()
    client.send(b"GET /at-once HTTP/1.1\r\n\r\n")
    answer = client.receive_all().decode()
    (line,) = lines(caplog)
    assert line["event"] == "refused"
    assert line["status"] == 400
    assert f"X-Request-ID: {line['request_id']}\r\n" in answer


def test_nothing_is_logged_of_what_went_well(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    client = server.connect()
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\n\r\n")
    client.answer()
    assert caplog.records == []


def test_what_follows_the_last_request_is_no_fault(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = server.connect()
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /say HTTP/1.1\r\n\r\n")
    client.answer()
    assert client.is_closed()
    assert caplog.records == []


def test_failing_quickly_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    clock = [100.0]
    log = FaultLog(clock=lambda: clock[0])
    for _ in range(LINES_PER_SECOND_MAX + 7):
        log.failed("id", 503, "echo")
    assert len(caplog.records) == LINES_PER_SECOND_MAX
    clock[0] += 1
    log.failed("id", 503, "echo")
    assert lines(caplog)[-1]["left_out_before"] == 7


def test_a_broken_engine_ends_the_service(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    client = server.connect()
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\n\r\n")
    client.answer()
    server.engine.is_broken = True
    client.send(b"GET /say HTTP/1.1\r\nHost: h\r\n\r\n")
    assert client.is_closed()
    server.join()
    assert isinstance(server.error, RuntimeError)
    eventually(lambda: "RuntimeError" in caplog.text)
    assert "secret" not in caplog.text
