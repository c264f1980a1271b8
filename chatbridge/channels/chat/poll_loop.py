"""The loop that reads from a service: when it reads and rests, who waits until everything was read,
and how often an event is tried. What is read, and where reading goes on, is the channel's own."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, RetryLater, StoreError, TokenRejected
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class PollLoop(ABC):
    """One round after the other, until cancelled. A round that fails is followed by a pause."""

    def __init__(
        self, channel: str, *, inbox: AskActions, clock: Clock, kind: str = "event", tries: int = 1
    ) -> None:
        """`kind` is what an event is called in the log; `tries`, how often one is tried that fails
        for want of a connection."""
        self.trouble: str | None = None
        self._channel = channel
        self._inbox = inbox
        self._clock = clock
        self._kind = kind
        self._tries = tries
        self._failures = 0
        self._hurry = asyncio.Event()
        self._hurry.set()
        self._kick = asyncio.Event()
        self._draining: list[asyncio.Future[None]] = []
        self._caught_up = False
        self._over = False
        self._tried: tuple[object, int] = (None, 0)
        self._doubtful: object = None

    @abstractmethod
    async def read_on(self) -> None:
        """Read once, and deal with what was read."""

    @property
    @abstractmethod
    def cursor_key(self) -> str:
        """Under which the place to read on is stored."""

    async def run(self) -> None:
        """Until cancelled. :raises TokenRejected:"""
        try:
            while True:
                await self._round()
        finally:
            self._over = True
            self._drained(self._draining)

    async def drain(self) -> None:
        """Return once everything that the service had until now has been dealt with, or once
        nothing is read any more."""
        if self._over:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._draining.append(done)
        self._hurry.set()
        self._failures = 0
        self._kick.set()
        await done

    # ── inside a round ────────────────────────────────────────────────────────────────────────────

    @property
    def hurried(self) -> bool:
        """Whether somebody waits, so that only what is there now should be read."""
        return self._hurry.is_set()

    def waiting(self) -> Sequence[asyncio.Future[None]]:
        """Who waits, as of now: what is read from now on counts for them."""
        return list(self._draining)

    async def unless_hurried(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What a long request returns; None if somebody came who cannot wait for it. They get
        what is there by a request of its own: the connection of a machine that slept may be dead
        without anybody having noticed."""
        return await race(work, self._hurry.wait())

    async def rest(self, *, until: float) -> None:
        """Until this monotonic time, or until somebody cannot wait."""
        if (pause := until - self._clock.monotonic()) > 0:
            await self.unless_hurried(self._clock.sleep(pause))

    def read_all(self, waiting: Sequence[asyncio.Future[None]]) -> None:
        """All that the service had when they began to wait has been dealt with."""
        # A hub that starts waits for its first reading, and may say so a moment too late.
        self._drained(waiting if self._caught_up else self._draining)
        self._caught_up = True

    def works(self) -> None:
        if self.trouble is not None:
            log.info("%s works again", self._channel)
        self.trouble = None
        self._failures = 0

    # ── between rounds ────────────────────────────────────────────────────────────────────────────

    async def _round(self) -> None:
        try:
            await self.read_on()
        except TokenRejected:
            raise
        except StoreError as error:
            await self._pause(f"{self._channel}: nothing is read: {error}")
        except RetryLater as error:
            if error.after is None:
                # A long request would hide for a minute that it works again.
                self._hurry.set()
            await self._pause(str(error), at_least=error.after or 0.0)
        except ChatbridgeError as error:
            await self._pause(f"{self._channel}: {error}")

    async def _pause(self, trouble: str, *, at_least: float = 0.0) -> None:
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        self._failures += 1
        self._kick.clear()
        await race(self._clock.sleep(max(pause, at_least)), self._kick.wait())

    def _drained(self, waiting: Sequence[asyncio.Future[None]]) -> None:
        for done in waiting:
            if not done.done():  # cancelled: nobody waits any more
                done.set_result(None)
        self._draining = [done for done in self._draining if not done.done()]
        if not self._draining:
            self._hurry.clear()

    # ── the cursor ────────────────────────────────────────────────────────────────────────────────

    async def stored_cursor(self) -> ChannelState | None:
        return await self._inbox.note(self._channel, self.cursor_key)

    def cursor(self, value: str) -> ChannelState:
        now = self._clock.time()
        return ChannelState(channel=self._channel, key=self.cursor_key, value=value, at=now)

    # ── one event ─────────────────────────────────────────────────────────────────────────────────

    async def process(
        self,
        name: object,
        take: Callable[[], Awaitable[None]],
        *,
        committed: Callable[[str], bool],
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
        except RetryLater as error:
            if self.may_be_tried_again(name):
                raise
            log.warning("%s: %s %s was passed over: %s", self._channel, self._kind, name, error)
            return False
        except ChatbridgeError as error:
            log.warning("%s: %s %s was passed over: %s", self._channel, self._kind, name, error)
        except Exception:
            log.exception("%s: %s %s was passed over", self._channel, self._kind, name)
        return True

    def may_be_tried_again(self, name: object) -> bool:
        """Said of one that has failed. Only the last one's tries are counted."""
        known, count = self._tried
        self._tried = (name, count + 1 if known == name else 1)
        return self._tried[1] < self._tries
