"""The limits of the machine: no watches left, no room left, no right to read.

They are set in user namespaces. Where nobody can make those, `PENSTOCK_VSQS_WITHOUT_LIMITS=1` leaves it out.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.vsqs import Queue
from tests.vsqs.support import names_in

# What the kernel counts for a user it counts anew in a user namespace, where anybody may set the limit.
WITH_LIMIT = """
echo {limit} > /proc/sys/user/{name}
exec "$0" -c "$1" "$2"
"""
USE_TWO_QUEUES = """
import sys, threading
from penstock.vsqs import QueueManager
with QueueManager(sys.argv[1]) as manager:
    for queue in (manager.get_queue("first"), manager.get_queue("second")):
        threading.Timer(0.1, queue.publish, [b"payload"]).start()
        message_id, body = queue.receive(visibility_timeout=0.2, timeout=20)
        assert body == b"payload"
        assert queue.receive(timeout=20) == (message_id, body)
        queue.delete(message_id)
        assert queue.size() == 0
    print("done")
"""


@pytest.mark.parametrize(
    ("name", "limit"),
    [("max_inotify_instances", 0), ("max_inotify_watches", 0), ("max_inotify_watches", 1)],
)
def test_when_the_kernel_has_no_watches_left_everything_still_works(
    name: str, limit: int, directory: Path
) -> None:
    script = WITH_LIMIT.format(name=name, limit=limit)
    command = ["unshare", "--user", "--map-root-user", "sh", "-ec", script, sys.executable, USE_TWO_QUEUES]
    done = subprocess.run([*command, directory], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


FILL_A_SMALL_DISK = """
mount -t tmpfs -o size=64k none "$2"
exec "$0" -c "$1" "$2"
"""
PUBLISH_UNTIL_FULL = """
import os, sys
from penstock.vsqs import Queue
with Queue(sys.argv[1] + "/queue") as queue:
    kept = []
    try:
        while True:
            kept.append(queue.publish(b"x" * 10_000))
    except OSError as error:
        print(error.errno)
    assert sorted(os.listdir(queue.path)) == kept
    message_id, body = queue.receive()
    assert body == b"x" * 10_000
    queue.delete(message_id)
    queue.publish(b"there is room again")
    print("done")
"""


def test_a_full_disk_is_told_and_nothing_is_left_of_the_attempt(directory: Path) -> None:
    directory.mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", FILL_A_SMALL_DISK]
    command += [sys.executable, PUBLISH_UNTIL_FULL, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{errno.ENOSPC}\ndone\n", "")


RECEIVE_AS_NOBODY = """
import os, sys
from penstock.vsqs import Queue
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with Queue(sys.argv[1]) as queue:
    print(queue.receive(timeout=0)[0])
    print(queue.receive(timeout=0)[0])
"""


def test_a_message_without_the_right_to_read_it_is_passed_over_and_stays_ready(directory: Path) -> None:
    os.chmod(directory.parent, 0o777)  # noqa: S103 - somebody else has to write here
    with Queue(directory) as queue:
        secret, public = queue.publish(b"secret"), queue.publish(b"public")
    os.chmod(directory, 0o777)  # noqa: S103
    os.chmod(directory / secret, 0)
    command = [sys.executable, "-c", RECEIVE_AS_NOBODY, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"{public}\nNone\n"
    assert done.stderr == f"message {secret} in {directory} is passed over: Permission denied\n"
    assert names_in(directory)[0] == secret
