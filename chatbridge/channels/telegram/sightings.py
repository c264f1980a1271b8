"""What a chat has shown, and since when, by Telegram's own clock: which questions a text beside the
cards may be for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge.core.attention import Attention, waits_for_text
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock

DOUBTED = 10 * 60.0
"""So long a card counts of which nobody heard whether it arrived."""


class Sightings:
    def __init__(self, *, viewer: str | None, clock: Clock) -> None:
        self.attention = Attention("telegram")
        self._viewer = viewer
        self._clock = clock
        self._ahead: float | None = None
        """How far Telegram's clock is ahead of the monotonic one."""
        self._doubtful: dict[str, float] = {}
        """Until when a question may be there without anybody having heard so."""

    def date(self, told: float | None) -> float:
        """Telegram's time, as it says it, or as it must be by now."""
        now = self._clock.monotonic()
        if told is not None:
            self._ahead = told - now
        return now + (self._clock.time() - now if self._ahead is None else self._ahead)

    def shown(self, ask: Ask, *, at: float, new: bool = False) -> None:
        # Telegram's seconds are whole: what was written in this one may be older.
        self.attention.shown(ask, at=int(at) + 1, viewer=self._viewer, new=new)

    @contextmanager
    def posting(self, ask: Ask) -> Iterator[None]:
        """While its card is on its way."""
        until = self._doubtful.pop(ask.id, None)
        if waits_for_text(ask):
            self._doubtful[ask.id] = math.inf
        try:
            yield
        except RetryLater as error:
            if error.after is None:
                until = self._clock.monotonic() + DOUBTED
            raise
        finally:
            if self._doubtful.pop(ask.id, None) is not None and until is not None:
                self._doubtful[ask.id] = until

    def may_be_elsewhere(self, written: float, *, than: Ask) -> bool:
        """Whether who wrote then may have meant another question than the one that waits."""
        now = self._clock.monotonic()
        self._doubtful = {ask: until for ask, until in self._doubtful.items() if now < until}
        if any(ask != than.id for ask in self._doubtful):
            return True
        return self.attention.may_be_elsewhere(written, than=than.id)
