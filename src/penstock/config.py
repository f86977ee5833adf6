"""Every setting, in one place: its name, default, range and meaning.

The description beside a field is the one place where its meaning is written; `penstock config`, error
messages and `docs/configuration.md` follow it. Where values come from is `config_sources`.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from penstock.core.errors import ConfigError

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY_S = 24 * 60 * 60


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A bound on everything a client can make the server hold or wait for."""

    header_bytes_max: Annotated[
        int, Meta(ge=KIB, le=MIB, description="Largest request head, in bytes; a larger one gets 431.")
    ] = 16 * KIB
    url_bytes_max: Annotated[
        int, Meta(ge=256, le=MIB, description="Longest request target, in bytes; a longer one gets 414.")
    ] = 8 * KIB
    body_bytes_max: Annotated[
        int, Meta(ge=1, le=GIB, description="Largest request body, in bytes; a larger one gets 413.")
    ] = 16 * MIB
    dropped_bytes_max: Annotated[
        int,
        Meta(
            ge=0,
            le=1024 * GIB,
            description="How much of a body that will not be kept is still read, in bytes, "
            "before the connection is closed.",
        ),
    ] = GIB
    connections_max: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Connections open at once; one more is turned away.")
    ] = 10_000
    header_timeout_s: Annotated[
        float, Meta(gt=0, le=DAY_S, description="Seconds for a request head to arrive.")
    ] = 10
    body_timeout_s: Annotated[
        float, Meta(gt=0, le=DAY_S, description="Seconds for a request body to arrive.")
    ] = 60
    body_stall_s: Annotated[
        float, Meta(gt=0, le=DAY_S, description="Seconds without a byte before a body is given up.")
    ] = 10
    idle_timeout_s: Annotated[
        float, Meta(gt=0, le=DAY_S, description="Seconds a connection is kept open between requests.")
    ] = 75
    pipeline_max: Annotated[
        int, Meta(ge=1, le=10_000, description="Requests of one connection read ahead of their answers.")
    ] = 64
    write_stall_s: Annotated[
        float,
        Meta(
            gt=0, le=DAY_S, description="Seconds a client may leave its answers unread before it is cut off."
        ),
    ] = 30
    journal_streams_max: Annotated[
        int, Meta(ge=1, le=1000, description="Journal reads at once; one more is turned away.")
    ] = 4
    waiters_max: Annotated[
        int, Meta(ge=1, le=10_000_000, description="Consumers waiting at once; one more is turned away.")
    ] = 100_000
    stop_timeout_s: Annotated[
        float, Meta(gt=0, le=DAY_S, description="Seconds a stop waits for requests under way.")
    ] = 4.5


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """How much history is kept; bodies of live messages always are."""

    retention_hours: Annotated[int, Meta(ge=1, le=24 * 36_500, description="Hours an event is kept.")] = 168
    size_mb_max: Annotated[
        int, Meta(ge=16, le=2**30, description="Size, in MiB, above which the oldest events go first.")
    ] = 4096


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """HTTPS on every listener; both or neither."""

    cert: Annotated[str, Meta(description="Certificate chain, a PEM file; empty for plain HTTP.")] = ""
    key: Annotated[str, Meta(description="Private key of the certificate, a PEM file.")] = ""


class Mqs(msgspec.Struct, frozen=True, kw_only=True):
    """Where mqs clients in the field differ from the document."""

    oversize: Annotated[
        Literal["cut", "reject"],
        Meta(description="A payload over 1 MiB is cut to it, as documented, or rejected with 413."),
    ] = "cut"
    delete_status: Annotated[
        Literal[204, 200],
        Meta(description="Status of a message's deletion; some clients accept only 200."),
    ] = 204


class Lmstfy(msgspec.Struct, frozen=True, kw_only=True):
    """Where lmstfy releases differ."""

    max_body: Annotated[
        int, Meta(ge=1, le=GIB, description="A job must be smaller than this, in bytes; otherwise 413.")
    ] = 64 * KIB


class Emodb(msgspec.Struct, frozen=True, kw_only=True):
    """EmoDB's QueueService and DedupQueueService."""

    message_bytes_max: Annotated[
        int, Meta(ge=1, le=GIB, description="Largest message as JSON, in bytes; a larger one gets 400.")
    ] = 30 * KIB


class Mqcore(msgspec.Struct, frozen=True, kw_only=True):
    """MQ-Core's own configuration, under its own names."""

    delay: Annotated[
        float,
        Meta(gt=0, le=36_500 * DAY_S, description="Seconds until a fetched message is delivered again."),
    ] = 10
    peers: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Other servers on the same folders: a fetch takes any of the `peers` + 1 oldest.",
        ),
    ] = 0
    unknown_queue: Annotated[
        Literal["refuse", "create"],
        Meta(description="A message to a queue that does not exist gets 404, or creates the queue."),
    ] = "refuse"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What one server was told."""

    data: Annotated[str, Meta(min_length=1, description="Directory for everything the server keeps.")] = (
        "./penstock-data"
    )
    listen: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="Addresses to listen on, each `[DIALECT=]HOST:PORT`. Without a dialect an address "
            "serves them all; port 0 takes any free one.",
        ),
    ] = ("127.0.0.1:8080",)
    store: Annotated[
        str,
        Meta(
            min_length=1,
            description="Where messages are kept: `sqlite` (one file in `data`), or another store as "
            "`SCHEME:LOCATION`.",
        ),
    ] = "sqlite"
    insecure: Annotated[
        bool, Meta(description="Listen on addresses that others can reach although no keys exist.")
    ] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least important log lines shown.")
    ] = "info"
    limits: Limits = Limits()
    journal: Journal = Journal()
    tls: Tls = Tls()
    mqs: Mqs = Mqs()
    lmstfy: Lmstfy = Lmstfy()
    emodb: Emodb = Emodb()
    mqcore: Mqcore = Mqcore()

    def listeners(self) -> list[Listener]:
        return [parse_listener(text) for text in self.listen]

    def store_url(self) -> StoreUrl:
        return parse_store(self.store)


class Listener(msgspec.Struct, frozen=True):
    """One address to listen on."""

    dialect: str | None  # None: every dialect
    host: str  # without the brackets of an IPv6 address
    port: int  # 0: any free port

    def is_loopback(self) -> bool:
        """Only this machine can reach it. A name counts as reachable by others: what it means may change."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


_LISTENER = re.compile(
    r"(?:(?P<dialect>[a-z][a-z0-9-]*)=)?"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s:\[\]=/]+))"
    r":(?P<port>[0-9]{1,5})"
)


def parse_listener(text: str) -> Listener:
    match = _LISTENER.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError(
            f"cannot listen on {text!r}: it is not [DIALECT=]HOST:PORT",
            hint="for example 127.0.0.1:8080, [::1]:8080 or mqs=127.0.0.1:7843; 0.0.0.0:80 is every address",
        )
    return Listener(dialect=match["dialect"], host=match["ipv6"] or match["host"], port=int(match["port"]))


class StoreUrl(msgspec.Struct, frozen=True):
    """`sqlite`, `memory:`, `spool:PATH`, `postgres://…`: what comes after the colon is the store's affair."""

    scheme: str
    location: str  # empty: the store's default, if it has one
    text: str

    def redacted(self) -> str:
        return without_password(self.text)


def without_password(store: str) -> str:
    """The store's address as people and logs may see it."""
    hidden_before_host = re.sub(r"(//[^/:@]*):.*@", r"\1:***@", store)
    return re.sub(r"(password=)[^&]*", r"\1***", hidden_before_host)


def parse_store(text: str) -> StoreUrl:
    scheme, _, location = text.partition(":")
    if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) is None:
        raise ConfigError(
            f"cannot use the store {without_password(text)!r}: it does not begin with the name of a store",
            hint="for example sqlite, memory: or SCHEME:LOCATION",
        )
    return StoreUrl(scheme=scheme, location=location, text=text)


def check_exposure(config: Config, *, has_keys: bool) -> None:
    """Refuse to hand every message to whoever can reach the machine, unless told to."""
    if has_keys or config.insecure:
        return
    for text, listener in zip(config.listen, config.listeners(), strict=True):
        if not listener.is_loopback():
            raise ConfigError(
                f"refusing to listen on {text}: others can reach it and there are no keys",
                hint="make a key with `penstock key create`, or listen on 127.0.0.1, "
                "or pass --insecure to let anyone in",
            )
