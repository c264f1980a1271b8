"""The morning summary on one surface: sent at most once, and kept up to date for an hour.

That it is about to be sent is stored before it is. What may have been sent is not sent again,
unless the service itself takes it for the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

from chatbridge.core.errors import ChatRefused, PostGone, RetryLater, StoreError, TokenRejected
from chatbridge.core.model import ChannelState
from chatbridge.core.nights.hours import Period
from chatbridge.core.nights.summary import (
    EDIT_WITHIN_SECONDS,
    NOTES,
    SEND_WITHIN_SECONDS,
    BuildSummary,
    Sent,
    Summary,
    read_sent,
)
from chatbridge.core.ports import Clock, Shown, Surface
from chatbridge.core.store_port import Store


@dataclass(slots=True, eq=False)
class SummaryPost:
    surface: Surface
    store: Store
    clock: Clock
    due: bool = False  # Whether there may be something to do
    _wanted: tuple[Period, BuildSummary] | None = field(default=None, init=False)

    def want(self, period: Period, build: BuildSummary) -> None:
        self._wanted, self.due = (period, build), True

    def asks_changed(self) -> None:
        self.due = self._wanted is not None

    async def update(self) -> Shown | None:
        """Send it, or edit it, if needed. Return what was done. :raises ChatbridgeError: try again
        after a pause, if it is still due."""
        self.due = False
        try:
            return await self._update()
        except (RetryLater, ChatRefused, TokenRejected, StoreError):
            self.due = self._wanted is not None
            raise

    async def _update(self) -> Shown | None:
        if self._wanted is None:
            return None
        (period, build), now = self._wanted, self.clock.time()
        note = await self.store.note(NOTES, self.surface.name)
        sent = (read_sent(note.value) if note is not None else None) or Sent()
        if sent.is_about(period) and not sent.trying:
            if sent.place is not None and now < sent.at + EDIT_WITHIN_SECONDS:
                return await self._edit(await build(period), sent, sent.place)
        elif now < period.end + SEND_WITHIN_SECONDS:
            again = sent.is_about(period)
            if self.surface.idempotent if again else not sent.knows(period, now=now):
                return await self._send(await build(period), sent, again=again)
        self._drop(period)
        return None

    def _drop(self, period: Period) -> None:
        """There is nothing more to do about it; another may have come meanwhile."""
        if self._wanted is not None and self._wanted[0] == period:
            self._wanted = None

    async def _send(self, summary: Summary, before: Sent, *, again: bool) -> Shown | None:
        sent = before.with_period(summary.period, at=self.clock.time(), trying=True)
        if not summary.says_something:
            await self._save(replace(sent, trying=False))
            return None
        await self._save(sent)
        try:
            shown = await self.surface.summarize(summary, place=None, again=again)
        except (RetryLater, ChatRefused, TokenRejected) as error:
            unsure = isinstance(error, RetryLater) and not error.unsent
            if unsure and not self.surface.idempotent:
                self._drop(summary.period)
            elif not unsure and not again:
                await self._save(before)
            raise
        await self._save(replace(sent, trying=False, place=shown.place))
        self.due |= not shown.complete  # it may have become due meanwhile
        return shown

    async def _edit(self, summary: Summary, sent: Sent, place: str) -> Shown | None:
        try:
            shown = await self.surface.summarize(summary, place=place, again=False)
        except PostGone:
            await self._save(replace(sent, place=None))
            return None
        self.due |= not shown.complete  # it may have become due meanwhile
        if shown.place == place:
            return None
        await self._save(replace(sent, place=shown.place))
        return shown

    async def _save(self, sent: Sent) -> None:
        name, now = self.surface.name, self.clock.time()
        note = ChannelState(channel=NOTES, key=name, value=json.dumps(asdict(sent)), at=now)
        await self.store.write(lambda tx: tx.save_note(note))
