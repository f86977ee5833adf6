"""Holds many conversations with one server at once, on one thread, for a given time."""

from __future__ import annotations

import selectors
import socket
import time

from bench.conversations import Conversation, Converse, Whole

CONNECTIONS = 64


class _Client:
    """One connection, with one request under way."""

    def __init__(self, port: int, conversation: Conversation, is_whole: Whole) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._conversation = conversation
        self._is_whole = is_whole
        self._received = b""
        self.socket.sendall(next(conversation))

    def go_on(self) -> bool:
        """Read; True if an answer is whole and the next request was sent."""
        data = self.socket.recv(65536)
        assert data, "the server closed the connection"
        self._received += data
        if not self._is_whole(self._received):
            return False
        answer, self._received = self._received, b""
        self.socket.sendall(self._conversation.send(answer))
        return True


def drive(port: int, converse: Converse, is_whole: Whole, seconds: float) -> int:
    """How many requests were answered."""
    answered = 0
    clients = [_Client(port, converse(), is_whole) for _ in range(CONNECTIONS)]
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for key, _ in selector.select(timeout=1):
                answered += key.data.go_on()
    for client in clients:
        client.socket.close()
    return answered
