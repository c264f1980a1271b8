"""Folders that are really watched, under a clock that stands still: what was told, and when all of
it has been told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from chatbridge.commands.definitions.watch import QUIET_SECONDS, watch
from tests.fakes.clock import StillClock

PATIENCE = 20.0
TURNS = 10


class Watched:
    def __init__(self, dirs: Sequence[Path]) -> None:
        self.clock = StillClock()
        self.dirs = dirs
        self.times = 0
        """How often a change was told."""
        self.seen: dict[str, str] = {}
        """What there was to read when it was told the last time."""
        self._told = asyncio.Event()

    async def changed(self) -> None:
        self.times += 1
        self.seen = there(self.dirs)
        self._told.set()

    async def again(self) -> None:
        """Until it tells the next change."""
        self._told.clear()
        async with asyncio.timeout(PATIENCE):
            await self._told.wait()

    async def stirs(self) -> bool:
        """Whether it has noticed something that it has not told yet. An event is in the queue when
        the call that caused it returns, so that a few turns of the loop are enough."""
        asleep = asyncio.ensure_future(self.clock.until_asleep(QUIET_SECONDS))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        found = asleep.done()
        asleep.cancel()
        return found

    async def settled(self) -> int:
        """Let it tell all there is; how often it did."""
        before = self.times
        while await self.stirs():
            self._told.clear()
            self.clock.advance(QUIET_SECONDS)
            asleep = asyncio.ensure_future(self.clock.until_asleep(QUIET_SECONDS))
            told = asyncio.ensure_future(self._told.wait())
            done, waiting = await asyncio.wait(
                {asleep, told}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            assert done
            for each in waiting:
                each.cancel()
        return self.times - before


@asynccontextmanager
async def watched(*dirs: Path) -> AsyncIterator[Watched]:
    found = Watched(dirs)
    task = asyncio.ensure_future(watch(dirs, found.changed, clock=found.clock))
    try:
        await found.again()
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task})


def there(dirs: Sequence[Path]) -> dict[str, str]:
    """What can be read in these folders now."""
    found = {}
    for folder in dirs:
        try:
            files = sorted(folder.glob("[!.]*.json"))
        except OSError:
            continue
        for file in files:
            try:
                found[f"{folder}/{file.name}"] = file.read_text()
            except OSError:
                continue
    return found
