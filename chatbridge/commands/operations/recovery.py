"""Operations of which nobody here can say what became of them, until the runner says it.

They come from a hub that is gone, or from an order that may have been lost on the way. One that the
runner has is gone on with; one that it does not have is over, and never started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from chatbridge.commands.operations.runner_port import End, Runner
from chatbridge.core.errors import RunnerUnavailable
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

RETRY, SLOWEST = 1.0, 30.0
"""How long after the runner could not be asked it is asked again, at first and in the end."""


class Recovery:
    def __init__(
        self,
        runner: Runner,
        *,
        clock: Clock,
        found: Callable[[End], None],
        expected: Callable[[str], bool],
        begun: Callable[[str], Awaitable[bool]],
    ) -> None:
        """`found` is told of ends; `expected` says whether the end of an operation is still to
        come, `begun` whether there is anything of it on disk."""
        self._runner = runner
        self._clock = clock
        self._found = found
        self._expected = expected
        self._begun = begun
        self._doubtful: dict[str, str | None] = {}
        self._wanted = asyncio.Event()

    def doubt(self, operation_id: str, why: str | None = None) -> None:
        """The runner may have it, or not. Only once nothing more is done to hand it over. `why`:
        what went wrong then."""
        self._doubtful[operation_id] = why or self._doubtful.get(operation_id)
        self._wanted.set()

    async def run(self) -> None:
        """Find out, until cancelled."""
        pause = RETRY
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._find_out()
                pause = RETRY
            except RunnerUnavailable as error:
                log.warning("%d operations may run or not: %s", len(self._doubtful), error)
                self._wanted.set()
                await self._clock.sleep(pause)
                pause = min(2 * pause, SLOWEST)

    async def _find_out(self) -> None:
        """:raises RunnerUnavailable: what was not found out is still doubtful."""
        asked = dict(self._doubtful)
        known = await self._runner.known()
        for operation_id, why in asked.items():
            if operation_id not in known:
                await self._runner.stop(operation_id)  # in case the order comes after all
                self._found(await self._end_of(operation_id, why))
            self._doubtful.pop(operation_id, None)
        for operation_id, end in known.items():
            if end is not None:
                self._found(end)
            elif not self._expected(operation_id):
                log.warning("operation %s runs, and nobody waits for it: ended", operation_id)
                await self._runner.stop(operation_id)

    async def _end_of(self, operation_id: str, why: str | None) -> End:
        """Of one that the runner does not have. Its output is there before its process."""
        now = self._clock.time()
        if why is not None and not await self._begun(operation_id):
            return End(id=operation_id, how="not_started", ended_at=now, error=why)
        return End(id=operation_id, how="lost", ended_at=now, error=why)
