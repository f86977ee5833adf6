"""`penstock key`: make keys, list them, take them back. A running server follows at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from penstock.config_sources import Resolved
from penstock.core.errors import ConfigError
from penstock.keys.file import KeyFile
from penstock.keys.grants import EXAMPLES, Grant, parse_grant
from penstock.keys.rates import UNLIMITED, Rates, parse_rate
from penstock.keys.ring import (
    GRANTS_MAX,
    NAME_LETTERS_MAX,
    TEXT_LETTERS_MAX,
    TEXT_LETTERS_MIN,
    Fresh,
    Key,
    KeyRing,
    is_usable_text,
)

# How settings are read belongs to the command line, which hands it over as click's object.
ReadSettings = Callable[..., Resolved]


@click.group("key")
def key_group() -> None:
    """Make, list and remove the keys that clients show."""


def _where(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say whose keys are meant."""
    data = click.option("--data", metavar="DIR", help="The server's data directory.")
    config = click.option("--config", "config_path", metavar="FILE", help="TOML file to read settings from.")
    return data(config(click.pass_obj(command)))


def _key_file(read_settings: ReadSettings, data: str | None, config_path: str | None) -> KeyFile:
    config = read_settings(assignments=(), config_path=config_path, data=data).config
    return KeyFile(Path(config.data))


@key_group.command("create")
@click.option("--name", required=True, help="What people call it, for example whose it is.")
@click.option("--grant", "grants", multiple=True, metavar="ACTIONS:NAMESPACE/QUEUE", help="May be repeated.")
@click.option("--rate", metavar="COUNT[/SECONDS]", help="Requests at most, per second unless given.")
@click.option("--from-stdin", is_flag=True, help="Take a key that clients have already.")
@_where
def create(
    read_settings: ReadSettings,
    name: str,
    grants: Sequence[str],
    rate: str | None,
    from_stdin: bool,  # noqa: FBT001 - click hands it over by name
    **where: str | None,
) -> None:
    """Make a key and print it, this once.

    Actions are publish, consume, inspect, administer and journal; several are separated by commas. A name
    that ends in * fits all that begin like it.
    """
    wanted = _parsed(name, grants, rate)
    text = _text_from(sys.stdin.readline()) if from_stdin else None
    file = _key_file(read_settings, **where)
    _announce(*file.change(lambda ring, fresh: _create(ring, fresh, wanted, text)))


@key_group.command("ls")
@_where
def ls(read_settings: ReadSettings, **where: str | None) -> None:
    """List the keys: everything but their texts, which nobody has."""
    ring = _key_file(read_settings, **where).read()
    if ring is None:
        click.echo("There are no keys, and none is asked for.", err=True)
    elif not ring.keys:
        click.echo("There are no keys, so everybody is refused.", err=True)
    else:
        click.echo(_table([("ID", "CREATED", "RATE", "GRANTS", "NAME"), *map(_row, ring.keys)]))


@key_group.command("rm")
@click.argument("key_id", metavar="ID")
@_where
def rm(read_settings: ReadSettings, key_id: str, **where: str | None) -> None:
    """Remove a key. Whoever shows it from now on is refused."""
    file = _key_file(read_settings, **where)
    if file.read() is None:
        raise ConfigError(f"there is no {file.path}", hint="--data names the server's data directory")
    removed, left = file.change(lambda ring, _: _remove(ring, key_id, file))
    click.echo(f"removed {removed.id} ({removed.name})")
    if not left:
        click.echo(
            "That was the last key: everybody is refused now. "
            f"To go without keys, delete {file.path} and restart the server.",
            err=True,
        )


class _Wanted(msgspec.Struct, frozen=True):
    """What a key is to be, but for its text."""

    name: str
    grants: tuple[Grant, ...]
    rates: Rates


def _parsed(name: str, grants: Sequence[str], rate: str | None) -> _Wanted:
    if not 1 <= len(name) <= NAME_LETTERS_MAX or not name.isprintable():
        raise ConfigError(f"a key's name has 1 to {NAME_LETTERS_MAX} printable letters")
    if not grants:
        raise ConfigError("a key without a grant allows nothing: give --grant", hint=EXAMPLES)
    if len(grants) > GRANTS_MAX:
        raise ConfigError(f"a key has at most {GRANTS_MAX} grants", hint="* stands for many names")
    rates = Rates(requests=parse_rate(rate)) if rate is not None else UNLIMITED
    return _Wanted(name, tuple(map(parse_grant, grants)), rates)


def _text_from(line: str) -> str:
    text = line.strip()
    if not is_usable_text(text):
        raise ConfigError(
            f"a key has {TEXT_LETTERS_MIN} to {TEXT_LETTERS_MAX} printable ASCII letters without blanks",
            hint="without --from-stdin one is made that nobody can guess",
        )
    return text


def _create(
    ring: KeyRing, fresh: Fresh, wanted: _Wanted, text: str | None
) -> tuple[KeyRing, tuple[Fresh, bool]]:
    if text is not None:
        fresh = msgspec.structs.replace(fresh, text=text)
    key = fresh.key(wanted.name, wanted.grants, wanted.rates)
    refusal = ring.refusal(key)
    if refusal is not None:
        raise ConfigError(refusal, hint="`penstock key ls` lists the keys")
    return ring.adding(key), (fresh, not ring.keys)


def _announce(fresh: Fresh, is_first: bool) -> None:  # noqa: FBT001 - as it comes out of the change
    """The key alone on the output, so that a script can take it; what is for people goes beside it."""
    click.echo(f"key {fresh.id}, shown this once and kept nowhere:", err=True)
    click.echo(fresh.text)
    if is_first:
        click.echo("It is the first one: from now on every request needs a key.", err=True)


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def _row(key: Key) -> tuple[str, ...]:
    created = datetime.fromtimestamp(key.created_at_ms / 1000, UTC)
    return key.id, f"{created:%Y-%m-%d}", _rates(key.rates), " ".join(map(str, key.grants)), key.name


def _rates(rates: Rates) -> str:
    given: dict[str, Any] = msgspec.structs.asdict(rates)
    return " ".join(f"{kind}:{rate}" for kind, rate in given.items() if rate is not None) or "-"


def _remove(ring: KeyRing, key_id: str, file: KeyFile) -> tuple[KeyRing, tuple[Key, int]]:
    key = ring.find(key_id)
    if key is None:
        raise ConfigError(
            f"there is no key {key_id[:40]!r} in {file.path}", hint="`penstock key ls` lists the ids"
        )
    return ring.without(key_id), (key, len(ring.keys) - 1)
