"""Files that a pretended service keeps, who fetches them, and what goes wrong meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True, kw_only=True)
class FetchFault:
    """What becomes of the next fetch."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """The connection is cut after half of it."""
    longer: int = 0
    """So many bytes more come than were promised."""
    hold: asyncio.Event | None = None
    """The second half comes once this is set."""


@dataclass(slots=True)
class KeptFiles:
    contents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Type and content, by the id."""
    fetches: Counter[str] = field(default_factory=Counter)
    """How often each was asked for."""
    tokens: list[str | None] = field(default_factory=list)
    """What the requests were authorized with."""
    faults: deque[FetchFault] = field(default_factory=deque)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """The first half of one is out."""

    def keep(self, id: str, content: bytes, type: str) -> None:
        self.contents[id] = (type, content)

    async def serve(self, request: web.Request, id: str) -> web.StreamResponse:
        if id not in self.contents:
            raise web.HTTPNotFound
        kind, content = self.contents[id]
        fault = self.faults.popleft() if self.faults else FetchFault()
        if fault.status != 200:
            return web.Response(status=fault.status, headers=fault.headers)
        response = web.StreamResponse(
            headers={"Content-Type": kind, "Content-Disposition": "attachment"}
        )
        response.content_length = len(content) + fault.longer
        await response.prepare(request)
        half = len(content) // 2
        await response.write(content[:half])
        self.begun.set()
        if fault.cut:
            assert request.transport is not None
            request.transport.abort()
            return response
        if fault.hold is not None:
            await fault.hold.wait()
        await response.write(content[half:] + b"!" * fault.longer)
        return response

    def asked(self, request: web.Request, id: str) -> None:
        self.fetches[id] += 1
        self.tokens.append(request.headers.get("Authorization"))
