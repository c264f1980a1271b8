"""Fire-and-forget tasks that are cancelled with their channel, and `race`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from chatbridge.core.errors import ChatbridgeError

log = logging.getLogger(__name__)

T = TypeVar("T")


class BackgroundTasks:
    """Tasks whose failures are only logged."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _guarded(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except ChatbridgeError as error:
            log.info("%s: %s", self._service, error)
        except Exception:
            log.exception("%s: something beside failed", self._service)


async def race(work: Coroutine[Any, Any, T], ends: Awaitable[object]) -> T | None:
    """Return the result of `work`, or None if `ends` returned first."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(ends)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        ending.cancel()
        await asyncio.gather(working, ending, return_exceptions=True)
