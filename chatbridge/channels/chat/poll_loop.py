"""The loop that reads from a service: when it reads and rests, who waits until everything was read,
and how often an event is tried. What is read, and where reading goes on, is the channel's own."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import eq
from typing import Generic, Protocol, TypeVar

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, RetryLater, StoreError, TokenRejected
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0

B = TypeVar("B")
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)
Events = Sequence[tuple[str, E]]
"""With the place of each."""


class Reader(Protocol[E_co]):
    async def __call__(self, after: str | None, *, wait: bool) -> Events[E_co]:
        """Those after this place, or all; with `wait`, once there is one."""


class PollLoop(ABC, Generic[B]):
    """One round after the other, until cancelled. A round that fails is followed by a pause."""

    channel: str
    kind = "event"
    """What one is called in the log."""
    tries = 1
    """How often one is tried that fails for want of a connection."""

    def __init__(self, inbox: AskActions, *, clock: Clock, cursor_key: str) -> None:
        """`cursor_key` is under which the place to read on is stored."""
        self.trouble: str | None = None
        self._inbox = inbox
        self._clock = clock
        self._cursor_key = cursor_key
        self._failures = 0
        self._hurry = asyncio.Event()
        """Somebody waits, so that only what is there now should be read."""
        self._hurry.set()
        self._kick = asyncio.Event()
        self._draining: list[asyncio.Event] = []
        self.caught_up = False  # What the service had at the start was read
        self._over = False
        self._tried: tuple[object, int] = (None, 0)
        self._doubtful: object = None

    @abstractmethod
    async def read(self, *, wait: bool) -> B:
        """Read once. With `wait` the service may hold an empty answer back."""

    @abstractmethod
    async def deal_with(self, batch: B) -> bool:
        """Whether there was anything in it."""

    async def run(self) -> None:
        """Until cancelled. :raises TokenRejected:"""
        try:
            while True:
                await self._round()
        finally:
            self._over = True
            self._drained(self._draining)

    async def begin(self) -> None:
        """Find out where to read on, before any card is out. :raises TokenRejected:"""

    async def end(self) -> None:
        """Let go of connections."""

    async def drain(self) -> None:
        """Return once everything that the service had until now has been dealt with, or once
        nothing is read any more."""
        if self._over:
            return
        done = asyncio.Event()
        self._draining.append(done)
        self._hurry.set()
        self._failures = 0
        self._kick.set()
        await done.wait()

    async def read_on(self) -> None:
        """One round."""
        waiting = list(self._draining)  # what is read from now on counts for them
        if self._hurry.is_set():
            batch: B | None = await self.read(wait=False)
        else:
            # Who comes now gets what is there by a request of its own: the connection of a machine
            # that slept may be dead without anybody having noticed.
            batch = await race(self.read(wait=True), self._hurry.wait())
        if batch is None:
            return
        if not await self.deal_with(batch):
            # A hub that starts waits for its first reading, and may say so a moment too late.
            self._drained(waiting if self.caught_up else self._draining)
            self.caught_up = True
        if self.trouble is not None:
            log.info("%s works again", self.channel)
        self.trouble = None
        self._failures = 0

    async def _round(self) -> None:
        try:
            await self.read_on()
        except TokenRejected:
            raise
        except StoreError as error:
            await self._pause(f"{self.channel}: nothing is read: {error}")
        except RetryLater as error:
            if error.after is None:
                # A long request would hide for a minute that it works again.
                self._hurry.set()
            await self._pause(str(error), at_least=error.after or 0.0)
        except ChatbridgeError as error:
            await self._pause(f"{self.channel}: {error}")

    async def _pause(self, trouble: str, *, at_least: float = 0.0) -> None:
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        self._failures += 1
        self._kick.clear()
        await race(self._clock.sleep(max(pause, at_least)), self._kick.wait())

    def _drained(self, waiting: Sequence[asyncio.Event]) -> None:
        for done in waiting:
            done.set()
        self._draining = [done for done in self._draining if not done.is_set()]
        if not self._draining:
            self._hurry.clear()

    # ── the cursor ────────────────────────────────────────────────────────────────────────────────

    async def stored_cursor(self) -> ChannelState | None:
        return await self._inbox.note(self.channel, self._cursor_key)

    def cursor(self, value: str) -> ChannelState:
        now = self._clock.time()
        return ChannelState(channel=self.channel, key=self._cursor_key, value=value, at=now)

    # ── one event ─────────────────────────────────────────────────────────────────────────────────

    async def process(
        self, name: object, take: Callable[[], Awaitable[None]], *, committed: Callable[[str], bool]
    ) -> bool:
        """False: it was given up for want of a connection. `committed` is asked, with the stored
        cursor, if storing it has failed before: perhaps only something after the effect did.

        :raises StoreError: it has to come again.
        :raises RetryLater: likewise.
        :raises TokenRejected:
        """
        if self._doubtful == name:
            stored = await self.stored_cursor()
            if stored is not None and committed(stored.value):
                return True
        try:
            await take()
        except TokenRejected:
            raise
        except StoreError:
            self._doubtful = name
            raise
        except ChatbridgeError as error:
            is_away = isinstance(error, RetryLater)
            if is_away and self.may_be_tried_again(name):
                raise
            log.warning("%s: %s %s was passed over: %s", self.channel, self.kind, name, error)
            return not is_away
        except Exception:
            log.exception("%s: %s %s was passed over", self.channel, self.kind, name)
        return True

    async def process_at(self, place: str, take: Callable[[ChannelState], Awaitable[None]]) -> bool:
        """The event that ends at this place of a service that numbers all of them."""
        take_it = partial(take, self.cursor(place))
        return await self.process(place, take_it, committed=partial(eq, place))

    def may_be_tried_again(self, name: object) -> bool:
        """Said of one that has failed. Only the last one's tries are counted."""
        known, count = self._tried
        self._tried = (name, count + 1 if known == name else 1)
        return self._tried[1] < self.tries


class FeedLoop(PollLoop[Events[E]], Generic[E]):
    """Of a service whose events each have a place, after which reading goes on."""

    def __init__(
        self,
        inbox: AskActions,
        *,
        channel: str,
        clock: Clock,
        events: Reader[E],
        take: Callable[[E, ChannelState], Awaitable[None]],
    ) -> None:
        """`take` applies an event, and lets the cursor be stored with the effect."""
        super().__init__(inbox, clock=clock, cursor_key="since")
        self.channel = channel
        self._events, self._take = events, take
        self._after: str | None = None

    async def read(self, *, wait: bool) -> Events[E]:
        if self._after is None and (stored := await self.stored_cursor()):
            self._after = stored.value
        return await self._events(self._after, wait=wait)

    async def deal_with(self, batch: Events[E]) -> bool:
        for place, event in batch:
            await self.process_at(place, partial(self._take, event))
            self._after = place
        return bool(batch)
