"""Tasks beside others: how they are ended, raced, and tried again after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from chatbridge.core.errors import ChatbridgeError, StoreError
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
STORE_RETRY_SECONDS = 1.0  # Pause before the store is asked again that has failed


@dataclass(slots=True)
class Backoff:
    """Consecutive failures: exponential pauses, and repeated errors logged once."""

    failures: int = 0
    until: float = 0.0
    last_error: str = ""

    def grow(self) -> float:
        self.failures += 1
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self.failures - 1, 10), MAX_PAUSE_SECONDS)

    def is_new(self, error: Exception) -> bool:
        known, self.last_error = self.last_error, str(error)
        return self.last_error != known or self.failures == 1


class BackgroundTasks:
    """Tasks whose failures are only logged."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # which may not have begun

    async def end(self) -> None:
        await end_tasks(self._tasks)

    async def _guarded(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except ChatbridgeError as error:
            log.info("%s: %s", self._service, error)
        except Exception:
            log.exception("%s: something beside failed", self._service)


async def until_stored(put: Callable[[], Awaitable[T]], *, clock: Clock, what: str) -> T:
    """Return the result of `put`, which is tried until the store takes it."""
    while True:
        try:
            return await put()
        except StoreError as error:
            log.warning("%s is not stored yet, trying again: %s", what, error)
            await clock.sleep(STORE_RETRY_SECONDS)


async def race(work: Awaitable[T], ends: Awaitable[object]) -> T | None:
    """Return the result of `work`, or None if `ends` returned first. The other one is cancelled."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(ends)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        await end_tasks((working, ending))


async def end_tasks(tasks: Iterable[asyncio.Future[Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
