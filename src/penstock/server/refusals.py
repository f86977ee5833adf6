"""What the server refuses by itself, before or instead of asking the engine."""

from __future__ import annotations

from penstock.dialects.http import Problem, Response


class Refusal(Exception):
    """A request that goes no further; its connection is closed once the refusal is said.

    With a `problem` it is said in the dialect's words. Without one it is a matter of HTTP alone, such as
    a header that is too long, and the same in every dialect; unless the dialect was asked already and gave
    its `response`. Then `detail` is for the log only.
    """

    def __init__(self, reason: Problem | int, detail: str, response: Response | None = None) -> None:
        super().__init__(detail)
        self.response = response
        self.problem = reason if isinstance(reason, Problem) else None
        self.status = reason.value if isinstance(reason, Problem) else reason
        self.detail = detail


def plain(status: int, text: str) -> Response:
    """An answer in nobody's dialect."""
    return Response(status, f"{text}\n".encode(), ((b"Content-Type", b"text/plain; charset=utf-8"),))
