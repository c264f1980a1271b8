"""One MCP session: lines of a link's socket, or of standard input and output, to and from the SDK.

Owns framing, the preface and the private lines of docs/link-protocol.md. What a request means is
the server's business.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from chatbridge.core.model import CallName, Project

log = logging.getLogger(__name__)

MAX_LINE = 4 * 1024 * 1024

Send = Callable[[bytes], Awaitable[None]]


class Session:
    """A link's connection; also the `Caller` that its tool calls belong to."""

    def __init__(
        self,
        *,
        link: str,
        project: Project,
        reader: asyncio.StreamReader,
        send: Send,
        delivered: Callable[[CallName], Awaitable[None]],
        confirms: bool,
    ) -> None:
        """`confirms`: the other side says when a response has reached the client. Where there is
        no link between us and the client, writing it is all there is."""
        self.link = link
        self.project = project
        self.present = True
        self._reader = reader
        self._send = send
        self._delivered = delivered
        self._confirms = confirms

    async def serve(self, server: Server[Any]) -> None:
        """Until the other side closes."""
        read, write = _Reading(self), _Writing(self)
        await server.run(read, write, server.create_initialization_options())

    def mute(self) -> None:
        """From now on nothing is sent and nobody counts as cancelled: the SDK would answer every
        open call with an error, but the call goes on with the next hub."""
        self.present = False

    # ── in ────────────────────────────────────────────────────────────────────────────────────────

    async def next_message(self) -> SessionMessage | None:
        """The next message of the client; None at the end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                await self._refuse(types.INVALID_REQUEST, f"a line is over {MAX_LINE:,} bytes")
                line = b""
            except ConnectionError:
                line = b""
            if not line.endswith(b"\n"):
                self.present = False  # an unfinished line is a cut connection: nothing was asked
                return None
            if line.isspace():
                continue
            message = await self._parsed(line)
            if message is not None:
                return message

    async def _parsed(self, line: bytes) -> SessionMessage | None:
        if b'"chatbridge"' in line and await self._took_private(line):
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            await self._refuse(types.PARSE_ERROR, "this line is no JSON-RPC message")
            return None
        return SessionMessage(message, metadata=ServerMessageMetadata(request_context=self))

    async def _took_private(self, line: bytes) -> bool:
        try:
            private = json.loads(line)
        except ValueError:
            return False
        if not isinstance(private, dict) or "chatbridge" not in private:
            return False
        if private["chatbridge"] == "delivered" and "request" in private:
            request = private["request"]
            await self._delivered(CallName(link=self.link, request=json.dumps(request)))
            await self._say({"chatbridge": "acknowledged", "request": request})
        else:
            log.debug("link %s: unknown private line %r", self.link, private["chatbridge"])
        return True

    async def _refuse(self, code: int, problem: str) -> None:
        log.warning("link %s: %s", self.link, problem)
        error = {"code": code, "message": problem}
        await self._say({"jsonrpc": "2.0", "id": None, "error": error})

    # ── out ───────────────────────────────────────────────────────────────────────────────────────

    async def send_message(self, item: SessionMessage) -> None:
        message = item.message
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        if isinstance(message, types.JSONRPCRequest):
            line = _with_call(line, item)
        await self._write(line)
        if isinstance(message, types.JSONRPCResponse) and self.present and not self._confirms:
            await self._delivered(CallName(link=self.link, request=json.dumps(message.id)))

    async def _say(self, line: dict[str, Any]) -> None:
        await self._write(json.dumps(line).encode())

    async def _write(self, line: bytes) -> None:
        if not self.present:
            return
        try:
            await self._send(line + b"\n")
        except ConnectionError:
            self.present = False


def _with_call(line: bytes, item: SessionMessage) -> bytes:
    """A request of ours with the call it is made for, so that the link can route a late reply."""
    metadata = item.metadata
    call = metadata.related_request_id if isinstance(metadata, ServerMessageMetadata) else None
    return json.dumps({**json.loads(line), "chatbridgeCall": call}).encode()


class _Stream:
    """What the SDK expects of a stream beside its items. The connection is closed by its owner."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        return None


class _Reading(_Stream):
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        message = await self._session.next_message()
        if message is None:
            raise StopAsyncIteration
        return message

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()


class _Writing(_Stream):
    async def send(self, item: SessionMessage, /) -> None:
        await self._session.send_message(item)
