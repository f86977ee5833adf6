"""Bytes with gaps: `{id}` stands for a word that is not known when a transcript is written.

In an expected answer the first `{id}` takes whatever is there, every later one must find the same again.
In a request it is filled with what was taken. `{id:uuid}` takes only what looks like a UUID.
"""

from __future__ import annotations

import re

_GAP = re.compile(rb"\{([a-z][a-z0-9_]*)(?::([a-z]+))?\}")

KINDS = {
    "word": rb'[^\s"]+',
    "uuid": rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ulid": rb"[0-7][0-9A-HJKMNP-TV-Z]{25}",
    "time": rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "number": rb"-?\d+",
    "text": rb'[^\r\n"]+',
}


class Template:
    """A text of a transcript."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def filled(self, taken: dict[str, bytes]) -> bytes:
        """The text with every gap filled."""
        return _GAP.sub(lambda gap: taken[gap[1].decode()], self.text)

    def take(self, data: bytes, taken: dict[str, bytes]) -> bool:
        """Whether the data is this text; what is in its gaps is added to `taken`."""
        if not _GAP.search(self.text):
            return data == self.text  # a pattern of a megabyte takes seconds
        found = re.fullmatch(self._pattern(taken), data, re.DOTALL)
        if found is None:
            return False
        taken.update({name: value for name, value in found.groupdict().items() if value is not None})
        return True

    def _pattern(self, taken: dict[str, bytes]) -> bytes:
        pieces: list[bytes] = []
        seen: set[str] = set()
        at = 0
        for gap in _GAP.finditer(self.text):
            pieces += (re.escape(self.text[at : gap.start()]), _gap_pattern(gap, taken, seen))
            seen.add(gap[1].decode())
            at = gap.end()
        return b"".join([*pieces, re.escape(self.text[at:])])


def _gap_pattern(gap: re.Match[bytes], taken: dict[str, bytes], seen: set[str]) -> bytes:
    name = gap[1].decode()
    if name in taken:
        return re.escape(taken[name])
    if name in seen:
        return b"(?P=%b)" % gap[1]
    return b"(?P<%b>%b)" % (gap[1], KINDS[(gap[2] or b"word").decode()])
