"""The HTTP server that pretended services are behind."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serving_at(at: socket.socket, app: web.Application) -> AsyncIterator[None]:
    """It can be reached at this socket meanwhile."""
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.SockSite(runner, at).start()
    try:
        yield
    finally:
        # Nobody closes a connection that is accepted while the server closes.
        asyncio.get_running_loop().remove_reader(at)
        for _ in range(2):
            await asyncio.sleep(0)
        await runner.cleanup()
