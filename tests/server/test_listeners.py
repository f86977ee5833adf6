"""Addresses, who answers on them, and TLS."""

from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from penstock.core.errors import ConfigError, ListenError
from penstock.server.listeners import Listener, Tls
from penstock.server.routing import Router
from tests.server.conftest import PATIENCE_SECONDS, Client, RunningServer, Serve, echo_listener, eventually
from tests.server.echo import EchoDialect

QUEUES = EchoDialect("queues", frozenset({"queues", "messages"}))
API = EchoDialect("api", frozenset({"api"}))
REST = EchoDialect("rest", None)
NATIVE = EchoDialect("native", frozenset({"health"}))


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/queues", QUEUES),
        ("/queues/a/b", QUEUES),
        ("/messages/", QUEUES),
        ("/%71ueues/a", QUEUES),
        ("/api/ns/q", API),
        ("/apis", REST),
        ("/", REST),
        ("//queues", REST),
        ("/a%2Fqueues", REST),
    ],
)
def test_a_shared_port_is_divided_by_the_first_segment(path: str, owner: EchoDialect) -> None:
    assert Router([API, REST, QUEUES], fallback=NATIVE).route("GET", path) is owner


def test_what_belongs_to_nobody_goes_to_the_fallback() -> None:
    router = Router([API, QUEUES], fallback=NATIVE)
    assert router.route("GET", "/other") is NATIVE
    assert router.fallback is NATIVE


def test_a_dialect_alone_owns_the_whole_root() -> None:
    router = Router([API], fallback=NATIVE)
    assert router.route("GET", "/other") is API
    assert router.fallback is API


def test_two_owners_of_one_root_are_not_started() -> None:
    with pytest.raises(ConfigError, match="/api is claimed by both api and second"):
        Router([API, EchoDialect("second", frozenset({"api"}))], fallback=NATIVE)


def test_each_port_speaks_its_own_dialects(serve: Serve) -> None:
    routers = [Router([QUEUES, REST], fallback=NATIVE), Router([API], fallback=NATIVE)]
    server = serve(listeners=[Listener("127.0.0.1", 0, router) for router in routers])
    answers = []
    for _, port in server.addresses:
        client = server.connect(port)
        client.send(b"GET /queues HTTP/1.1\r\nHost: h\r\n\r\n")
        answers.append(client.answer().rpartition(b"\r\n")[2])
    assert answers == [b"queues: queues", b"api: queues"]


def test_a_port_that_is_taken_is_told_with_what_to_do(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listener = Listener("127.0.0.1", port, echo_listener().router)
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{port}: .*in use") as raised:
            serve(listeners=[echo_listener(), listener])
    assert raised.value.hint == "Another program listens there. Stop it, or choose another port."


@pytest.mark.parametrize(
    ("host", "hint"),
    [("192.0.2.1", "This machine has no such address"), ("no-such-host.invalid", "No such host is known")],
)
def test_an_address_of_elsewhere_is_told_with_what_to_do(serve: Serve, host: str, hint: str) -> None:
    with pytest.raises(ListenError, match="cannot listen on") as raised:
        serve(listeners=[Listener(host, 0, echo_listener().router)])
    assert raised.value.hint.startswith(hint)


def test_a_port_can_be_used_again_at_once(serve: Serve) -> None:
    first = serve()
    client = first.connect()
    client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n")
    client.answer()
    first.stop()
    first.join()
    second = serve(listeners=[Listener("127.0.0.1", first.port, echo_listener().router)])
    assert second.port == first.port


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    directory = tmp_path_factory.mktemp("tls")
    tls = Tls(directory / "certificate.pem", directory / "key.pem")
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    subprocess.run(
        [
            *make.split(),
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            tls.key,
            "-out",
            tls.certificate,
        ],
        check=True,
        capture_output=True,
    )
    return tls


@pytest.fixture
def tls_server(serve: Serve, certificate: Tls) -> RunningServer:
    return serve(listeners=[Listener("127.0.0.1", 0, echo_listener().router, certificate)])


def connect_tls(server: RunningServer, context: ssl.SSLContext) -> Client:
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)
    return server.adopt(context.wrap_socket(raw, server_hostname="127.0.0.1"))


def test_a_listener_may_speak_tls(tls_server: RunningServer, certificate: Tls) -> None:
    client = connect_tls(tls_server, ssl.create_default_context(cafile=certificate.certificate))
    client.send(b"POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
    assert client.answer().endswith(b"echo: " + b"x" * 300_000)
    client.send(b"GET /at-once HTTP/1.0\r\n\r\n")
    assert client.answer().endswith(b"\r\n\r\nat once")
    assert client.is_closed()


def test_a_refusal_reaches_a_client_over_tls(tls_server: RunningServer, certificate: Tls) -> None:
    client = connect_tls(tls_server, ssl.create_default_context(cafile=certificate.certificate))
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" + b"x" * 100_000)
    assert client.answer().startswith(b"HTTP/1.1 413 ")


def test_a_client_that_leaves_over_tls_is_withdrawn(tls_server: RunningServer, certificate: Tls) -> None:
    client = connect_tls(tls_server, ssl.create_default_context(cafile=certificate.certificate))
    client.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    eventually(lambda: len(tls_server.engine.waiting) == 1)
    client.close()
    eventually(lambda: not tls_server.engine.waiting)


def test_old_versions_of_tls_are_not_spoken(tls_server: RunningServer, certificate: Tls) -> None:
    context = ssl.create_default_context(cafile=certificate.certificate)
    # Security level 0, or the client itself would not offer what is to be refused.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1 is deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        connect_tls(tls_server, context)


def test_plain_http_on_a_tls_port_is_cut_off(tls_server: RunningServer) -> None:
    client = tls_server.connect()
    client.send(b"GET /at-once HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"at once" not in client.receive_all()


def test_a_certificate_that_cannot_be_used_is_told(serve: Serve, tmp_path: Path, certificate: Tls) -> None:
    for tls in (
        Tls(tmp_path / "none.pem", certificate.key),
        Tls(certificate.certificate, certificate.certificate),
    ):
        with pytest.raises(ConfigError, match="cannot use the certificate"):
            serve(listeners=[Listener("127.0.0.1", 0, echo_listener().router, tls)])
