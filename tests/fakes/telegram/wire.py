"""HTTP by hand: requests out of bytes, with as little between socket and method as possible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl, unquote

from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import CHANCE, Document, Json
from tests.fakes.telegram.replies import Cut, Later, Outcome, Refusal, Reply, refused

Call = Callable[[str, str, Json, dict[str, Document]], Outcome | Later]
_TEXTS = frozenset(
    (
        "text",
        "caption",
        "name",
        "callback_query_id",
        "parse_mode",
        "url",
        "action",
        "document",
        "photo",
        "file_id",
    )
)
"""Parameters that are never JSON, whatever they look like."""


class Connection(asyncio.Protocol):
    """One client's connection. One request at a time, as HTTP/1.1 clients send them."""

    def __init__(
        self, call: Call, connections: set[Connection], *, now: Callable[[], float]
    ) -> None:
        self._call = call
        self._now = now
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._length = 0
        """Of the request that is coming in, as far as is known."""
        self._waiting: Later | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._connections.discard(self)
        if self._waiting is not None:
            self._waiting.abandon()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def _next(self) -> None:
        """Answer the request in the buffer, if it is whole and none is being answered."""
        if self._waiting is not None or len(self._buffer) < self._length:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end])
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            key.lower(): value.strip() for key, _, value in (it.partition(":") for it in lines)
        }
        self._length = end + 4 + int(headers.get("content-length", "0"))
        if len(self._buffer) < self._length:
            return
        body = bytes(self._buffer[end + 4 : self._length])
        del self._buffer[: self._length]
        self._length = 0
        outcome = self._answer(line, headers, body)
        if isinstance(outcome, Later) and outcome.outcome is None:
            self._waiting = outcome
            outcome.when_settled(
                lambda settled: _soon(self._loop, lambda: self._settled(outcome, settled))
            )
        else:
            self._write(outcome.outcome if isinstance(outcome, Later) else outcome)

    def _settled(self, later: Later, outcome: Outcome) -> None:
        if self._waiting is later:
            self._waiting = None
            self._write(outcome)
            self._next()

    def _answer(self, line: str, headers: dict[str, str], body: bytes) -> Outcome | Later:
        target = line.split(" ")[1]
        path, _, query = target.partition("?")
        if len(body) > limits.REQUEST_BYTES:
            return refused(Refusal(413, "Request Entity Too Large"))
        parts = unquote(path).split("/")
        if parts[1] == "file" and len(parts) > 3:
            token, where = parts[2].removeprefix("bot"), "/".join(parts[3:])
            return self._call(token, "file", {"path": where}, {})
        if len(parts) != 3 or not parts[1].startswith("bot"):
            return refused(Refusal(404, "Not Found"))
        kind = headers.get("content-type", "")
        params: Json = {key: _value(key, value) for key, value in parse_qsl(query)}
        files: dict[str, Document] = {}
        if kind.startswith("multipart/form-data"):
            fields, files = multipart(body, kind.partition("boundary=")[2].strip('"'))
            params |= fields
        elif kind.startswith("application/json"):
            params |= json.loads(body or b"{}")
        elif body:
            pairs = parse_qsl(body.decode(), keep_blank_values=True)
            params |= {key: _value(key, value) for key, value in pairs}
        return self._call(parts[1].removeprefix("bot"), parts[2], params, files)

    def _write(self, outcome: Outcome | None) -> None:
        if self._transport is None or outcome is None:
            return
        if isinstance(outcome, Cut):
            self._transport.abort()
        else:
            self._transport.write(_response(outcome, date=self._now()))
            if outcome.cut_after is not None:
                self._transport.close()


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _response(reply: Reply, *, date: float) -> bytes:
    head = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        f"Date: {formatdate(date, usegmt=True)}",
        f"Content-Type: {reply.kind}",
        f"Content-Length: {len(reply.body)}",
        *(f"{key}: {value}" for key, value in reply.headers),
        "\r\n",
    ]
    return "\r\n".join(head).encode() + reply.body[: reply.cut_after]


def _value(key: str, text: str) -> Any:
    """A parameter as it was meant: nested values, numbers and booleans come as JSON."""
    if key in _TEXTS:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def multipart(body: bytes, boundary: str) -> tuple[Json, dict[str, Document]]:
    """The fields and the files of a form."""
    fields: Json = {}
    files: dict[str, Document] = {}
    for part in body.split(b"--" + boundary.encode())[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        content = content.removesuffix(b"\r\n")
        headers = head.decode().split("\r\n")
        said = next(it for it in headers if it.lower().startswith("content-disposition"))
        options = {
            key.strip(): value.strip('"')
            for key, _, value in (it.partition("=") for it in said.split(";")[1:])
        }
        name = options["name"]
        if "filename" not in options:
            fields[name] = _value(name, content.decode())
            continue
        kinds = [it.partition(":")[2].strip() for it in headers if "content-type" in it.lower()]
        files[name] = Document(
            name=options["filename"],
            content=content,
            kind=kinds[0] if kinds else "application/octet-stream",
            id=f"BQAC{CHANCE.getrandbits(96):024x}",
        )
    return fields, files
