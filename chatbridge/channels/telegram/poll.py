"""The receiving loop: reads updates, has them dealt with, and only then reads on.

Owns the cursor (Telegram's offset). An update that was dealt with is confirmed to Telegram by the
next request; one that was not comes again, after a crash as after a full disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from telegram import Update

from chatbridge.channels.telegram.api import Api
from chatbridge.channels.telegram.errors import Polled
from chatbridge.core.errors import ChatbridgeError, RetryLater, StoreError, TokenRejected
from chatbridge.core.model import Note
from chatbridge.core.policy import DAY, HOUR
from chatbridge.core.ports import Clock, Inbox

log = logging.getLogger(__name__)

T = TypeVar("T")

WAIT = 50
"""For how many seconds Telegram holds an empty answer back."""
FORGOTTEN_AFTER = DAY
"""How long Telegram keeps updates."""
CURSOR_LASTS = 6 * DAY
"""After a week without updates Telegram numbers them anew."""
NOTE_EVERY = HOUR
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
CONFLICT_PAUSE = 5.0
TRIES = 3
"""How often an update is tried that fails for want of a connection."""


class Poll:
    def __init__(
        self,
        api: Api,
        inbox: Inbox,
        *,
        clock: Clock,
        take: Callable[[Update, Note], Awaitable[None]],
        gap: Callable[[], Awaitable[None]],
    ) -> None:
        """`take` deals with one update; `gap` is called if Telegram may have forgotten some."""
        self.trouble: str | None = None
        self._api = api
        self._inbox = inbox
        self._clock = clock
        self._take = take
        self._gap = gap
        self._offset: int | None = None
        self._noted_at = 0.0
        self._forgot = False
        self._failures = 0
        self._tried: tuple[int, int] = (0, 0)
        self._doubtful: int | None = None
        self._hurry = asyncio.Event()
        self._hurry.set()
        self._kick = asyncio.Event()
        self._draining: list[asyncio.Future[None]] = []
        self._caught_up = False
        self._over = False

    async def begin(self) -> None:
        """Find out where to read on. Before any card is out: on the first start with a bot, what
        was written to it until now is passed over."""
        known = await self._inbox.note("telegram", self._key)
        if known is None:
            waiting = await self._api.updates(offset=-1, wait=0)
            self._offset = waiting[-1].update_id + 1 if waiting else 0
            await self._note()
            return
        self._noted_at = known.at
        if self._clock.time() - known.at < CURSOR_LASTS:
            self._offset = int(known.value)

    async def run(self) -> None:
        """Until cancelled, after `begin`. :raises TokenRejected:"""
        try:
            while True:
                await self._round()
        finally:
            self._over = True
            self._drained(self._draining)

    async def drain(self) -> None:
        """Return once everything that Telegram had until now has been dealt with, or once nothing
        is read any more."""
        if self._over:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._draining.append(done)
        self._hurry.set()
        self._failures = 0
        self._kick.set()
        await done

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    async def _round(self) -> None:
        try:
            await self._read_on()
        except TokenRejected:
            raise
        except StoreError as error:
            await self._pause(f"telegram: nothing is read: {error}")
        except Polled as error:
            await self._pause(f"telegram: {error}", at_least=CONFLICT_PAUSE)
        except RetryLater as error:
            # A long request would hide for a minute that it works again.
            self._hurry.set()
            await self._pause(str(error), at_least=error.after or 0.0)
        except ChatbridgeError as error:
            await self._pause(f"telegram: {error}")

    async def _read_on(self) -> None:
        """One request. Somebody in a hurry gets what is there now, by a request of its own: the
        connection of a machine that slept may be dead without anybody having noticed."""
        waiting = list(self._draining)
        wait = 0 if self._hurry.is_set() else WAIT
        reading = self._api.updates(offset=self._offset, wait=wait)
        updates = await (first_of(reading, self._hurry.wait()) if wait else reading)
        if updates is None:
            return
        await self._deal_with(updates)
        if not updates:  # fewer than asked for is no sign: Telegram slows repeated requests down
            # A hub that starts waits for its first reading, and may say so a moment too late.
            self._drained(waiting if self._caught_up else self._draining)
            self._caught_up = True
        self._works()

    async def _deal_with(self, updates: Sequence[Update]) -> None:
        for update in updates:
            await self._take_once(update)
            self._offset = update.update_id + 1
        now = self._clock.time()
        self._forgot |= now - self._noted_at > FORGOTTEN_AFTER
        if self._forgot and not updates:
            # Only now is it known which questions the last day's taps have left open.
            await self._gap()
            self._forgot = False
        if updates or now - self._noted_at > NOTE_EVERY:
            await self._note()

    async def _take_once(self, update: Update) -> None:
        number, cursor = update.update_id, self._cursor(update.update_id + 1)
        if self._doubtful == number and await self._committed(cursor):
            return
        try:
            await self._take(update, cursor)
        except TokenRejected:
            raise
        except StoreError:
            self._doubtful = number
            raise
        except RetryLater as error:
            if self._tries(number) < TRIES:
                raise
            log.warning("telegram: update %d was passed over: %s", number, error)
        except ChatbridgeError as error:
            log.warning("telegram: update %d was passed over: %s", number, error)
        except Exception:
            # It would fail again and again, and nothing after it would ever be read.
            log.exception("telegram: update %d was passed over", number)

    async def _committed(self, cursor: Note) -> bool:
        """Whether what failed was only something after the effect."""
        known = await self._inbox.note("telegram", self._key)
        return known is not None and known.value == cursor.value

    def _drained(self, waiting: Sequence[asyncio.Future[None]]) -> None:
        for done in waiting:
            if not done.done():  # cancelled: nobody waits any more
                done.set_result(None)
        self._draining = [done for done in self._draining if not done.done()]
        if not self._draining:
            self._hurry.clear()

    def _tries(self, update: int) -> int:
        number, count = self._tried
        self._tried = (update, count + 1 if number == update else 1)
        return self._tried[1]

    async def _note(self) -> None:
        cursor = self._cursor(self._offset or 0)
        await self._inbox.remember(cursor)
        self._noted_at = cursor.at

    def _cursor(self, offset: int) -> Note:
        return Note(channel="telegram", key=self._key, value=str(offset), at=self._clock.time())

    @property
    def _key(self) -> str:
        return f"offset:{self._api.bot_id}"

    # ── trouble ───────────────────────────────────────────────────────────────────────────────────

    async def _pause(self, trouble: str, *, at_least: float = 0.0) -> None:
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        self._failures += 1
        self._kick.clear()
        await first_of(self._clock.sleep(max(pause, at_least)), self._kick.wait())

    def _works(self) -> None:
        if self.trouble is not None:
            log.info("telegram works again")
        self.trouble = None
        self._failures = 0


async def first_of(work: Coroutine[Any, Any, T], ends: Coroutine[Any, Any, object]) -> T | None:
    """What `work` returns, or None if `ends` returned before it."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(ends)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        ending.cancel()
        await asyncio.gather(working, ending, return_exceptions=True)
