"""What a room has shown, by the order of its timeline: which questions a message beside the cards
may be for.

A server puts all events of a room into one order; clocks of several servers do not agree. What a
person wrote before our message was there, by that order, cannot have been meant for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from chatbridge.channels.chat import card_visibility
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock

REMEMBERED = 1_000
BATCHES = 2
"""After so many, what was asked for after a message was sent has been read: it came back, or never
will."""


class OwnEvents:
    """Which of the bot's own messages have come back in the timeline."""

    def __init__(self) -> None:
        self._ahead: set[str] = set()
        self._passed: OrderedDict[str, None] = OrderedDict()

    def sent(self, event: str) -> None:
        """A message of ours has been taken by the server. It may have come back already."""
        if event not in self._passed:
            self._ahead.add(event)

    def coming(self, events: Iterable[str]) -> None:
        """Events of ours that are about to be passed: also those of an earlier hub."""
        for event in events:
            self.sent(event)

    def passed(self, event: str) -> None:
        self._ahead.discard(event)
        self._passed[event] = None
        while len(self._passed) > REMEMBERED:
            self._passed.popitem(last=False)

    def is_ahead(self, event: str) -> bool:
        """Whether what is being read now was there before this message."""
        return event in self._ahead


class Visibility(card_visibility.Visibility):
    """A message counts as written when what was there before it had been read: sooner than it was,
    and no clock of a server is needed. Approvals do not count: nothing that is written beside their
    cards is for them."""

    def __init__(self, *, own_events: OwnEvents, clock: Clock) -> None:
        super().__init__("matrix", clock=clock)
        self._own_events = own_events
        self._read_at = clock.monotonic()
        self._sent: dict[str, tuple[str, Ask, str | None]] = {}
        """For each ask the newest message that shows it as it is and has not come back, and to
        whom."""
        self._batches: dict[str, int] = {}
        """How many were read since each message was sent that has not come back."""

    def posted(
        self, ask: Ask, *, by: str, viewer: str | None, at: float | None = None, new: bool = True
    ) -> float:
        """Its first message. A server that knows the transaction names one that was there before,
        which never comes back."""
        self._own_events.sent(by)
        self._batches[by] = 0
        if not ask.approval:
            self.shown_cards.shown(ask, at=self._read_at, viewer=viewer, new=True)
        return self._read_at

    def showing(self, ask: Ask) -> None:
        if not ask.approval:
            super().showing(ask)

    def shown(self, ask: Ask, *, by: str, viewer: str | None, at: float | None = None) -> float:
        """Until this message is in the timeline, nobody can have read it."""
        self._own_events.sent(by)
        if not ask.approval:
            self._batches[by] = 0
            self._sent[ask.id] = (by, ask, viewer)
            if not self._own_events.is_ahead(by):
                self.came_back(by)
        return self._read_at

    def came_back(self, event: str) -> None:
        self._batches.pop(event, None)
        for by, ask, viewer in list(self._sent.values()):
            if by == event:
                del self._sent[ask.id]
                now = self._clock.monotonic()
                self.shown_cards.shown(ask, at=self._read_at, known_at=now, viewer=viewer)

    def read_on(self) -> None:
        """A batch has been dealt with."""
        self._read_at = self._clock.monotonic()
        for event in list(self._batches):
            self._batches[event] += 1
            if self._batches[event] >= BATCHES:
                self._own_events.passed(event)
                self.came_back(event)

    def is_ambiguous(self, written: float | None = None, *, than: Ask) -> bool:
        """Whether who wrote what is read now may have meant another question than this one."""
        if any(ask != than.id for ask in self._sent):
            return True
        return self.shown_cards.is_ambiguous(self._read_at, than=than.id)
