"""The one file that names concrete stores and dialects, and puts a server together from its settings."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from penstock import config as settings
from penstock.config import Config, check_exposure
from penstock.core.errors import ConfigError
from penstock.core.ids import Ids
from penstock.core.store import JournalReader, Store
from penstock.dialects.emodb.dialect import Emodb
from penstock.dialects.http import Dialect, JournalQuery
from penstock.dialects.lmstfy.admin import LmstfyAdmin
from penstock.dialects.lmstfy.dialect import Lmstfy
from penstock.dialects.mqcore import MqCore
from penstock.dialects.mqs.dialect import Mqs
from penstock.dialects.native import Native
from penstock.engine.engine import Engine
from penstock.journal.formats import JournalPages
from penstock.keys.file import KeyFile
from penstock.server.limits import Limits
from penstock.server.listeners import Address, Listener, Tls
from penstock.server.routing import Router
from penstock.server.serve import run as run_server
from penstock.stores.memory import MemoryStore
from penstock.stores.spool import SpoolStore
from penstock.stores.sqlite import JournalLimits, SqliteStore

Announce = Callable[[list[tuple[str, list[str]]], str], None]

HOUR_MS = 3_600_000
MEGABYTE = 1_000_000


def dialects(config: Config) -> dict[str, Dialect]:
    """Every dialect by name, in the order in which a shared port asks them."""
    body_bytes_max = config.limits.body_bytes_max
    spoken: list[Dialect] = [
        Mqs(config.mqs.oversize, config.mqs.delete_status, body_bytes_max),
        Emodb(config.emodb.message_bytes_max, body_bytes_max),
        Lmstfy(config.lmstfy.max_body, body_bytes_max),
        Native(),
        _mqcore(config),
    ]
    return {dialect.name: dialect for dialect in spoken}


def _mqcore(config: Config, reserved: frozenset[str] = frozenset()) -> MqCore:
    mqcore = config.mqcore
    return MqCore(mqcore.delay, mqcore.peers, mqcore.unknown_queue, config.limits.body_bytes_max, reserved)


class Opened(NamedTuple):
    """A store, and what it needs of others."""

    store: Store
    place: str  # what to tell people of where it is
    ids: Ids | None = None  # what makes its ids; None: the engine's own
    descriptor: int | None = None  # readable when others may have changed something in it


class Daemons(NamedTuple):
    """Which of MQ-Core's daemons one process is, beside the server."""

    moves: bool = True
    reaps: bool = True


ALL_DAEMONS = Daemons()


def open_store(config: Config, daemons: Daemons = ALL_DAEMONS) -> Opened:
    """The store that the settings name."""
    url = config.store_url()
    match url.scheme:
        case "sqlite":
            path = Path(url.location) if url.location else Path(config.data) / "penstock.sqlite"
            return Opened(SqliteStore.open(_in_own_directory(path), _journal_limits(config)), str(path))
        case "memory":
            return Opened(MemoryStore(), "memory only: nothing is kept when the process ends")
        case "spool":
            return _open_spool(config, daemons)
        case unknown:
            known = ["sqlite", "memory", "spool"]
            raise ConfigError(
                f"there is no store {unknown!r}",
                hint=_did_you_mean(unknown, known) or f"Stores: {', '.join(known)}.",
            )


def _open_spool(config: Config, daemons: Daemons) -> Opened:
    root = spool_root(config)
    delay_ms = max(1, round(config.mqcore.delay * 1000))
    store = SpoolStore(root, delay_ms, moves=daemons.moves, reaps=daemons.reaps)
    return Opened(store, f"the folders in {root}", store.ids, store.descriptor)


def spool_root(config: Config) -> Path:
    """The directory that has MQ-Core's folders."""
    url = config.store_url()
    if url.scheme != "spool" or not url.location:
        raise ConfigError(
            f"the store {url.redacted()!r} names no directory with MQ-Core's folders",
            hint="Give it with --store spool:PATH.",
        )
    return Path(url.location)


def _in_own_directory(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(
            f"cannot make the directory {path.parent}: {exc.strerror}", hint="Give another one with --data."
        ) from exc
    return path


def _journal_limits(config: Config) -> JournalLimits:
    return JournalLimits(
        age_ms_max=config.journal.retention_hours * HOUR_MS, bytes_max=config.journal.size_mb_max * MEGABYTE
    )


def listeners(config: Config, spoken: dict[str, Dialect]) -> list[Listener]:
    """Who answers at which address."""
    tls = _tls(config.tls)
    found: list[Listener] = []
    # On a shared port MQ-Core gets what is left: it has to know which names are not.
    reserved = frozenset[str]().union(*(dialect.roots or () for dialect in spoken.values()))
    shared = [*(d for d in spoken.values() if d.roots is not None), _mqcore(config, reserved)]
    for listener in config.listeners():
        at_this_address = shared if listener.dialect is None else [_dialect_at(listener, spoken)]
        router = Router(at_this_address, fallback=spoken["native"])
        found.append(Listener(listener.host, listener.port, router, tls))
    return found


def _dialect_at(listener: settings.Listener, spoken: dict[str, Dialect]) -> Dialect:
    """The dialect that has this address for itself. Administrators' routes are never elsewhere."""
    known = spoken | {LmstfyAdmin.name: LmstfyAdmin(is_local=listener.is_loopback())}
    name = listener.dialect or ""
    if name not in known:
        raise ConfigError(
            f"there is no dialect {name!r}",
            hint=_did_you_mean(name, known) or f"Dialects: {', '.join(known)}.",
        )
    return known[name]


def _did_you_mean(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else ""


def _tls(tls: settings.Tls) -> Tls | None:
    if not tls.cert and not tls.key:
        return None
    if not (tls.cert and tls.key):
        raise ConfigError("TLS needs both a certificate and a key", hint="Give --tls-cert and --tls-key.")
    return Tls(Path(tls.cert), Path(tls.key))


def _server_limits(limits: settings.Limits) -> Limits:
    return Limits(
        url_bytes_max=limits.url_bytes_max,
        header_bytes_max=limits.header_bytes_max,
        dropped_bytes_max=limits.dropped_bytes_max,
        connections_max=limits.connections_max,
        pipelined_max=limits.pipeline_max,
        header_seconds=limits.header_timeout_s,
        body_seconds=limits.body_timeout_s,
        body_stall_seconds=limits.body_stall_s,
        idle_seconds=limits.idle_timeout_s,
        write_stall_seconds=limits.write_stall_s,
        stop_seconds=limits.stop_timeout_s,
        journal_streams_max=limits.journal_streams_max,
    )


class JournalAnswers:
    """The journal as the server asks for it."""

    def __init__(self, reader: JournalReader) -> None:
        self._pages = JournalPages(reader)

    def latest(self) -> bytes:
        return self._pages.latest()

    def stream(self, query: JournalQuery) -> tuple[str, Iterator[bytes]]:
        return self._pages.stream(query.after, query.limit, as_arrow=query.as_arrow)


def run(config: Config, announce: Announce, daemons: Daemons = ALL_DAEMONS) -> int:
    """Serve until told to stop."""
    logging.basicConfig(level=config.log_level.upper(), format="%(message)s")
    keys = KeyFile(Path(config.data))
    check_exposure(config, has_keys=keys.read() is not None)
    spoken = dialects(config)
    addresses = listeners(config, spoken)
    store, place, ids, descriptor = open_store(config, daemons)
    try:
        engine = Engine(store, ids=ids, waiters_max=config.limits.waiters_max)
        _calm_the_collector()

        def ready(bound: list[Address]) -> None:
            announce(_described(config, spoken, bound), place)

        journal = JournalAnswers(store.journal_reader())
        limits = _server_limits(config.limits)
        run_server(engine, journal, addresses, limits=limits, keys=keys, ready=ready, descriptor=descriptor)
    finally:
        store.close()
    return 0


def _calm_the_collector() -> None:
    """Requests leave no cycles behind, so looking for them ten times a second would be time lost."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _described(
    config: Config, spoken: dict[str, Dialect], bound: list[Address]
) -> list[tuple[str, list[str]]]:
    scheme = "https" if config.tls.cert else "http"
    described: list[tuple[str, list[str]]] = []
    for listener, (host, port) in zip(config.listeners(), bound, strict=False):
        shown_host = f"[{host}]" if ":" in host else host
        names = [listener.dialect] if listener.dialect else list(spoken)
        described.append((f"{scheme}://{shown_host}:{port}", names))
    return described
