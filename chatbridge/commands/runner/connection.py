"""One connection to the runner: lines of JSON in both directions, without blocking, and the orders
in them. `service` acts on the messages; the package's docstring describes them.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
from collections.abc import Callable, Iterable

from chatbridge import safe_json
from chatbridge.framing import LineReader, Overlong

MAX_LINE = 16 * 1024 * 1024
"""Arguments and environment may be 2 MB on Linux, and JSON writes some bytes as six."""
_MOST_UNREAD = 8 * 1024 * 1024

Message = dict[str, object]


class Garbage(ValueError):
    """What was sent is no message of ours."""


class Connection:
    def __init__(
        self,
        sock: socket.socket,
        selector: selectors.BaseSelector,
        *,
        heard: Callable[[Connection, Message], None],
        closed: Callable[[Connection, str], None],
    ) -> None:
        sock.setblocking(False)
        self._sock, self._selector = sock, selector
        self._heard, self._closed = heard, closed
        self._reader = LineReader(MAX_LINE)
        self._unsent = bytearray()
        self._open = True
        selector.register(sock, selectors.EVENT_READ, self._ready)

    def tell(self, message: Message) -> None:
        if not self._open:
            return
        self._unsent += json.dumps(message).encode() + b"\n"
        if len(self._unsent) > _MOST_UNREAD:
            self.close("nothing was read there")
        else:
            self._send()

    def close(self, why: str = "") -> None:
        """What has not been sent is lost."""
        if self._open:
            self._open = False
            self._selector.unregister(self._sock)
            self._sock.close()
            self._closed(self, why)

    def _ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send()
        if events & selectors.EVENT_READ and self._open:
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        for line in self._reader.feed(data):
            if not self._open:
                return
            try:
                self._heard(self, _parsed(line))
            except Garbage as error:
                self.close(str(error))

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if self._selector.get_key(self._sock).events != wanted:
            self._selector.modify(self._sock, wanted, self._ready)


def _parsed(line: bytes | Overlong) -> Message:
    if isinstance(line, Overlong):
        raise Garbage("a line is too long")
    try:
        message = safe_json.loads(line)
    except ValueError:
        raise Garbage("a line is no JSON") from None
    if not isinstance(message, dict):
        raise Garbage("a line is no object")
    return message


_LONGEST_TIMEOUT_SECONDS = 1e9
"""Seconds, some decades: of a number without bounds no time can be counted."""


class Order:
    """`runner_client.Order` as it comes over the socket. It is no dataclass: importing dataclasses
    would take longer than the rest of the runner's start."""

    def __init__(self, given: object) -> None:
        """:raises Garbage: it is no order."""
        if not isinstance(given, dict):
            raise Garbage("an order is no object")
        self.id = _text(given, "id")
        self.executable = _text(given, "executable")
        self.folder = _text(given, "folder")
        self.output = _text(given, "output")
        argv, environment = given.get("argv"), given.get("environment")
        if not isinstance(argv, list) or not argv or not _all_texts(argv):
            raise Garbage("an order's argv is no list of texts")
        if not isinstance(environment, dict) or not _all_texts(environment.values()):
            raise Garbage("an order's environment is no object of texts")
        limit, timeout = given.get("limit"), given.get("timeout")
        if type(limit) is not int or limit < 0:
            raise Garbage("an order's limit is no number of bytes")
        if not isinstance(timeout, int | float) or not 0 <= timeout <= _LONGEST_TIMEOUT_SECONDS:
            raise Garbage("an order's timeout is no number of seconds")
        self.argv: list[str] = argv
        self.environment: dict[str, str] = environment
        self.limit, self.timeout = limit, float(timeout)


def _text(given: dict[str, object], name: str) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not found or "\0" in found:
        raise Garbage(f"an order's {name} is no text")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise Garbage(f"an order's {name} can name no file") from None
    return found


def _all_texts(found: Iterable[object]) -> bool:
    return all(isinstance(text, str) for text in found)
