"""How one client publishes, claims and acknowledges, in the protocol of each server. Without sockets.

A conversation yields what to send and gets the whole answer back; a `Whole` says when an answer is whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

BODY = b"x" * 200

Conversation = Generator[bytes, bytes, None]
Converse = Callable[[], Conversation]
Whole = Callable[[bytes], bool]

_HTTP_LENGTH = re.compile(rb"Content-Length: (\d+)\r\n")
_HTTP_MESSAGE = re.compile(rb"X-MQS-MESSAGE-ID: ([^\r]+)")


def penstock() -> Conversation:
    host = b"Host: 127.0.0.1\r\n"
    while True:
        answer = yield b"POST /messages/bench HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
            host,
            len(BODY),
            BODY,
        )
        assert b" 201 " in answer[:16], answer
        answer = yield b"GET /messages/bench HTTP/1.1\r\n%b\r\n" % host
        message = _HTTP_MESSAGE.search(answer)
        assert message is not None, answer
        answer = yield b"DELETE /messages/%b HTTP/1.1\r\n%b\r\n" % (message[1], host)
        assert b" 204 " in answer[:16], answer


def is_whole_http(answer: bytes) -> bool:
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    length = _HTTP_LENGTH.search(answer, 0, head_end + 2)
    return len(answer) >= head_end + 4 + (int(length[1]) if length else 0)


def beanstalkd() -> Conversation:
    while True:
        answer = yield b"put 0 0 3600 %d\r\n%b\r\n" % (len(BODY), BODY)
        assert answer.startswith(b"INSERTED"), answer
        answer = yield b"reserve\r\n"
        job = answer.split(b" ", 2)[1]
        answer = yield b"delete %b\r\n" % job
        assert answer == b"DELETED\r\n", answer


def is_whole_beanstalkd(answer: bytes) -> bool:
    line_end = answer.find(b"\r\n")
    if not answer.startswith(b"RESERVED"):
        return line_end >= 0
    return line_end >= 0 and len(answer) == line_end + 4 + int(answer[:line_end].split(b" ")[2])


def redis() -> Conversation:
    """A reliable queue as its documentation describes one: a list of those waiting, one of those claimed."""
    number = 0
    while True:
        number += 1
        body = b"%d %b" % (number, BODY)
        yield _redis_command(b"LPUSH", b"waiting", body[: len(BODY)])
        answer = yield _redis_command(b"LMOVE", b"waiting", b"claimed", b"RIGHT", b"LEFT")
        yield _redis_command(b"LREM", b"claimed", b"1", answer.split(b"\r\n", 2)[1])


def _redis_command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


def is_whole_redis(answer: bytes) -> bool:
    if not answer.startswith(b"$"):
        return answer.endswith(b"\r\n")
    line_end = answer.find(b"\r\n")
    return line_end >= 0 and len(answer) == line_end + 4 + int(answer[1:line_end])
