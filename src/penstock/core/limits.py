"""How much one decision does at most."""

from __future__ import annotations

SLICE = 256  # messages touched by a decision whose number no client has given
DELIVERED_BYTES_MAX = 16 * 1024 * 1024  # bodies in one answer; a single larger one is still handed out
