"""The command line as a person meets it: run for real, read from its output."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock import __version__
from penstock.cli import announce


def penstock(
    *arguments: str, cwd: Path, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        cwd=cwd,
        env=inherited | (environ or {}),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_the_version_is_the_one_of_the_package(tmp_path: Path) -> None:
    assert penstock("--version", cwd=tmp_path).stdout == f"penstock {__version__}\n"


def test_help_names_the_commands_without_loading_the_server(tmp_path: Path) -> None:
    said = penstock("--help", cwd=tmp_path).stdout
    assert "serve" in said
    assert "config" in said
    loaded = "import sys, penstock.cli; print('penstock.server' in sys.modules, 'apsw' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert answer.stdout == "False False\n"


def test_config_prints_a_file_that_says_the_same_again(tmp_path: Path) -> None:
    first = penstock("config", "--listen", "127.0.0.1:1", "--set", "mqs.oversize=reject", cwd=tmp_path)
    assert tomllib.loads(first.stdout)["mqs"] == {"oversize": "reject", "delete_status": 204}

    (tmp_path / "penstock.toml").write_text(first.stdout)
    second = penstock("config", "--config", "penstock.toml", cwd=tmp_path)
    assert tomllib.loads(second.stdout) == tomllib.loads(first.stdout)


def test_config_says_who_set_what_and_the_strongest_source_wins(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text(
        'store = "memory:"\nlog_level = "error"\nlimits.waiters_max = 5\nlimits.pipeline_max = 6\n'
    )
    shown = penstock(
        "config",
        "--log-level=debug",
        "--set=limits.pipeline_max=8",
        cwd=tmp_path,
        environ={
            "PENSTOCK_CONFIG": "penstock.toml",
            "PENSTOCK_STORE": "postgres://node:secret@host/name",
            "PENSTOCK_LOG_LEVEL": "warning",
            "PENSTOCK_LIMITS__PIPELINE_MAX": "7",
        },
    ).stdout
    origins = dict(line.split("  # ") for line in shown.splitlines() if "  # " in line)
    by_assignment = {assignment.strip(): origin for assignment, origin in origins.items()}
    assert by_assignment["waiters_max = 5"] == "penstock.toml"
    assert by_assignment['log_level = "debug"'] == "--log-level"
    assert by_assignment["pipeline_max = 8"] == "--set limits.pipeline_max"
    assert by_assignment["journal_streams_max = 4"] == "default"
    assert by_assignment['store = "postgres://node:***@host/name"'] == "environment variable PENSTOCK_STORE"


@pytest.mark.parametrize("command", ["serve", "config"])
def test_a_mistake_in_the_settings_is_two_lines_and_exit_code_two(command: str, tmp_path: Path) -> None:
    ended = penstock(command, "--set", "limits.waiters=5", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        "penstock: --set: limits.waiters is not a setting\n  hint: did you mean limits.waiters_max?\n"
    )


def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = penstock("config", "--config", "absent.toml", cwd=tmp_path)
    assert missing.returncode == 2
    assert missing.stderr.startswith(
        "penstock: cannot read the settings in absent.toml: No such file or directory\n"
    )
    (tmp_path / "latin.toml").write_bytes(b'data = "\xe9"')
    latin = penstock("config", "--config", "latin.toml", cwd=tmp_path)
    assert latin.stderr.startswith("penstock: cannot read the settings in latin.toml: it is not UTF-8 text\n")


def test_readiness_names_the_store_and_each_address_with_its_dialects(
    capsys: pytest.CaptureFixture[str],
) -> None:
    announce(
        [("http://127.0.0.1:8080", ["mqs", "lmstfy"]), ("http://127.0.0.1:7843", ["mqs"])],
        "sqlite data/x.sqlite",
    )
    assert capsys.readouterr().out == (
        f"penstock {__version__} is ready, keeping messages in sqlite data/x.sqlite\n"
        "  http://127.0.0.1:8080  mqs, lmstfy\n"
        "  http://127.0.0.1:7843  mqs\n"
    )
