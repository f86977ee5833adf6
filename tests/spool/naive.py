"""MQ-Core's document as a few lines of its own, to stand for the other programs on a root."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path


class NaiveMqCore:
    """All three daemons, called by hand. It lists directories, and knows nothing of us."""

    def __init__(self, root: Path, delay_s: float = 10) -> None:
        self.root = root
        self.delay_s = delay_s
        for folder in ("new", "queues", "delay", "remove"):
            (root / folder).mkdir(parents=True, exist_ok=True)

    def create(self, queue: str) -> None:
        (self.root / "queues" / queue).mkdir(exist_ok=True)

    def add(self, queue: str, body: str) -> str:
        message_id = str(uuid.uuid1())
        with (self.root / "new" / f"{queue}:{message_id}").open("w") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        return message_id

    def move_new(self) -> int:
        moved = 0
        for path in (self.root / "new").iterdir():
            queue, message_id = path.name.split(":")
            moved += _renamed(path, self.root / "queues" / queue / message_id)
        return moved

    def move_due(self) -> int:
        moved = 0
        for path in (self.root / "delay").iterdir():
            queue, message_id = path.name.split(":")
            if path.stat().st_ctime + self.delay_s <= time.time():
                moved += _renamed(path, self.root / "queues" / queue / message_id)
        return moved

    def fetch(self, queue: str) -> tuple[str, str] | None:
        names = [path.name for path in (self.root / "queues" / queue).iterdir()]
        for message_id in sorted(names, key=lambda name: uuid.UUID(name).time):
            target = self.root / "delay" / f"{queue}:{message_id}"
            if _renamed(self.root / "queues" / queue / message_id, target):
                return message_id, target.read_text()
        return None

    def delete(self, queue: str, message_id: str) -> bool:
        pair = f"{queue}:{message_id}"
        places = ["new/" + pair, f"queues/{queue}/{message_id}", "delay/" + pair]
        return any(_renamed(self.root / place, self.root / "remove" / pair) for place in places)

    def reap(self) -> None:
        for path in (self.root / "remove").iterdir():
            path.unlink()


def _renamed(source: Path, target: Path) -> bool:
    try:
        source.rename(target)
    except FileNotFoundError:
        return False
    return True
