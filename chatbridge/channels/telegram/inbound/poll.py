"""The receiving loop: reads updates, has them dealt with, and only then reads on.

Owns the cursor (Telegram's offset). An update that was dealt with is confirmed to Telegram by the
next request; one that was not comes again, after a crash as after a full disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import eq

from telegram import Update

from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.telegram.client.api import Api
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState
from chatbridge.core.policy import DAY, HOUR
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import number

WAIT = 50
"""For how many seconds Telegram holds an empty answer back."""
LEAST = 0.5
"""A server that holds nothing back is not asked again sooner."""
FORGOTTEN_AFTER = DAY
"""How long Telegram keeps updates."""
CURSOR_LASTS = 6 * DAY
"""After a week without updates Telegram numbers them anew."""
NOTE_EVERY = HOUR
TRIES = 3
"""How often an update is tried that fails for want of a connection."""


class Poll(PollLoop):
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        clock: Clock,
        take: Callable[[Update, ChannelState], Awaitable[None]],
        gap: Callable[[], Awaitable[None]],
    ) -> None:
        """`take` deals with one update; `gap` is called if Telegram may have forgotten some."""
        super().__init__("telegram", inbox=inbox, clock=clock, kind="update", tries=TRIES)
        self._api = api
        self._take = take
        self._gap = gap
        self._offset: int | None = None
        self._noted_at = 0.0
        self._forgot = False

    @property
    def cursor_key(self) -> str:
        return f"offset:{self._api.bot_id}"

    async def begin(self) -> None:
        """Find out where to read on. Before any card is out: on the first start with a bot, what
        was written to it until now is passed over."""
        known = await self.stored_cursor()
        if known is None:
            waiting = await self._api.updates(offset=-1, wait=0)
            self._offset = waiting[-1].update_id + 1 if waiting else 0
            await self._store()
            return
        self._noted_at = known.at
        if self._clock.time() - known.at < CURSOR_LASTS:
            self._offset = number(known.value)

    async def read_on(self) -> None:
        waiting, began = self.waiting(), self._clock.monotonic()
        wait = 0 if self.hurried else WAIT
        reading = self._api.updates(offset=self._offset, wait=wait)
        updates = await (self.unless_hurried(reading) if wait else reading)
        if updates is None:
            return
        await self._deal_with(updates)
        if not updates:  # fewer than asked for is no sign: Telegram slows repeated requests down
            self.read_all(waiting)
        self.works()
        if wait and not updates:
            await self.rest(until=began + LEAST)

    async def _deal_with(self, updates: Sequence[Update]) -> None:
        for update in updates:
            cursor = self.cursor(str(update.update_id + 1))
            await self.process(
                update.update_id,
                partial(self._take, update, cursor),
                committed=partial(eq, cursor.value),
            )
            self._offset = update.update_id + 1
        now = self._clock.time()
        self._forgot |= now - self._noted_at > FORGOTTEN_AFTER
        if self._forgot and not updates:
            # Only now is it known which questions the last day's taps have left open.
            await self._gap()
            self._forgot = False
        if updates or now - self._noted_at > NOTE_EVERY:
            await self._store()

    async def _store(self) -> None:
        cursor = self.cursor(str(self._offset or 0))
        await self._inbox.remember(cursor)
        self._noted_at = cursor.at
