"""The hub's socket without a link in front of it: for lines that no link would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chatbridge import lock_file
from tests.acceptance.bridge import PATIENCE, Home, until

Json = dict[str, Any]


class RawLink:
    """Says what a test wants, byte for byte. See docs/link-protocol.md."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._file = sock.makefile("rb")

    def close(self) -> None:
        self._file.close()
        self._sock.close()

    def send(self, data: bytes) -> None:
        """All of it, or as much as the hub takes before it closes."""
        try:
            self._sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def finish(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    def say(self, message: Json) -> None:
        self.send(json.dumps(message).encode() + b"\n")

    def request(self, id: int, method: str, params: Json) -> None:
        self.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def call(self, id: int, arguments: object) -> None:
        self.request(id, "tools/call", {"name": "ask_user", "arguments": arguments})

    def hears(self) -> Json | None:
        """The next line; None when the hub has closed."""
        try:
            line = self._file.readline()
        except ConnectionResetError:  # it closed with something of ours unread
            return None
        return json.loads(line) if line else None

    def greet(self, folder: Path) -> None:
        """The preface and MCP's handshake."""
        self.say(
            {"chatbridge": "link", "protocol": 1, "version": "0", "link": "f" * 32}
            | {"cwd": str(folder), "label": None, "pid": 1, "parent": 1, "settings": {}}
        )
        greeting = self.hears()
        assert greeting
        assert greeting["chatbridge"] == "hub"
        info = {"name": "acceptance", "version": "1"}
        offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        self.request(0, "initialize", offer)
        answer = self.hears()
        assert answer
        assert answer["id"] == 0
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})


@contextmanager
def raw_link(home: Home) -> Iterator[RawLink]:
    """A connection to the running hub of this home, without a word said."""

    def address() -> str | None:
        info = lock_file.read(str(home.state))
        return info.socket if info else None

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE)
        sock.connect(until(address, "the hub's socket"))
        link = RawLink(sock)
        try:
            yield link
        finally:
            link.close()
