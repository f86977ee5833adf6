"""The command line. The only room that speaks to a person's terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from penstock import __version__
from penstock.config import Config, without_password
from penstock.config_sources import (
    CONFIG_FILE_VARIABLE,
    SETTINGS,
    Resolved,
    flag_of,
    from_assignments,
    from_environment,
    from_file,
    from_flags,
    resolve,
    toml_value,
)
from penstock.core.errors import ConfigError, PenstockError
from penstock.key_commands import key_group
from penstock.mqcore_commands import mqcore_group
from penstock.vsqs_commands import vsqs_group

# Something a person can mend, as opposed to a bug; the same code click uses for a wrong command line.
EXIT_MENDABLE = 2


_Command = Callable[..., None]


def _flag(setting_name: str, **attributes: Any) -> Callable[[_Command], _Command]:
    """A flag of its own for a setting that is given often."""
    parameter = setting_name.replace(".", "__")
    meaning = SETTINGS[setting_name].meta.description
    return click.option(flag_of(setting_name), parameter, help=meaning, **attributes)


_SETTING_OPTIONS: list[Callable[[_Command], _Command]] = [
    _flag("data", metavar="DIR"),
    _flag("listen", metavar="[DIALECT=]HOST:PORT", multiple=True),
    _flag("store", metavar="URL"),
    _flag("insecure", is_flag=True, default=None),
    _flag("tls.cert", metavar="FILE"),
    _flag("tls.key", metavar="FILE"),
    _flag("log_level", metavar="debug|info|warning|error"),
    click.option(
        "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Any setting; may be repeated."
    ),
    click.option("--config", "config_path", metavar="FILE", help="TOML file to read settings from."),
]


def setting_options(command: _Command) -> _Command:
    """The flags that settings can be given by."""
    for option in reversed(_SETTING_OPTIONS):
        command = option(command)
    return command


def resolved_from(*, assignments: Sequence[str], config_path: str | None, **flags: Any) -> Resolved:
    """Read every source of settings; the later ones in this list are the stronger ones."""
    config_path = config_path or os.environ.get(CONFIG_FILE_VARIABLE)
    return resolve(
        from_file(_text_of(config_path), config_path) if config_path else {},
        from_environment(os.environ),
        from_assignments(assignments),
        from_flags({parameter.replace("__", "."): value for parameter, value in flags.items()}),
    )


def _text_of(config_path: str) -> str:
    try:
        return Path(config_path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"cannot read the settings in {config_path}: {reason}",
            hint=f"--config and {CONFIG_FILE_VARIABLE} name a TOML file",
        ) from exc


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="penstock %(version)s")
def commands() -> None:
    """One durable message queue that speaks the HTTP dialects you already have."""


@commands.command()
@setting_options
def serve(**options: Any) -> None:
    """Run the server until it is told to stop."""
    config = resolved_from(**options).config
    # Imported here so that --help and `penstock config` do not load the server.
    from penstock import wiring  # noqa: PLC0415

    sys.exit(wiring.run(config, announce))


@commands.command("config")
@setting_options
def show_config(**options: Any) -> None:
    """Print the settings in force as TOML, each with who set it."""
    print(described(resolved_from(**options)))


commands.add_command(key_group)
commands.add_command(vsqs_group)


def described(resolved: Resolved) -> str:
    lines = []
    table_before = ""
    for name in SETTINGS:
        table, _, key = name.rpartition(".")
        if table != table_before:
            lines += ["", f"[{table}]"]
            table_before = table
        assignment = f"{key} = {toml_value(_shown(resolved.config, name))}"
        origin = resolved.origins.get(name, "default")
        lines.append(f"{assignment:<36}  # {origin}")
    return "\n".join(lines)


def _shown(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return without_password(value) if name == "store" else value


def announce(addresses: list[tuple[str, list[str]]], store: str) -> None:
    """Say that the server is ready: where it listens, in which dialects, and where it keeps things."""
    print(f"penstock {__version__} is ready, keeping messages in {store}")
    for address, dialects in addresses:
        print(f"  {address}  {', '.join(dialects)}")
    # A supervisor that waits for this line reads a pipe, not a terminal.
    sys.stdout.flush()


def complain(error: PenstockError) -> None:
    """One line that says what is wrong, one that says how to mend it."""
    print(f"penstock: {error}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)


commands.add_command(
    mqcore_group(setting_options, lambda **options: resolved_from(**options).config, announce)
)


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        commands(arguments, prog_name="penstock", obj=resolved_from)
    except PenstockError as error:
        complain(error)
        sys.exit(EXIT_MENDABLE)
