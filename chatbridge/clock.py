"""The system clock, an implementation of `core.ports.Clock`."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
