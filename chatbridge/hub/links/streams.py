"""What the SDK reads from and writes to, for one session: its lines as the SDK's messages.

Apart from `session`, since a first start does not wait for the SDK.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from chatbridge.hub.links.session import First, Session


class Streams:
    """The connection is closed by its owner."""

    def __init__(self, session: Session, first: First) -> None:
        self._session, self._first = session, first
        self._answered: str | None = None
        """The request that the SDK has now and the client has the response to: the SDK's goes
        nowhere."""
        self._caught_up = asyncio.Event()
        self._line: asyncio.Future[types.JSONRPCMessage | None] | None = None

    async def serve(self, server: Server[Any]) -> None:
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        try:
            await server.run(self, self, options)
        finally:
            if self._line is not None:
                self._line.cancel()

    async def send(self, item: SessionMessage, /) -> None:
        message, about = item.message, item.metadata
        if (
            isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
            and json.dumps(message.id) == self._answered
        ):
            self._answered = None
            self._caught_up.set()
            return
        call = about.related_request_id if isinstance(about, ServerMessageMetadata) else None
        await self._session.send_message(message, call)

    async def __anext__(self) -> SessionMessage | Exception:
        context = ServerMessageMetadata(request_context=self._session)
        return SessionMessage(await self._next(), metadata=context)

    async def _next(self) -> types.JSONRPCMessage:
        first = self._first
        while self._answered is not None:  # what comes now may use its id again
            self._caught_up.clear()
            await self._caught_up.wait()
        if first.answered:
            message = first.answered.pop(0)
            if isinstance(message, types.JSONRPCRequest):
                self._answered = json.dumps(message.id)
            return message
        if (unanswered := first.unanswered) is not None:
            first.unanswered = None
            return unanswered
        return await self._from_client()

    async def _from_client(self) -> types.JSONRPCMessage:
        """The next line's message, or a reply that came on no line, whichever comes first."""
        self._line = self._line or asyncio.ensure_future(self._session.next_message())
        reply = asyncio.ensure_future(self._session.forms.replies.get())
        ends: set[asyncio.Future[Any]] = {self._line, reply}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reply.cancel()
        if reply.done() and not reply.cancelled():
            return reply.result()
        line, self._line = self._line, None
        try:
            message = line.result()
        except Exception:
            self._session.mute()
            raise
        if message is None:
            raise StopAsyncIteration
        return message

    def __aiter__(self) -> Self:
        return self

    receive = __anext__

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...
