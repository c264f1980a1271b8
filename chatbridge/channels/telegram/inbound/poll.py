"""The receiving loop: reads updates, has them dealt with, and only then reads on.

Owns the cursor (Telegram's offset). An update that was dealt with is confirmed to Telegram by the
next request; one that was not comes again, after a crash as after a full disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby, takewhile
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
ALBUM_WITHIN = 0.6
"""How long the rest of an album is waited for. Who asks for the same again within half a second
gets one update only."""
FORGOTTEN_AFTER = DAY
"""How long Telegram keeps updates."""
CURSOR_LASTS = 6 * DAY
"""After a week without updates Telegram numbers them anew."""
NOTE_EVERY = HOUR


class Poll(PollLoop[Sequence[Update]]):
    channel, kind, tries = "telegram", "update", 3

    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        clock: Clock,
        take: Callable[[Sequence[Update], ChannelState], Awaitable[None]],
        gap: Callable[[], Awaitable[None]],
    ) -> None:
        """`take` deals with one update, or with those of an album; `gap` is called if Telegram may
        have forgotten some."""
        super().__init__(inbox, clock=clock, cursor_key=f"offset:{api.bot_id}")
        self._api = api
        self._take = take
        self._gap = gap
        self._offset: int | None = None
        self._not_before = 0.0
        self._noted_at = 0.0
        self._forgot = False

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

    async def read(self, *, wait: bool) -> Sequence[Update]:
        if wait and (pause := self._not_before - self._clock.monotonic()) > 0:
            await self._clock.sleep(pause)
        began = self._clock.monotonic()
        updates = await self._api.updates(offset=self._offset, wait=WAIT if wait else 0)
        self._not_before = began + LEAST if wait and not updates else began
        return updates

    async def deal_with(self, batch: Sequence[Update]) -> bool:
        for key, group in groupby(batch, key=_album):
            updates: Sequence[Update] = tuple(group)
            if updates[-1] is batch[-1] and isinstance(key, tuple):
                updates = await self._whole_album(updates)
            last = updates[-1].update_id
            cursor = self.cursor(str(last + 1))
            await self.process(
                last,
                partial(self._take, updates, cursor),
                committed=partial(eq, cursor.value),
            )
            self._offset = last + 1
        now = self._clock.time()
        self._forgot |= now - self._noted_at > FORGOTTEN_AFTER
        if self._forgot and not batch:
            # Only now is it known which questions the last day's taps have left open.
            await self._gap()
            self._forgot = False
        if batch or now - self._noted_at > NOTE_EVERY:
            await self._store()
        return bool(batch)  # fewer than asked for is no sign: Telegram slows repeated requests down

    async def _whole_album(self, begun: Sequence[Update]) -> Sequence[Update]:
        """With those of it that were still on their way. Nothing that was not dealt with is
        confirmed by this."""
        await self._clock.sleep(ALBUM_WITHIN)
        again = await self._api.updates(offset=begun[0].update_id, wait=0)
        found = tuple(takewhile(lambda update: _album(update) == _album(begun[0]), again))
        return max(begun, found, key=len)

    async def _store(self) -> None:
        cursor = self.cursor(str(self._offset or 0))
        await self._inbox.remember(cursor)
        self._noted_at = cursor.at


def _album(update: Update) -> object:
    """What it has in common with the other messages of its album, if it is in one."""
    message = update.message
    if message is None or message.media_group_id is None:
        return update.update_id
    return message.chat.id, message.from_user, message.media_group_id
