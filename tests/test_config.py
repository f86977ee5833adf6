"""Settings: where they come from, who wins, and what is refused with which words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.config import (
    Config,
    Limits,
    Listener,
    Mqs,
    check_exposure,
    parse_listener,
    parse_store,
)
from penstock.config_sources import (
    SETTINGS,
    Given,
    from_assignments,
    from_environment,
    from_file,
    from_flags,
    resolve,
    toml_value,
)
from penstock.core.errors import ConfigError

DOCUMENT = Path(__file__).parent.parent / "docs" / "configuration.md"


def test_nothing_given_means_every_default() -> None:
    resolved = resolve()
    assert resolved.config == Config()
    assert resolved.origins == {}


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() -> None:
    file = from_file('store = "memory:"\ndata = "from-file"\nlog_level = "error"', "penstock.toml")
    environment = from_environment({"PENSTOCK_STORE": "spool:here", "PENSTOCK_DATA": "from-environment"})
    flags = from_flags({"store": "vsqs:there", "listen": (), "insecure": None})

    resolved = resolve(file, environment, flags)

    assert resolved.config == Config(store="vsqs:there", data="from-environment", log_level="error")
    assert resolved.origins == {
        "store": "--store",
        "data": "environment variable PENSTOCK_DATA",
        "log_level": "penstock.toml",
    }


def test_a_table_given_in_several_places_is_put_together_setting_by_setting() -> None:
    file = from_file("[limits]\nwaiters_max = 5\npipeline_max = 6", "penstock.toml")
    environment = from_environment({"PENSTOCK_LIMITS__PIPELINE_MAX": "7"})
    assert resolve(file, environment).config.limits == Limits(waiters_max=5, pipeline_max=7)


def test_text_from_the_environment_becomes_the_type_of_its_setting() -> None:
    given = from_environment(
        {
            "PENSTOCK_LISTEN": "127.0.0.1:1, mqs=[::1]:2",
            "PENSTOCK_INSECURE": "true",
            "PENSTOCK_LIMITS__STOP_TIMEOUT_S": "0.5",
            "PENSTOCK_MQS__DELETE_STATUS": "200",
        }
    )
    assert resolve(given).config == Config(
        listen=("127.0.0.1:1", "mqs=[::1]:2"),
        insecure=True,
        limits=Limits(stop_timeout_s=0.5),
        mqs=Mqs(delete_status=200),
    )


def test_an_empty_variable_counts_as_not_set() -> None:
    assert from_environment({"PENSTOCK_STORE": "", "PENSTOCK_TLS__CERT": ""}) == {}


def test_variables_of_others_and_of_kubernetes_service_links_are_left_alone() -> None:
    environ = {
        "PATH": "/bin",
        "PENSTOCK_CONFIG": "penstock.toml",
        "PENSTOCK_SERVICE_HOST": "10.0.0.1",
        "PENSTOCK_SERVICE_PORT_HTTP": "8080",
        "PENSTOCK_PORT": "tcp://10.0.0.1:8080",
        "PENSTOCK_PORT_8080_TCP_ADDR": "10.0.0.1",
    }
    assert from_environment(environ) == {}


def test_the_last_of_a_repeated_assignment_holds() -> None:
    given = from_assignments(["limits.waiters_max=1", "limits.waiters_max=2"])
    assert given == {"limits.waiters_max": Given("2", origin="--set limits.waiters_max", is_text=True)}


def test_an_assigned_value_may_contain_an_equals_sign() -> None:
    assert resolve(from_assignments(["listen=mqs=127.0.0.1:1"])).config.listen == ("mqs=127.0.0.1:1",)


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        ("listn = 1", "penstock.toml: listn is not a setting", "did you mean listen?"),
        ("[limts]\nwaiters_max = 1", "limts.waiters_max is not a setting", "limits.waiters_max?"),
        ("waiters_max = 1", "waiters_max is not a setting", "did you mean limits.waiters_max?"),
        ("[store]\npath = 1", "store.path is not a setting", "did you mean store?"),
        ("zzz = 1", "zzz is not a setting", "`penstock config` lists every setting"),
        ("limits = 1", "limits is a table of settings", "write [limits]"),
        ("listen = ", "penstock.toml is not valid TOML", "docs/configuration.md"),
    ],
)
def test_a_file_that_says_something_unknown_is_refused(text: str, complaint: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)) as refusal:
        from_file(text, "penstock.toml")
    assert hint in refusal.value.hint


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="PENSTOCK_MQS_OVERSIZE is not a setting") as refusal:
        from_environment({"PENSTOCK_MQS_OVERSIZE": "reject"})
    assert refusal.value.hint == "did you mean PENSTOCK_MQS__OVERSIZE?"


def test_an_unknown_or_unfinished_assignment_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--set: mqs\.oversized is not a setting") as refusal:
        from_assignments(["mqs.oversized=cut"])
    assert refusal.value.hint == "did you mean mqs.oversize?"
    with pytest.raises(ConfigError, match=r"--set mqs\.oversize: a value is missing"):
        from_assignments(["mqs.oversize"])


@pytest.mark.parametrize(
    ("text", "complaint", "allowed"),
    [
        ("limits.waiters_max = 0", "limits.waiters_max cannot be 0", "a whole number from 1 to 10000000"),
        ('limits.waiters_max = "8"', 'limits.waiters_max cannot be "8"', "a whole number"),
        ("limits.waiters_max = true", "limits.waiters_max cannot be true", "a whole number"),
        (
            "limits.body_stall_s = nan",
            "limits.body_stall_s cannot be nan",
            "a number above 0 and up to 86400",
        ),
        ("limits.body_stall_s = inf", "limits.body_stall_s cannot be inf", "a number above 0"),
        ('insecure = "yes"', 'insecure cannot be "yes"', "true or false"),
        ('mqs.oversize = "drop"', 'mqs.oversize cannot be "drop"', '"cut" or "reject"'),
        ("mqs.delete_status = 404", "mqs.delete_status cannot be 404", "204 or 200"),
        ('data = ""', 'data cannot be ""', "text, not empty"),
        ('listen = "127.0.0.1:1"', 'listen cannot be "127.0.0.1:1"', "a list of texts, not empty"),
        ("listen = []", "listen cannot be []", "a list of texts, not empty"),
        ("tls.cert = 1", "tls.cert cannot be 1", "text"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_is_allowed(
    text: str, complaint: str, allowed: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"penstock.toml: {complaint}")) as refusal:
        resolve(from_file(text, "penstock.toml"))
    assert refusal.value.hint.startswith(f"allowed: {allowed}")


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tls\.cert is set but tls\.key is not"):
        resolve(from_flags({"tls.cert": "cert.pem"}))
    with pytest.raises(ConfigError, match=r"tls\.key is set but tls\.cert is not"):
        resolve(from_flags({"tls.key": "key.pem"}))


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("127.0.0.1:8080", Listener(None, "127.0.0.1", 8080)),
        ("localhost:0", Listener(None, "localhost", 0)),
        ("mqs=0.0.0.0:7843", Listener("mqs", "0.0.0.0", 7843)),  # noqa: S104 - parsed, not listened on
        ("lmstfy-admin=[::1]:65535", Listener("lmstfy-admin", "::1", 65535)),
        ("[fe80::1%eth0]:1", Listener(None, "fe80::1%eth0", 1)),
    ],
)
def test_an_address_is_read_as_dialect_host_and_port(text: str, listener: Listener) -> None:
    assert parse_listener(text) == listener


@pytest.mark.parametrize(
    "text", ["", "8080", ":8080", "host", "host:", "host:x", "host:65536", "::1:80", "http://host:80", "=h:1"]
)
def test_an_address_of_another_form_is_refused_by_its_setting(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--listen: cannot listen on {text!r}")) as refusal:
        resolve(from_flags({"listen": (text,)}))
    assert "127.0.0.1:8080" in refusal.value.hint


@pytest.mark.parametrize(
    ("text", "scheme", "location"),
    [
        ("sqlite", "sqlite", ""),
        ("memory:", "memory", ""),
        ("spool:some/where", "spool", "some/where"),
        ("postgres://node:pass@host/name", "postgres", "//node:pass@host/name"),
    ],
)
def test_a_store_is_read_as_a_scheme_and_whatever_it_says(text: str, scheme: str, location: str) -> None:
    url = parse_store(text)
    assert (url.scheme, url.location, url.text) == (scheme, location, text)


@pytest.mark.parametrize(
    "text", ["postgres://node:p@ss/word@host/name", "postgres://host/name?user=node&password=p@ss/word"]
)
def test_a_password_in_the_store_is_never_shown(text: str) -> None:
    assert "word" not in parse_store(text).redacted().replace("password=", "")
    with pytest.raises(ConfigError) as refusal:
        resolve(from_flags({"store": f"!{text}"}))
    assert "ss/word" not in str(refusal.value)
    with pytest.raises(ConfigError) as refusal:
        resolve(from_file(f'store = ["{text}"]', "penstock.toml"))
    assert "ss/word" not in str(refusal.value)


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "queue.example:1"])
def test_an_address_others_can_reach_needs_keys_or_the_word_insecure(address: str) -> None:
    exposed = Config(listen=("127.0.0.1:1", address))
    with pytest.raises(ConfigError, match=re.escape(f"refusing to listen on {address}")) as refusal:
        check_exposure(exposed, has_keys=False)
    assert "--insecure" in refusal.value.hint
    check_exposure(exposed, has_keys=True)
    check_exposure(Config(listen=exposed.listen, insecure=True), has_keys=False)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "localhost:1"])
def test_a_loopback_address_needs_no_keys(address: str) -> None:
    check_exposure(Config(listen=(address,)), has_keys=False)


def test_every_setting_is_documented_as_it_is() -> None:
    documented = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    expected = [
        f"| `{name}` | `{toml_value(setting.default)}` | `{setting.variable}` | {setting.allowed()}"
        f" | {setting.meta.description} |"
        for name, setting in SETTINGS.items()
    ]
    assert documented == expected


def test_every_setting_has_a_meaning_and_every_number_a_range() -> None:
    for setting in SETTINGS.values():
        assert setting.meta.description, setting.name
        if setting.type in {int, float}:
            assert setting.meta.le is not None, setting.name
            assert (setting.meta.ge is None) == (setting.type is float), setting.name


def test_every_default_would_be_accepted_if_it_were_given() -> None:
    given = {name: Given(setting.default, origin="test", is_text=False) for name, setting in SETTINGS.items()}
    assert resolve(given).config == Config()
