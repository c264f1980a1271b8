"""The two directions of one HTTP request: its body on the way in, its response on the way out.

Owns what is known only there: whether the client was still there when its answer was written, and
that a response which is cut short has an end.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from chatbridge import safe_json
from chatbridge.core.model import CallName
from chatbridge.core.tasks import race
from chatbridge.framing import MAX_LINE
from chatbridge.hub.http.guard import UNKNOWN, refused
from chatbridge.tools.call import Remote

FINISH_SECONDS = 1.0
"""How long the end of a response that was cut short may take: its client may not be reading."""
STOPPING = "chatbridge is being restarted. Try again in a moment."


@dataclass(slots=True, eq=False)
class Exchange:
    """One HTTP request until the last byte of its response, in both directions, as the SDK sees
    it."""

    scope: Scope
    _receive: Receive
    _send: Send
    message: dict[str, Any]
    remote: Remote = field(init=False)
    call: CallName | None = None
    """The tool call that it carries."""
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end it as if its client had gone."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    written: bool = False
    """The call's result was written while its client was there."""
    _gone: bool = False
    _started: bool = False
    _finished: bool = False

    @property
    def request(self) -> object:
        """The id of its JSON-RPC request."""
        return self.message.get("id") if "method" in self.message else None

    async def receive(self) -> Message:
        async def heard() -> Message:
            return await self._receive()

        message = await race(heard(), self.cut.wait()) or await nothing_more()
        if message["type"] == "http.disconnect":
            self._gone = True
        return message

    async def send(self, message: Message) -> None:
        self._started = True
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        there = not self._gone
        self._finished = self._finished or last
        await self._send(message)
        if there and self.call is not None and "body" in message:
            self.written = self.written or _answers(message["body"], self.request)

    async def finish(self) -> None:
        """A response that was cut short has an end all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                if self._started and not self._finished:
                    last = {"type": "http.response.body", "body": b"", "more_body": False}
                    await self._send(last)
                elif not self._started and self.cut.is_set():
                    over = refused(401, UNKNOWN) if self.remote.present else refused(503, STOPPING)
                    await over(self.scope, self._receive, self._send)


async def read_body(headers: Headers, receive: Receive) -> bytes | None:
    """The whole body; None if it is too long.

    :raises ClientDisconnect: an unfinished one is a cut connection: nothing was asked.
    """
    declared = headers.get("content-length", "0")
    if len(declared) > len(str(MAX_LINE)) or (declared.isdecimal() and int(declared) > MAX_LINE):
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MAX_LINE:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON-RPC message; empty if it is none that we can read."""
    with suppress(ValueError):
        if isinstance(found := safe_json.loads(body), dict):
            return found
    return {}


def message_problem(message: dict[str, Any]) -> str | None:
    """Why the SDK should not see this message. It would take a request with a wrong id for a
    notification, and reads one level deeper than we do."""
    if not message:
        return f"the body is not one JSON object of at most {safe_json.DEEPEST} levels"
    return safe_json.PROBLEM if safe_json.has_bad_id(message) else None


def repaired(body: bytes) -> bytes:
    """Half a surrogate pair, which the SDK's parser refuses, becomes a question mark."""
    if b"\\ud" not in body.lower():
        return body
    try:
        return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return body


def _answers(piece: bytes, request: object) -> bool:
    """Whether this piece of a body is the result of the request, as JSON or as an event."""
    if piece.startswith(b"event: message"):
        lines = piece.splitlines()
        piece = b"".join(line[6:] for line in lines if line.startswith(b"data: "))
    found = parsed(piece)
    return found.get("id") == request and "result" in found


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one piece, then whatever comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def nothing_more() -> Message:
    return {"type": "http.disconnect"}


async def unheard(_message: Message) -> None:
    """Nobody is there."""
