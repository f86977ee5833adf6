"""The file of keys: what is in it, who can read it, and what becomes of it when things go wrong."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penstock.core.errors import KeyFileError
from penstock.keys import file as key_file
from penstock.keys.file import KeyFile
from penstock.keys.ring import KEYS_MAX, KeyRing
from tests.keys.making import add_key, id_of, key, remove_key


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "data")


def test_there_are_no_keys_until_one_is_made(file: KeyFile) -> None:
    assert file.read() is None
    assert file.signature() is None
    text = add_key(file, "publish:default/jobs")
    ring = file.read()
    assert ring is not None
    assert [each.id for each in ring.keys] == [id_of(text)]
    assert ring.find_by_text(text) is ring.find(id_of(text))


def test_an_empty_ring_is_not_the_same_as_no_file(file: KeyFile) -> None:
    remove_key(file, add_key(file, "publish:default/jobs"))
    assert file.read() == KeyRing()


def test_the_text_of_a_key_is_not_in_the_file(file: KeyFile) -> None:
    secret = add_key(file, "publish:default/jobs").split("_")[2]
    assert len(secret) * 5 >= 160, "bits"
    assert secret not in file.path.read_text()


def test_nobody_else_may_read_or_write_the_file_and_its_lock(file: KeyFile) -> None:
    add_key(file, "publish:default/jobs")
    modes = {path.name: path.stat().st_mode & 0o777 for path in file.path.parent.iterdir()}
    assert modes == {"keys.json": 0o600, "keys.lock": 0o600}


def test_a_change_shows_in_the_signature_and_a_mere_look_changes_nothing(file: KeyFile) -> None:
    add_key(file, "publish:default/jobs")
    before = file.signature()
    assert file.change(lambda ring, _: (ring, len(ring.keys))) == 1
    assert file.signature() == before
    add_key(file, "publish:default/jobs")
    assert file.signature() != before


def test_a_mere_look_does_not_make_a_file_that_keeps_everybody_out(file: KeyFile) -> None:
    file.change(lambda ring, _: (ring, None))
    assert file.read() is None


def test_what_a_crash_left_behind_is_overwritten_whoever_may_read_it(file: KeyFile) -> None:
    add_key(file, "publish:default/jobs")
    left = file.path.with_suffix(".new")
    left.write_bytes(b'{"version": 1, "keys": [{"id"')
    left.chmod(0o666)
    add_key(file, "publish:default/jobs")
    ring = file.read()
    assert ring is not None
    assert len(ring.keys) == 2
    assert not left.exists()
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_change_that_fails_on_the_way_leaves_the_old_ring(
    file: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = add_key(file, "publish:default/jobs")

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(KeyFileError, match="No space left on device"):
        remove_key(file, text)
    ring = file.read()
    assert ring is not None
    assert [each.id for each in ring.keys] == [id_of(text)]


def test_writers_in_many_processes_lose_no_key(file: KeyFile) -> None:
    writer = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from penstock.keys.file import KeyFile
        from tests.keys.making import add_key
        for _ in range(15):
            add_key(KeyFile(Path(sys.argv[1])), "publish:default/jobs")
        """
    )
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-c", writer, str(file.path.parent)]
    writers = [subprocess.Popen(command, cwd=root) for _ in range(4)]
    assert [process.wait(60) for process in writers] == [0] * 4
    ring = file.read()
    assert ring is not None
    assert len({each.id for each in ring.keys}) == 60


def test_who_holds_the_lock_for_too_long_is_told_of(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_file, "LOCK_PATIENCE_S", 0.05)
    add_key(file, "publish:default/jobs")
    with file.path.with_suffix(".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(KeyFileError, match="another process has been changing"):
            add_key(file, "publish:default/jobs")


GOOD = {
    "id": "abcd2345",
    "name": "n",
    "text_sha256": "0" * 64,
    "grants": [{"actions": ["publish"], "namespace": "default", "queue": "*"}],
    "created_at_ms": 1,
}


def written(**changes: object) -> str:
    """A file of one key."""
    return json.dumps({"version": 1, "keys": [GOOD | changes]})


def test_a_file_that_a_person_wrote_is_read(file: KeyFile) -> None:
    file.path.parent.mkdir()
    file.path.write_text(written(rates={"requests": {"count": 5}}))
    assert file.read() is not None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "truncated"),
        ("{}", "missing required field `version`"),
        ('{"version": 2, "keys": []}', "version 2; this program knows version 1"),
        (written(grants=[]), "length >= 1"),
        (written(grants=GOOD["grants"] * 33), "length <= 32"),  # type: ignore[operator]
        (written(grants=[{"actions": ["fly"], "namespace": "a", "queue": "b"}]), "Invalid enum value"),
        (written(grants=[{"actions": ["publish"], "namespace": "*a", "queue": "b"}]), "regex"),
        (written(text_sha256="0"), "regex"),
        (written(id="../../x"), "regex"),
        (written(name="n" * 201), "length <= 200"),
        (written(rates={"requests": {"count": 0}}), ">= 1"),
        (written(rate=5), "unknown field `rate`"),
        (json.dumps({"version": 1, "keys": [GOOD, GOOD | {"text_sha256": "1" * 64}]}), "has a key twice"),
        (json.dumps({"version": 1, "keys": [GOOD, GOOD | {"id": "efgh2345"}]}), "has a key twice"),
        (json.dumps({"version": 1, "keys": [GOOD] * (KEYS_MAX + 1)}), f"length <= {KEYS_MAX}"),
    ],
)
def test_a_file_that_is_not_one_is_refused_as_a_whole(file: KeyFile, text: str, complaint: str) -> None:
    file.path.parent.mkdir()
    file.path.write_text(text)
    with pytest.raises(KeyFileError) as refusal:
        file.read()
    assert complaint in str(refusal.value)
    with pytest.raises(KeyFileError):  # nor is it overwritten
        add_key(file, "publish:default/jobs")
    assert file.path.read_text() == text


def test_a_ring_has_room_for_so_many_keys_and_for_each_once() -> None:
    one = key("publish:default/jobs")
    assert KeyRing().refusal(one) is None
    assert KeyRing((one,)).refusal(one) == "there is such a key already"
    assert KeyRing((one,) * KEYS_MAX).refusal(key("publish:a/b")) == f"there are {KEYS_MAX} keys already"
