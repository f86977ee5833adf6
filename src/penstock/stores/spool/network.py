"""Whether a file system may be changed by another machine, of which the kernel here tells nothing."""

from __future__ import annotations

import os
from pathlib import Path

_NETWORKS = {"nfs", "nfs4", "cifs", "smb3", "ceph", "gfs2", "ocfs2", "lustre", "9p", "glusterfs", "afs"}


def is_on_a_network(path: str, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether a directory is on a network file system, as far as the system says."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    real = os.path.realpath(path)
    found: tuple[int, str] = (0, "")
    for line in lines:
        _, mounted_at, kind, *_ = line.split(" ")
        point = mounted_at.replace("\\040", " ")
        if real == point or real.startswith(point.rstrip("/") + "/"):
            found = max(found, (len(point), kind))
    kind = found[1]
    return kind in _NETWORKS or kind.startswith("fuse.")
