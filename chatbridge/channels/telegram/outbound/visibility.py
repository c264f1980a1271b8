"""What a chat has shown, and since when, by Telegram's own clock: which questions a text beside the
cards may be for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge.channels.chat.card_visibility import CardVisibility, waits_for_text
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock

DOUBTED = 10 * 60.0
"""So long a card counts of which nobody heard whether it arrived."""


class Visibility:
    def __init__(self, *, viewer: str | None, clock: Clock) -> None:
        self.shown_cards = CardVisibility("telegram")
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
            return told
        return self._clock.time() if self._ahead is None else now + self._ahead

    def shown(self, ask: Ask, *, at: float, new: bool = False) -> None:
        # Telegram's seconds are whole: what was written in this one may be older.
        self.shown_cards.shown(ask, at=int(at) + 1, viewer=self._viewer, new=new)

    @contextmanager
    def posting(self, ask: Ask) -> Iterator[None]:
        """While its card is on its way. Nobody may hear whether it arrived, and another is sent."""
        until = self._doubtful.get(ask.id, 0.0)
        if waits_for_text(ask):
            self._doubtful[ask.id] = math.inf
        try:
            yield
        except RetryLater as error:
            if error.after is None and waits_for_text(ask):
                until = self._clock.monotonic() + DOUBTED
            raise
        finally:
            self._doubtful[ask.id] = until
            self._forget_what_is_over()

    def is_doubtful(self, ask: Ask) -> bool:
        self._forget_what_is_over()
        return ask.id in self._doubtful

    def is_ambiguous(self, written: float, *, than: Ask) -> bool:
        """Whether who wrote then may have meant another question than the one that waits."""
        self._forget_what_is_over()
        if any(ask != than.id for ask in self._doubtful):
            return True
        return self.shown_cards.is_ambiguous(written, than=than.id)

    def _forget_what_is_over(self) -> None:
        now = self._clock.monotonic()
        self._doubtful = {ask: until for ask, until in self._doubtful.items() if now < until}
