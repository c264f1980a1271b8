"""A hub that says exactly what a test tells it to, over a real Unix socket and a real lock.

It knows no MCP: a test receives each line that a link sends and answers it, or does not.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chatbridge import lock_file, runtime_paths

PATIENCE = 20.0
Message = dict[str, Any]


class Connection:
    """The hub's end of one link."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE)
        self._socket = sock
        self._rest = b""

    def receive(self) -> Message:
        """The next line but those about a call's age: whether they come depends on the machine."""
        while (message := self._line()).get("chatbridge") == "age":
            pass
        return message

    def _line(self) -> Message:
        while b"\n" not in self._rest:
            piece = self._socket.recv(65536)
            if not piece:
                raise EOFError("the link has closed the connection")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def send(self, *messages: Message) -> None:
        self._socket.sendall(b"".join(json.dumps(it).encode() + b"\n" for it in messages))

    def respond(self, request: Message, result: Message) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def is_closed(self) -> bool:
        """Wait for the link to close; anything that it says before is passed over."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            return True

    def close(self) -> None:
        self._socket.close()


class ScriptedHub:
    """Holds the lock and the socket of a state directory, as the hub does."""

    def __init__(self, state: str, *, pid: int | None = None) -> None:
        self._state = state
        self._lock = lock_file.acquire(state)
        path = runtime_paths.socket_path(state)
        self._listener = runtime_paths.bind_socket(path)
        self._listener.settimeout(PATIENCE)
        self.pid = pid or os.getpid()
        self._connections: list[Connection] = []
        lock_file.write(
            self._lock,
            lock_file.LockInfo(pid=self.pid, version="0.1.0", socket=path, started_by="person"),
        )

    def accept(self, *, greet: bool = True) -> tuple[Connection, Message]:
        """The next link's connection and preface."""
        sock, _ = self._listener.accept()
        connection = Connection(sock)
        self._connections.append(connection)
        preface = connection.receive()
        if greet:
            connection.send(
                {"chatbridge": "hub", "protocol": 1, "version": "0.1.0", "pid": self.pid}
            )
        return connection, preface

    def die(self) -> None:
        """As after a kill: everything is closed at once, files stay behind."""
        self._listener.close()
        for connection in self._connections:
            connection.close()
        os.close(self._lock)


@contextmanager
def scripted_hub(state: str) -> Iterator[ScriptedHub]:
    hub = ScriptedHub(state)
    try:
        yield hub
    finally:
        try:
            hub.die()
        except OSError:
            pass  # the test has ended it
