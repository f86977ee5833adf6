"""Where settings come from: a flag before the environment, before the file, before the default.

Nothing given is silently dropped: a name nobody knows and a value that does not fit are refused, with
where they came from and what would do.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from penstock.config import Config, parse_listener, parse_store, without_password
from penstock.core.errors import ConfigError

ENVIRONMENT_PREFIX = "PENSTOCK_"
# Names the file the other settings are read from, so it cannot be in there.
CONFIG_FILE_VARIABLE = "PENSTOCK_CONFIG"

# Kubernetes puts the address of a service named "penstock" into every container beside it under these
# names. They are not meant for us, and refusing them would keep the server from starting there.
_SERVICE_LINK = re.compile(r"PENSTOCK_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")


class Setting(msgspec.Struct, frozen=True):
    """One name that can be set."""

    name: str  # as in the file, its table before a dot: "limits.body_bytes_max"
    annotation: Any  # what msgspec converts to: the type, with its range and meaning in a Meta
    default: Any

    @property
    def type(self) -> Any:
        return get_args(self.annotation)[0]

    @property
    def meta(self) -> Meta:
        meta = get_args(self.annotation)[1]
        assert isinstance(meta, Meta)
        return meta

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.replace(".", "__").upper()

    def allowed(self) -> str:
        """What would do, in words."""
        if get_origin(self.type) is Literal:
            return " or ".join(toml_value(choice) for choice in get_args(self.type))
        if self.type is int:
            return f"a whole number from {self.meta.ge} to {self.meta.le}"
        if self.type is float:
            return f"a number above {self.meta.gt} and up to {self.meta.le}"
        if self.type is bool:
            return "true or false"
        what = "text" if self.type is str else "a list of texts"
        return f"{what}, not empty" if self.meta.min_length else what


class Given(msgspec.Struct, frozen=True):
    """A value somebody gave for a setting, and where."""

    value: Any
    origin: str
    is_text: bool  # from a place that knows only text, so "8" may mean a number


class Resolved(msgspec.Struct, frozen=True):
    """The settings in force, and who set each."""

    config: Config
    origins: dict[str, str]  # by setting name; one that nobody set is absent


def _settings_of(table: type[msgspec.Struct], prefix: str = "") -> Iterable[Setting]:
    for field in msgspec.structs.fields(table):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _settings_of(field.type, prefix=f"{field.name}.")
        else:
            yield Setting(prefix + field.name, field.type, field.default)


SETTINGS = {setting.name: setting for setting in _settings_of(Config)}
TABLES = tuple(dict.fromkeys(name.partition(".")[0] for name in SETTINGS if "." in name))


def toml_value(value: object) -> str:
    """A value as the file would have it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return msgspec.json.encode(value).decode()
        case tuple() | list():
            return f"[{', '.join(toml_value(item) for item in value)}]"
        case _:
            return str(value)


def from_file(text: str, path: str) -> dict[str, Given]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path} is not valid TOML: {exc}", hint="see docs/configuration.md") from exc
    given = {}
    for name, value in _flattened(document, path):
        _require_known(name, where=path)
        given[name] = Given(value, origin=path, is_text=False)
    return given


def _flattened(document: dict[str, Any], path: str) -> Iterable[tuple[str, Any]]:
    for name, value in document.items():
        if name in TABLES and not isinstance(value, dict):
            raise ConfigError(
                f"{path}: {name} is a table of settings", hint=f"write [{name}], then its settings"
            )
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())
        else:
            yield name, value


def from_environment(environ: Mapping[str, str]) -> dict[str, Given]:
    """An empty variable is one that is not set."""
    names = {setting.variable: setting.name for setting in SETTINGS.values()}
    given = {}
    for variable, value in environ.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == CONFIG_FILE_VARIABLE:
            continue
        if variable in names:
            if value:
                given[names[variable]] = Given(value, origin=f"environment variable {variable}", is_text=True)
        elif _SERVICE_LINK.fullmatch(variable) is None:
            raise ConfigError(
                f"the environment variable {variable} is not a setting",
                hint=_suggestion(variable, [*names, CONFIG_FILE_VARIABLE]),
            )
    return given


def from_assignments(assignments: Iterable[str]) -> dict[str, Given]:
    """The values of `--set NAME=VALUE`; the last of a repeated name holds."""
    given = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment}: a value is missing", hint="write --set NAME=VALUE")
        _require_known(name, where="--set")
        given[name] = Given(value, origin=f"--set {name}", is_text=True)
    return given


def flag_of(setting_name: str) -> str:
    return "--" + setting_name.replace(".", "-").replace("_", "-")


def from_flags(flags: Mapping[str, Any]) -> dict[str, Given]:
    """Values by setting name; None and an empty list are flags that were not given."""
    return {
        name: Given(value, origin=flag_of(name), is_text=False)
        for name, value in flags.items()
        if value is not None and value != ()
    }


def _require_known(name: str, where: str) -> None:
    if name not in SETTINGS:
        raise ConfigError(f"{where}: {name} is not a setting", hint=_suggestion(name, SETTINGS))


def _suggestion(unknown: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(unknown, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "`penstock config` lists every setting"


def resolve(*sources: Mapping[str, Given]) -> Resolved:
    """Put the sources together, the weakest first."""
    given = {name: each for source in sources for name, each in source.items()}
    tables: dict[str, dict[str, Any]] = {}
    for name, each in given.items():
        table, _, key = name.rpartition(".")
        tables.setdefault(table, {})[key] = _fitting(SETTINGS[name], each)
    config = msgspec.convert(tables.pop("", {}) | tables, Config)
    _check_tls(config)
    return Resolved(config, {name: each.origin for name, each in given.items()})


def _fitting(setting: Setting, given: Given) -> Any:
    """The value in the setting's own type, or a refusal that says what would do."""
    value = given.value
    if given.is_text and get_origin(setting.type) is tuple:
        value = [item.strip() for item in value.split(",")]
    try:
        value = msgspec.convert(value, setting.annotation, strict=not given.is_text)
    except msgspec.ValidationError as exc:
        shown = without_password(toml_value(given.value))
        raise ConfigError(
            f"{given.origin}: {setting.name} cannot be {shown}", hint=f"allowed: {setting.allowed()}"
        ) from exc
    _check_form(setting, value, given.origin)
    return value


def _check_form(setting: Setting, value: Any, origin: str) -> None:
    """What a type cannot say: addresses and stores have a form of their own."""
    try:
        match setting.name:
            case "listen":
                for address in value:
                    parse_listener(address)
            case "store":
                parse_store(value)
            case _:
                pass
    except ConfigError as exc:
        raise ConfigError(f"{origin}: {exc}", hint=exc.hint) from exc


def _check_tls(config: Config) -> None:
    if bool(config.tls.cert) != bool(config.tls.key):
        there, missing = ("cert", "key") if config.tls.cert else ("key", "cert")
        raise ConfigError(f"tls.{there} is set but tls.{missing} is not", hint="HTTPS needs both")
