"""The morning summary as a service: finds out when one is due, and what there is to say.

Delivery sends it. Without quiet hours and without a set time it sleeps until somebody says that
there are some.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.nights.hours import Calendar, Period
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.summary import (
    NOTES,
    SEND_WITHIN_SECONDS,
    BuildSummary,
    Summary,
    Tally,
    by_urgency,
    latest_period,
    next_end,
)
from chatbridge.core.nights.switching import CHANNEL, KEY
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.core.stored_json import reader
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

AFTER_SECONDS = 5.0
"""After the end of its period: what was held comes first, so that the summary is below it."""
CLOCK_CHECK_SECONDS = 60.0
"""A sleep does not count the time of a suspended machine, nor a step of the clock."""
DRAIN_WITHIN_SECONDS = 60.0
LATEST = ""
"""The key of the note about the latest period. No surface has this name."""


class Facts(Protocol):
    """What a summary is made from; a store, for instance."""

    async def open_asks(self) -> Sequence[Ask]: ...

    async def tally(self, *, since: float, until: float, now: float) -> Tally: ...


async def summarize(
    facts: Facts, period: Period, *, now: float, inbox: str | None = None
) -> Summary:
    waiting = by_urgency(tuple(await facts.open_asks()))
    tally = await facts.tally(since=period.start, until=period.end, now=now)
    return Summary(period=period, at=now, waiting=waiting, tally=tally, inbox=inbox)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The latest period that was looked at."""

    end: float
    empty: bool  # There was nothing to say


_read_latest = reader(Latest)


class SummaryDelivery(Protocol):
    """The part of delivery that sends summaries."""

    def summarize(self, period: Period, build: BuildSummary) -> None: ...


class Summaries:
    def __init__(
        self,
        store: Store,
        delivery: SummaryDelivery,
        *,
        nights: Nights,
        clock: Clock,
        inbox: Callable[[], str | None] = lambda: None,
        drained: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`inbox` says where the inbox can be opened from elsewhere; `drained` returns once the
        channels have put in what people did while no hub was there."""
        self._store = store
        self._delivery = delivery
        self._nights = nights
        self._clock = clock
        self._inbox = inbox
        self._drained = drained
        self._calendar: Calendar | None = None
        self.handed_over: Period | None = None  # The latest period that was looked at
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Quiet hours may have been switched on or off."""
        if self._nights.calendar != self._calendar:
            self._changed.set()

    async def build(self, period: Period) -> Summary:
        now = self._clock.time()
        return await summarize(self._store, period, now=now, inbox=self._inbox())

    async def run(self) -> None:
        """Hand each summary to delivery when it is due, until cancelled."""
        if self._drained is not None:
            await race(self._drained(), self._clock.sleep(DRAIN_WITHIN_SECONDS))
        while True:
            self._changed.clear()
            self._calendar = calendar = self._nights.calendar
            now = self._clock.time()
            try:
                await self._hand_over(calendar, now)
            except StoreError as error:
                log.warning("the summary is not known yet: %s", error)
            due = next_end(now=now - AFTER_SECONDS, calendar=calendar, policy=self._nights.policy)
            if due is None:
                await self._changed.wait()
            else:
                left = due + AFTER_SECONDS - self._clock.time()
                pause = min(max(left, 0.0), CLOCK_CHECK_SECONDS)
                await race(self._clock.sleep(pause), self._changed.wait())

    async def _hand_over(self, calendar: Calendar, now: float) -> None:
        """Whether there is something to say is decided once for each period."""
        period = latest_period(
            now=now - AFTER_SECONDS, calendar=calendar, policy=self._nights.policy
        )
        if period is None or period == self.handed_over or now >= period.end + SEND_WITHIN_SECONDS:
            return
        note = await self._store.note(NOTES, LATEST)
        known = _read_latest(note.value) if note is not None else None
        if known is None or known.end != period.end:
            if known is not None and period.end < known.end <= now:
                return  # an earlier one, since quiet hours have changed
            if known is not None and await self._is_told(period, known):
                return
            empty = not (await self.build(period)).says_something
            known = Latest(end=period.end, empty=empty)
            value = json.dumps(asdict(known))
            new = ChannelState(channel=NOTES, key=LATEST, value=value, at=now)
            await self._store.write(lambda tx: tx.save_note(new))
        if not known.empty:
            self._delivery.summarize(period, self.build)
        self.handed_over = period

    async def _is_told(self, period: Period, known: Latest) -> bool:
        """Whether its night had its summary, and ended otherwise only by the switch that was in
        force then: another one has taken its place since."""
        if not period.start < known.end < period.end:
            return False
        switched = await self._store.note(CHANNEL, KEY)
        return switched is not None and period.end + AFTER_SECONDS < switched.at
