"""The commands as scripts use them: run for real, read from their output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vsqs.support import names_in, put


def vsqs(*arguments: str | Path, given: bytes = b"", code: int = 0) -> tuple[bytes, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "vsqs", *arguments],
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_publish_receive_and_delete_make_a_script(directory: Path) -> None:
    first, second = vsqs("publish", directory, "hello", "world")[0].split()
    assert vsqs("receive", directory) == (b"hello", first + b"\n")
    assert vsqs("receive", directory) == (b"world", second + b"\n")
    vsqs("delete", directory, first.decode(), second.decode())
    assert names_in(directory) == []


def test_publish_takes_standard_input_as_one_message_to_the_last_byte(directory: Path) -> None:
    vsqs("publish", directory, given=b"\0binary\nand more\n")
    assert vsqs("receive", "--delete", directory)[0] == b"\0binary\nand more\n"
    assert names_in(directory) == []


def test_receive_says_by_its_exit_code_that_there_is_nothing(directory: Path) -> None:
    put(directory)
    assert vsqs("receive", directory, code=1) == (b"", b"")
    assert vsqs("receive", "--timeout", "0.05", directory, code=1) == (b"", b"")


def test_a_full_queue_is_two_lines_and_exit_code_two(directory: Path) -> None:
    said = vsqs("publish", "--capacity", "1", "--timeout", "0", directory, "fits", "does not", code=2)[1]
    assert (
        said
        == (
            f"penstock: the queue {directory} has no room for 1 more: it may have 1 messages\n"
            "  hint: consume some of them, or give it a larger capacity\n"
        ).encode()
    )
    assert len(names_in(directory)) == 1


def test_ids_are_microseconds_when_asked_for(directory: Path) -> None:
    assert len(vsqs("publish", "--unit", "us", directory, "payload")[0].strip()) == 16


@pytest.mark.parametrize("command", ["receive", "ls", "sink"])
def test_a_misspelt_directory_is_not_made(command: str, directory: Path) -> None:
    assert b"does not exist" in vsqs(command, directory, code=2)[1]
    assert not directory.exists()


def test_a_name_that_is_no_id_is_refused(directory: Path) -> None:
    put(directory.parent, "precious")
    put(directory)
    said = vsqs("delete", directory, "../precious", code=2)[1]
    assert said.startswith(b"penstock: '../precious' is not a message id")
    assert (directory.parent / "precious").exists()


def test_a_directory_that_cannot_be_used_is_named(directory: Path) -> None:
    put(directory.parent, "queue")
    said = vsqs("publish", directory / "below", "payload", code=2)[1]
    assert said.startswith(f"penstock: cannot use the queue in {directory}/below: ".encode())


def test_ls_lists_oldest_first_and_leaves_everything_as_it_is(directory: Path) -> None:
    names = ["1415776871122.99999999999999", "1415776871123456", "1415776871124.1415776879654", "README"]
    put(directory, *names)
    assert vsqs("ls", directory)[0].decode().splitlines() == [
        "ID                 STATE     UNTIL                          BYTES",
        "1415776871122      consumed  5138-11-16T09:46:39.999Z          28",
        "1415776871123456   ready     -                                 16",
        "1415776871124      consumed  2014-11-12T07:21:19.654Z          27",
    ]
    assert names_in(directory) == sorted(names)


def test_ls_speaks_json_when_asked_to(directory: Path) -> None:
    put(directory, "1415776871123")
    line = json.loads(vsqs("ls", "--json", directory)[0])
    assert line == {"id": "1415776871123", "state": "ready", "until": None, "size": 13}


def test_pump_and_sink_carry_lines_in_their_order(directory: Path) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(100)) + b"\nlast without an end"
    assert vsqs("pump", directory, given=lines)[1] == b"102 published\n"
    assert vsqs("sink", "--timeout", "0", directory)[0] == lines + b"\n"
    assert names_in(directory) == []


def test_pump_and_sink_carry_pieces_that_end_in_zero_bytes(directory: Path) -> None:
    pieces = b"one\nwith two lines\0" + b"large" * 50_000 + b"\0"
    assert vsqs("pump", "--null", directory, given=pieces)[1] == b"2 published\n"
    assert vsqs("sink", "--null", "--count", "2", directory)[0] == pieces


def test_pump_takes_files_as_they_are(directory: Path) -> None:
    put(directory.parent, "first", "second")
    vsqs("pump", directory, directory.parent / "first", directory.parent / "second")
    assert vsqs("sink", "--raw", "--count", "2", directory)[0] == b"firstsecond"


def test_pump_says_how_far_it_came(directory: Path) -> None:
    put(directory.parent, "first")
    unreadable = "/proc/self/mem"
    said = vsqs("pump", directory, directory.parent / "first", unreadable, code=2)[1]
    assert said == b"1 published\npenstock: cannot read /proc/self/mem: Input/output error\n"
    assert len(names_in(directory)) == 1


def test_sink_deletes_nothing_that_could_not_be_written(directory: Path) -> None:
    put(directory, "1415776871123", "1415776871124")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "penstock", "vsqs", "sink", str(directory)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode != 0
    assert b"No space left on device" in done.stderr
    assert len(names_in(directory)) == 2


def test_sink_ends_quietly_when_nobody_reads_any_more(directory: Path) -> None:
    put(directory, *(str(1415776871123 + number) for number in range(5)))
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "penstock", "vsqs", "sink", str(directory)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
    assert len(names_in(directory)) == 5
