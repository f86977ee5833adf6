"""Programs that the benchmark needs from the system: found, or installed where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def find_program(name: str, package: str) -> str:
    """Where a program is. Ends the benchmark with a clear message if it is nowhere."""
    found = _find(name)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {package} with apt-get …", file=sys.stderr)
        command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        found = _find(name)
    if found is None:
        sys.exit(
            f"bench: {name} was not found; install the Debian package {package!r}, or put {name} on the PATH"
        )
    return found


def _find(name: str) -> str | None:
    # Debian keeps servers where the PATH of a user does not look.
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
