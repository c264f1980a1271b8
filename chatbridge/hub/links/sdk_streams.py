"""The two streams that the SDK's server reads from and writes to, made of one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Protocol, Self

from mcp.shared.message import SessionMessage


class Messages(Protocol):
    """What a session has to have for it."""

    async def next_message(self) -> SessionMessage | None: ...

    def next_reply(self) -> Awaitable[SessionMessage]: ...

    async def send_message(self, item: SessionMessage) -> None: ...

    def mute(self) -> None: ...


class _Stream:
    """What the SDK expects of a stream beside its items. The connection is closed by its owner."""

    def __init__(self, session: Messages) -> None:
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


class Reading(_Stream):
    def __init__(self, session: Messages) -> None:
        super().__init__(session)
        self._line: asyncio.Future[SessionMessage | None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            message = await self._next()
        except Exception:
            self._session.mute()
            raise
        if message is None:
            raise StopAsyncIteration
        return message

    async def _next(self) -> SessionMessage | None:
        """The next line's message, or a reply, whichever comes first."""
        line = self._line or asyncio.ensure_future(self._session.next_message())
        reply = asyncio.ensure_future(self._session.next_reply())
        self._line = line
        ends: set[asyncio.Future[Any]] = {line, reply}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reply.cancel()
        if reply.done() and not reply.cancelled():
            return reply.result()
        self._line = None
        return line.result()

    def stop(self) -> None:
        if self._line is not None:
            self._line.cancel()

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()


class Writing(_Stream):
    async def send(self, item: SessionMessage, /) -> None:
        await self._session.send_message(item)
