"""Every limit of the server, in one place. Nothing that a client can make grow is without one."""

from __future__ import annotations

import msgspec

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much, how many and how long. Times are kept to within one sweep, see `sweep_seconds`."""

    url_bytes_max: int = 8 * KIB
    # Names and values of all header lines together; also what may stand between two parts of a chunked body.
    header_bytes_max: int = 16 * KIB
    # Past its dialect's limit a body that is to be cut is read and thrown away, up to this much.
    dropped_bytes_max: int = 1 * GIB
    # Bodies still being received, of all connections together.
    unfinished_bytes_max: int = 512 * MIB

    connections_max: int = 10_000
    # Connections that were refused or are being closed, and only wait for the client to read why.
    turned_away_max: int = 256
    # Requests of one connection that are not answered yet; it is not read from while it has this many.
    pipelined_max: int = 64
    # Answers that a client has not read yet; its connection is not read from while it has this many.
    unsent_bytes_max: int = 256 * KIB

    header_seconds: float = 10.0
    body_seconds: float = 60.0
    body_stall_seconds: float = 10.0
    idle_seconds: float = 75.0
    # A client that takes nothing of its answer for so long is cut off.
    write_stall_seconds: float = 30.0
    linger_seconds: float = 2.0
    handshake_seconds: float = 10.0
    # From the first signal until whatever is left is cut off.
    stop_seconds: float = 4.5

    # How old the keys in force may be. To look whether their file has changed costs two microseconds.
    key_look_seconds: float = 0.1
    # A request without a key, or with one that does not do, is no reason to keep or even to read much.
    stranger_bytes_max: int = 64 * KIB

    journal_streams_max: int = 16
    journal_threads: int = 4

    @property
    def sweep_seconds(self) -> float:
        """How often the clocks of connections are looked at: one timer for all instead of one per request."""
        shortest = min(
            self.header_seconds,
            self.body_seconds,
            self.body_stall_seconds,
            self.idle_seconds,
            self.write_stall_seconds,
            self.linger_seconds,
        )
        return min(1.0, shortest / 4)
