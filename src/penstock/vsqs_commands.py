"""`penstock vsqs`: queues in plain directories, for scripts and for looking into them, without a server."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from penstock.core.errors import StoreError
from penstock.vsqs import Queue, StoredMessage, Unit

EXIT_NOTHING_THERE = 1
_READ_BYTES = 65536
_GROUP_MAX = 64  # messages that share a sync

_Command = Callable[..., None]


@click.group("vsqs")
def vsqs_group() -> None:
    """Use a queue that is a directory: publish, receive, delete, look."""


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Say what a person can mend in a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise  # who read our output has gone, which is no fault of the queue's
    except OSError as error:
        where = error.filename or path
        raise StoreError(f"cannot use the queue in {path}: {where}: {error.strerror}") from error
    except ValueError as error:
        raise StoreError(str(error)) from error


def _existing(command: _Command) -> _Command:
    """A misspelt directory is a mistake, not a new queue."""
    kind = click.Path(exists=True, file_okay=False)
    return click.argument("directory", type=kind)(command)


def _publishing(command: _Command) -> _Command:
    options = [
        click.argument("directory", type=click.Path(file_okay=False)),
        click.option("--capacity", type=click.IntRange(min=0), help="Wait while there are so many messages."),
        click.option("--unit", type=click.Choice(["ms", "us"]), default="ms", help="What new ids count."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _seconds(*names: str, **attributes: Any) -> Callable[[_Command], _Command]:
    return click.option(*names, type=click.FloatRange(min=0), metavar="SECONDS", **attributes)


_visibility = _seconds(
    "--visibility-timeout", default=10.0, show_default=True, help="How long nobody else gets the message."
)


@vsqs_group.command()
@_publishing
@click.argument("messages", nargs=-1)
@_seconds("--timeout", help="How long to wait for room; for as long as it takes unless given.")
def publish(
    directory: str, messages: Sequence[str], capacity: int | None, unit: Unit, timeout: float | None
) -> None:
    """Publish each MESSAGE, or standard input as one if there is none, and print the ids."""
    bodies = [os.fsencode(message) for message in messages] or [sys.stdin.buffer.read()]
    with _explained(directory), Queue(directory, capacity, unit=unit) as queue:
        for body in bodies:
            click.echo(queue.publish(body, timeout))


@vsqs_group.command()
@_existing
@_visibility
@_seconds("--timeout", default=0.0, help="How long to wait for a message; looks once unless given.")
@click.option("--delete", "deletes", is_flag=True, help="Delete the message once it is written.")
def receive(directory: str, visibility_timeout: float, timeout: float, *, deletes: bool) -> None:
    """Write the oldest message to standard output and its id to standard error.

    The exit code is 1 if there is none.
    """
    with _explained(directory), Queue(directory) as queue:
        message_id, data = queue.receive(visibility_timeout, timeout)
        if message_id is None or data is None:
            sys.exit(EXIT_NOTHING_THERE)
        _write_for_good(sys.stdout.buffer, data)
        click.echo(message_id, err=True)
        if deletes:
            queue.delete(message_id)


@vsqs_group.command()
@_existing
@click.argument("ids", nargs=-1, required=True)
def delete(directory: str, ids: Sequence[str]) -> None:
    """Delete messages by their ids, whoever has them."""
    with _explained(directory), Queue(directory) as queue:
        for message_id in ids:
            queue.delete(message_id)


@vsqs_group.command("ls")
@_existing
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def list_messages(directory: str, *, as_json: bool) -> None:
    """List the messages, oldest first."""
    with _explained(directory), Queue(directory) as queue:
        if not as_json:
            click.echo(_ROW.format("ID", "STATE", "UNTIL", "BYTES"))
        for message in queue.messages():
            click.echo(_as_json(message) if as_json else _as_row(message))


_ROW = "{:<17}  {:<8}  {:<24}  {:>10}"


def _as_row(message: StoredMessage) -> str:
    return _ROW.format(message.id, message.state, _until(message) or "-", message.size)


def _as_json(message: StoredMessage) -> bytes:
    shown = {"id": message.id, "state": message.state, "until": _until(message), "size": message.size}
    return msgspec.json.encode(shown)


def _until(message: StoredMessage) -> str | None:
    if message.expires_at_us is None:
        return None
    until = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=message.expires_at_us)
    return until.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@vsqs_group.command()
@_publishing
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--null", "is_null", is_flag=True, help="Messages end in a zero byte, not in a line end.")
def pump(directory: str, files: Sequence[Path], capacity: int | None, unit: Unit, *, is_null: bool) -> None:
    """Publish each FILE, or each line of standard input if there is none."""
    end = b"\0" if is_null else b"\n"
    groups = ([_read(path)] for path in files) if files else _pieces(sys.stdin.buffer, end)
    group_max = min(_GROUP_MAX, capacity or _GROUP_MAX)
    count = 0
    try:
        with _explained(directory), Queue(directory, capacity, unit=unit) as queue:
            for group in groups:
                for start in range(0, len(group), group_max):
                    count += len(queue.publish_many(group[start : start + group_max]))
    finally:
        # Also after a failure: whoever goes on has to know from where.
        click.echo(f"{count} published", err=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _pieces(stream: BinaryIO, end: bytes) -> Iterator[list[bytes]]:
    """What a stream has between its ends, as much at a time as is there; the last end may be missing."""
    kept = bytearray()
    while data := os.read(stream.fileno(), _READ_BYTES):
        *whole, rest = data.split(end)
        if whole:
            yield [bytes(kept) + whole[0], *whole[1:]]
            kept.clear()
        kept += rest
    if kept:
        yield [bytes(kept)]


@vsqs_group.command()
@_existing
@_visibility
@_seconds("--timeout", help="Stop after so long without a message; never unless given.")
@click.option("--count", type=click.IntRange(min=1), help="Stop after so many messages.")
@click.option("--null", "is_null", is_flag=True, help="End messages in a zero byte, not in a line end.")
@click.option("--raw", is_flag=True, help="Put nothing between messages.")
def sink(
    directory: str,
    visibility_timeout: float,
    timeout: float | None,
    count: int | None,
    *,
    is_null: bool,
    raw: bool,
) -> None:
    """Write messages to standard output, and delete each once it is written."""
    end = b"" if raw else b"\0" if is_null else b"\n"
    written = 0
    with _explained(directory), Queue(directory) as queue:
        while count is None or written < count:
            message_id, data = queue.receive(visibility_timeout, timeout)
            if message_id is None or data is None:
                return
            _write_for_good(sys.stdout.buffer, data + end)
            queue.delete(message_id)
            written += 1


def _write_for_good(stream: BinaryIO, data: bytes) -> None:
    """Write so that the message may be deleted; into a file, that it survives what the message would have."""
    stream.write(data)
    stream.flush()
    try:
        os.fsync(stream.fileno())
    except OSError as error:
        # A pipe or a terminal cannot be synced: whoever reads it has it.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
