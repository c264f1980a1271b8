"""Delivery: brings what each channel shows into line with the asks.

A reconciler, not a sequence: it compares the revision a channel shows with the ask's and posts or
edits until they agree. Nothing else sends messages. Pacing, pauses that a service asks for and
back-off live here, once, for all channels.
"""

from __future__ import annotations

import asyncio
import logging

from chatbridge.core.errors import ChatbridgeError, PostGone, RetryLater
from chatbridge.core.model import Ask, Post
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Channel, Clock, Store, Transaction

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

    async def serve(self, channel: Channel, *, ready: asyncio.Event) -> None:
        """Keep one channel up to date until cancelled, once it is ready. Changes count from now
        on; what was missed before is shown first."""
        lane = Lane(channel, self._store, self._clock)
        self._lanes.append(lane)
        try:
            await ready.wait()
            await lane.run()
        finally:
            self._lanes.remove(lane)


class Lane:
    """One channel's work: the newest state of each ask that it may not show yet."""

    def __init__(self, channel: Channel, store: Store, clock: Clock) -> None:
        self._channel = channel
        self._store = store
        self._clock = clock
        self._pending: dict[str, Ask] = {}
        self._work = asyncio.Event()
        self._failures = 0

    def add(self, ask: Ask) -> None:
        """Several changes of one ask while the channel is busy become one."""
        known = self._pending.get(ask.id)
        if known is None or known.revision <= ask.revision:
            self._pending[ask.id] = ask
            self._work.set()

    async def run(self) -> None:
        await self._catch_up()
        while True:
            await self._work.wait()
            self._work.clear()
            while self._pending:
                ask = self._pending.pop(next(iter(self._pending)))
                pause = await self._try(ask)
                if pause:
                    await self._clock.sleep(pause)

    async def _catch_up(self) -> None:
        """What a page shows it reads itself when it opens; a chat has to be told."""
        if self._channel.keeps_posts:
            since = self._clock.time() - REPAIR_FOR
            for ask in await self._store.behind(channel=self._channel.name, since=since):
                self.add(ask)

    async def _try(self, ask: Ask) -> float:
        """Show the ask; how long to pause before the next one."""
        try:
            sent = await self._show(ask)
        except RetryLater as error:
            log.warning("%s: ask %s waits %.0f s: %s", self._name, ask.id, error.after, error)
            self.add(ask)
            return error.after
        except ChatbridgeError as error:
            log.warning("%s: ask %s not shown: %s", self._name, ask.id, error)
        except Exception:
            # A channel's fault must end neither the other asks nor the other channels.
            log.exception("%s: ask %s not shown", self._name, ask.id)
        else:
            self._failures = 0
            return self._channel.pace if sent else 0.0
        self.add(ask)
        self._failures += 1
        return min(FIRST_PAUSE * 2.0 ** (self._failures - 1), LONGEST_PAUSE)

    async def _show(self, ask: Ask) -> bool:
        if not self._channel.keeps_posts:
            await self._channel.show(ask, place=None)
            return True
        post = await self._store.post(ask_id=ask.id, channel=self._name)
        if post is None and not ask.open:
            return False  # it ended before anybody saw it
        if post is not None and post.revision >= ask.revision:
            return False
        try:
            place = await self._channel.show(ask, place=post.place if post else None)
        except PostGone:
            if not ask.open:
                return True
            place = await self._channel.show(ask, place=None)
        shown = Post(ask_id=ask.id, channel=self._name, place=place, revision=ask.revision)
        await self._note(shown)
        return True

    async def _note(self, post: Post) -> None:
        async def work(tx: Transaction) -> None:
            await tx.save_post(post)

        await self._store.write(work)

    @property
    def _name(self) -> str:
        return self._channel.name
