"""Delivery: brings what each surface shows into line with the asks.

A reconciler, not a sequence: it compares the revision a surface shows with the ask's and posts or
edits until they agree. Nothing else sends messages. Pacing, pauses that a service asks for and
back-off live here, once, for all channels.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from chatbridge.core.errors import ChatbridgeError, PostGone, RetryLater
from chatbridge.core.model import Ask, Post
from chatbridge.core.pacing import Meter
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock, Store, Surface, Transaction

log = logging.getLogger(__name__)

REPAIR_FOR = 2 * DAY
"""How long after its end an ask's card is still brought up to date after a start."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class Delivery:
    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lanes: list[Lane] = []

    def changed(self, ask: Ask) -> None:
        """An ask has a new revision. Returns at once."""
        for lane in self._lanes:
            lane.add(ask)

    async def serve(self, surface: Surface, *, ready: asyncio.Event) -> None:
        """Keep one surface up to date until cancelled, once it is ready. Changes count from now
        on; what was missed before is shown first."""
        lane = Lane(surface, self._store, self._clock)
        self._lanes.append(lane)
        try:
            await ready.wait()
            await lane.run()
        finally:
            self._lanes.remove(lane)


class Lane:
    """One surface's work: the newest state of each ask that it may not show yet."""

    def __init__(self, surface: Surface, store: Store, clock: Clock) -> None:
        self._surface = surface
        self._store = store
        self._clock = clock
        self._meter = Meter(surface.pace)
        self._pending: OrderedDict[str, Ask] = OrderedDict()
        self._posted: set[str] = set()
        """Open asks whose card is out: somebody may be waiting for what a tap on it does."""
        self._work = asyncio.Event()
        self._failures = 0

    def add(self, ask: Ask) -> None:
        """Several changes of one ask while the surface is busy become one."""
        known = self._pending.get(ask.id)
        if known is None or known.revision <= ask.revision:
            self._pending[ask.id] = ask
            if ask.id in self._posted:
                self._pending.move_to_end(ask.id, last=False)
            self._work.set()

    async def run(self) -> None:
        await self._catch_up()
        while True:
            await self._work.wait()
            self._work.clear()
            while self._pending:
                if pause := self._meter.pause(self._clock.monotonic()):
                    await self._clock.sleep(pause)
                _, ask = self._pending.popitem(last=False)
                if pause := await self._try(ask):
                    await self._clock.sleep(pause)

    async def _catch_up(self) -> None:
        """What a page shows it reads itself when it opens; a chat has to be told."""
        if self._surface.keeps_posts:
            since = self._clock.time() - REPAIR_FOR
            for ask in await self._store.behind(surface=self._surface.name, since=since):
                self.add(ask)

    async def _try(self, ask: Ask) -> float:
        """Show the ask; how long to pause after it failed."""
        try:
            await self._show(ask)
        except RetryLater as error:
            return self._later(ask, error, after=error.after)
        except ChatbridgeError as error:
            return self._later(ask, error)
        except Exception as error:
            # A surface's fault must end neither the other asks nor the other channels.
            log.exception("%s: showing ask %s failed", self._surface.name, ask.id)
            return self._later(ask, error)
        if self._failures:
            log.info("%s: shows questions again", self._surface.name)
        self._failures = 0
        return 0.0

    def _later(self, ask: Ask, error: Exception, *, after: float | None = None) -> float:
        """A night without network is one line in the log, not one a minute."""
        self._failures += 1
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        log.log(level, "%s: ask %s not shown yet: %s", self._surface.name, ask.id, error)
        newer = self._pending.setdefault(ask.id, ask)
        self._pending.move_to_end(newer.id)
        self._work.set()
        if after is not None:
            return after
        return float(min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE))

    async def _show(self, ask: Ask) -> None:
        name = self._surface.name
        if not self._surface.keeps_posts:
            await self._surface.show(ask, place=None)
            return
        post = await self._store.post(ask_id=ask.id, surface=name)
        if post is None and not ask.open:
            return  # it ended before anybody saw it
        if post is not None and post.revision >= ask.revision:
            return
        place = post.place if post else None
        self._meter.spend(self._clock.monotonic(), edit=place is not None)
        try:
            shown = await self._surface.show(ask, place=place)
        except PostGone:
            if not ask.open:
                self._posted.discard(ask.id)
                return
            place = None
            self._meter.spend(self._clock.monotonic(), edit=False)
            shown = await self._surface.show(ask, place=None)
        if ask.open:
            self._posted.add(ask.id)
        else:
            self._posted.discard(ask.id)
        for _ in range(shown.messages - (place is None)):
            self._meter.spend(self._clock.monotonic(), edit=False)
        note = Post(ask_id=ask.id, surface=name, place=shown.place, revision=ask.revision)
        await self._note(note, shown.handles)

    async def _note(self, post: Post, handles: tuple[str, ...]) -> None:
        async def work(tx: Transaction) -> None:
            await tx.save_post(post, handles=handles)

        await self._store.write(work)
