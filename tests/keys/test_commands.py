"""`penstock key` as a person meets it: run for real, read from its output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.keys.file import KeyFile
from penstock.keys.rates import Rate
from tests.keys.making import id_of
from tests.test_cli import penstock


def create(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return penstock("key", "create", "--name", "test", *arguments, cwd=cwd)


def test_a_key_is_printed_alone_so_that_a_script_can_take_it(tmp_path: Path) -> None:
    made = create(tmp_path, "--grant", "publish:default/jobs", "--grant", "inspect:shop/*", "--rate", "30/60")
    assert made.returncode == 0
    text = made.stdout.removesuffix("\n")
    assert text.startswith("pk_")
    assert "shown this once" in made.stderr
    assert "from now on every request needs a key" in made.stderr
    assert text not in made.stderr
    ring = KeyFile(tmp_path / "penstock-data").read()
    assert ring is not None
    key = ring.find_by_text(text)
    assert key is not None
    assert [str(grant) for grant in key.grants] == ["publish:default/jobs", "inspect:shop/*"]
    assert key.rates.requests == Rate(30, 60)
    assert "first" not in create(tmp_path, "--grant", "publish:default/jobs").stderr


def test_the_list_has_everything_but_the_keys(tmp_path: Path) -> None:
    text = create(tmp_path, "--grant", "publish:default/jobs", "--rate", "5").stdout.strip()
    listed = penstock("key", "ls", cwd=tmp_path).stdout
    header, row = listed.splitlines()
    assert header.split() == ["ID", "CREATED", "RATE", "GRANTS", "NAME"]
    assert row.split()[0] == id_of(text)
    assert row.split()[2:] == ["requests:5", "publish:default/jobs", "test"]
    assert text.split("_")[2] not in listed


def test_a_key_is_removed_by_its_id_and_the_last_one_with_a_warning(tmp_path: Path) -> None:
    first, second = (id_of(create(tmp_path, "--grant", "publish:a/b").stdout.strip()) for _ in range(2))
    removed = penstock("key", "rm", first, cwd=tmp_path)
    assert (removed.stdout, removed.stderr) == (f"removed {first} (test)\n", "")
    again = penstock("key", "rm", first, cwd=tmp_path)
    assert again.returncode == 2
    assert f"there is no key '{first}'" in again.stderr
    assert "everybody is refused now" in penstock("key", "rm", second, cwd=tmp_path).stderr
    assert "everybody is refused" in penstock("key", "ls", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "a key without a grant allows nothing: give --grant\n  hint: for example publish:default/jobs"),
        (["--grant", "publish:jobs"], "cannot grant 'publish:jobs': it is not ACTIONS:NAMESPACE/QUEUE"),
        (["--grant", "publish:a/b", "--rate", "fast"], "cannot use the rate 'fast'"),
        (["--grant", "publish:a/b"] * 33, "a key has at most 32 grants"),
        (["--grant", "publish:a/b", "--name", ""], "a key's name has 1 to 200 printable letters"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_made(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    refused = create(tmp_path, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert complaint in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_looking_for_keys_where_there_are_none_leaves_nothing_behind(tmp_path: Path) -> None:
    assert "none is asked for" in penstock("key", "ls", cwd=tmp_path).stderr
    assert penstock("key", "rm", "nobody", cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_is_found_as_the_server_finds_it(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text('data = "from-file"')
    for arguments, environ in [
        (["--data", "from-flag"], {}),
        (["--config", "penstock.toml"], {}),
        ([], {"PENSTOCK_DATA": "from-environment"}),
    ]:
        made = ["key", "create", "--name", "n", "--grant", "publish:a/b", *arguments]
        assert penstock(*made, cwd=tmp_path, environ=environ).returncode == 0
    found = {path.parent.name for path in tmp_path.glob("*/keys.json")}
    assert found == {"from-flag", "from-file", "from-environment"}


@pytest.mark.parametrize(
    ("text", "is_taken"), [("x" * 20, True), ("x" * 19, False), ("with blanks " * 3, False)]
)
def test_a_key_that_clients_have_is_read_from_the_input(tmp_path: Path, text: str, *, is_taken: bool) -> None:
    command = ["key", "create", "--name", "n", "--grant", "publish:a/b", "--from-stdin"]
    made = subprocess.run(
        [sys.executable, "-m", "penstock", *command],
        cwd=tmp_path,
        input=f"{text}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.stdout == (f"{text}\n" if is_taken else "")
    ring = KeyFile(tmp_path / "penstock-data").read()
    assert (ring is not None and ring.find_by_text(text) is not None) is is_taken


def test_a_server_does_not_start_with_keys_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "penstock-data" / "keys.json"
    path.parent.mkdir()
    path.write_text("{}")
    refused = penstock("serve", "--listen", "127.0.0.1:0", cwd=tmp_path)
    assert refused.returncode == 2
    assert "keys.json is not a file of keys" in refused.stderr


def test_an_address_that_others_can_reach_needs_a_key_and_the_hint_says_how(tmp_path: Path) -> None:
    refused = penstock("serve", "--listen", "0.0.0.0:0", cwd=tmp_path)
    assert refused.returncode == 2
    assert "make a key with `penstock key create`" in refused.stderr
