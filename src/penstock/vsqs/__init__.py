"""Message queues in plain directories: no server, any number of processes, nothing but files.

    from penstock.vsqs import QueueManager

    queue = QueueManager("queues").get_queue("jobs")
    queue.publish(b"work")
    message_id, data = queue.receive(visibility_timeout=30)
    queue.delete(message_id)

Each module builds on those before it:

    names       what file names mean
    files       the system calls
    index       the files in the order in which they are asked for
    watching    what the kernel tells of changes
    following   an index in step with its directory
    publishing  how messages come in
    consuming   how they go out
    queue       what programs use
"""

from penstock.vsqs.names import Unit
from penstock.vsqs.queue import Queue, QueueFullException, QueueManager, StoredMessage

__all__ = ["Queue", "QueueFullException", "QueueManager", "StoredMessage", "Unit"]
