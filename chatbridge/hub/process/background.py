"""Background tasks, which end with the hub.

Logs what fails, and tells the owner. Restarts tasks that should run as long as the hub does; the
rest of the hub and waiting agents go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import MAX_PAUSE_SECONDS, Backoff, end_tasks

log = logging.getLogger(__name__)

LISTED = 20
TRACED = 3  # How often the same failure is logged with its traceback


@dataclass(slots=True, kw_only=True)
class Failures:
    again: bool  # It was started again
    count: int = 0
    at: float = 0.0
    kind: str = ""


class Faults:
    """Which parts of the hub have failed since it started."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, Failures] = {}

    def add(self, what: str, error: BaseException | None, *, again: bool) -> None:
        """Without an error it has ended though it should not."""
        known = self._known.setdefault(what, Failures(again=again))
        kind = "ended" if error is None else type(error).__name__
        news = known.kind != kind or known.count < TRACED
        known.count, known.at, known.kind = known.count + 1, self._clock.time(), kind
        level = logging.ERROR if news else logging.DEBUG
        log.log(level, "%s: failed unexpectedly (%s)", what, kind, exc_info=error)

    def listed(self) -> list[str]:
        said = []
        for what, each in list(self._known.items())[:LISTED]:
            again = " and was started again" if each.again else ""
            times = "once" if each.count == 1 else f"{each.count} times"
            said.append(
                f"A part of the hub failed{again}: {what} ({each.kind}, {times}, last "
                f"{clock_time(each.at)}). The hub's log says more; please report it"
            )
        return said


class Background:
    """A failure ends nothing else."""

    def __init__(self, *, clock: Clock, faults: Faults) -> None:
        self._clock = clock
        self._faults = faults
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self._started(work)

    def _started(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def keep(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[Any]:
        """Something that goes on as long as the hub does, unless the task is cancelled. `work` can
        be begun again at any time."""
        return self._started(self._kept_up(what, work))

    async def _kept_up(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        backoff = Backoff()
        while True:
            began = self._clock.monotonic()
            error: Exception | None = None
            try:
                await work()
            except Exception as failed:  # noqa: BLE001 - logged by `add`
                error = failed
            self._faults.add(what, error, again=True)
            if self._clock.monotonic() - began > MAX_PAUSE_SECONDS:
                backoff = Backoff()
            await self._clock.sleep(backoff.grow())

    def halt(self) -> None:
        """Cancel everything, without waiting for its end."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        await end_tasks(self._tasks)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            what = getattr(task.get_coro(), "__qualname__", "something")
            if isinstance(error, ChatbridgeError):  # a full disk, say: that is no bug
                log.warning("%s: %s", what, error)
            else:
                self._faults.add(what, error, again=False)
