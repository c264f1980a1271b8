"""A server whose SDK is there."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.lowlevel import Server

from chatbridge.tools.late_server import LateServer
from chatbridge.tools.offer import Offer
from chatbridge.tools.server import build_server


def at_once(offer: Offer, **parts: Any) -> LateServer:
    made: asyncio.Future[Server[Any]] = asyncio.get_running_loop().create_future()
    made.set_result(build_server(offer, **parts))
    return LateServer(offer, made)
