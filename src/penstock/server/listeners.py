"""Addresses to listen on."""

from __future__ import annotations

import asyncio
import errno
import ssl
from functools import partial
from pathlib import Path
from socket import gaierror

import msgspec

from penstock.core.errors import ConfigError, ListenError
from penstock.server.protocol import Connection
from penstock.server.routing import Router
from penstock.server.service import Service

# Clients that connect all at once wait here until they are accepted; the kernel may allow fewer.
_BACKLOG = 4096

Address = tuple[str, int]


class Tls(msgspec.Struct, frozen=True):
    """Where a listener's certificate (with its chain) and private key are, as PEM."""

    certificate: Path
    key: Path


class Listener(msgspec.Struct, frozen=True):
    """One address, and who answers there."""

    host: str
    port: int  # 0: any free one
    router: Router
    tls: Tls | None = None


async def listen(service: Service, listener: Listener) -> asyncio.Server:
    """Bind an address and accept connections on it."""
    context = None if listener.tls is None else tls_context(listener.tls)
    try:
        return await service.loop.create_server(
            partial(Connection, service, listener.router),
            listener.host,
            listener.port,
            backlog=_BACKLOG,
            reuse_address=True,
            ssl=context,
            ssl_handshake_timeout=None if context is None else service.limits.handshake_seconds,
        )
    except OSError as error:
        raise ListenError(
            f"cannot listen on {listener.host}:{listener.port}: {error.strerror or error}", hint=_hint(error)
        ) from error


def bound_addresses(server: asyncio.Server) -> list[Address]:
    return [socket.getsockname()[:2] for socket in server.sockets]


def tls_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"cannot use the certificate {tls.certificate} with the key {tls.key}: {error}",
            hint="Both must be PEM files, and the key must belong to the certificate.",
        ) from error
    return context


def _hint(error: OSError) -> str:
    if isinstance(error, gaierror):
        return "No such host is known; use an address of this machine, or 0.0.0.0 for all of them."
    match error.errno:
        case errno.EADDRINUSE:
            return "Another program listens there. Stop it, or choose another port."
        case errno.EACCES:
            return "Ports below 1024 need a privilege. Choose a higher one."
        case errno.EADDRNOTAVAIL:
            return "This machine has no such address; 0.0.0.0 stands for all that it has."
        case _:
            return ""
