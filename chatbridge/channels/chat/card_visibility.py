"""Which questions a person who types beside the cards of a chat may mean.

They write for what their phone shows. A question can end or move on elsewhere while its card still
asks, and who is writing just then does not see at once that it no longer does. The times here are
of whatever clock a channel can compare messages by; the hub's wall clock is none.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.errors import RetryLater
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, Person, Post
from chatbridge.core.ports import Clock

UNNOTICED = 60.0
"""For so many seconds somebody may go on writing for a card that has changed without them."""
ABANDONED = 3600.0
"""After so many nobody means a late form any more that still asks."""
REMEMBERED = 1_000
UNKNOWN = -1
"""A step of which it is not known whether, or that, it was shown."""

V = TypeVar("V")


class CardVisibility:
    """Of whoever reads one chat. A viewer is the person whose chat it is."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._asking: OrderedDict[str, int | None] = OrderedDict()
        """The step for which each card asks for text; None if it asks for none."""
        self._late: OrderedDict[str, float] = OrderedDict()
        """Until when a late form may be meant that asks."""
        self._left: OrderedDict[str, float] = OrderedDict()
        """Until when somebody may still write for what a card showed before."""

    def showing(self, ask: Ask) -> None:
        """A card that is there is about to show it as it is."""
        if waits_for_text(ask) and ask.draft.step not in (0, self._asking.get(ask.id)):
            _remember(self._asking, ask.id, UNKNOWN)

    def shown(
        self,
        ask: Ask,
        *,
        at: float,
        viewer: str | None,
        known_at: float | None = None,
        new: bool = False,
    ) -> None:
        """Its card shows it as it is, for certain from then on; `known_at` if that is known only
        later, `new` if there was no card before."""
        asks = ask.draft.step if waits_for_text(ask) else None
        same = new or (ask.open and not ask.draft.step) or ask.approval
        before = self._asking.get(ask.id, asks if same else UNKNOWN)
        if before != asks:
            unnoticed = (at if known_at is None else known_at) + UNNOTICED
            until = at if self._is_own(ask, viewer) else unnoticed
            _remember(self._left, ask.id, until)
        _remember(self._asking, ask.id, asks)
        if not ask.open:
            _remember(self._late, ask.id, at + ABANDONED)

    def gone(self, ask: Ask) -> None:
        """It has no card here any more."""
        self._asking.pop(ask.id, None)

    def knows(self, ask: Ask) -> bool:
        return ask.id in self._asking

    def is_ambiguous(self, written: float, *, than: str) -> bool:
        """Whether who wrote then may have meant another ask than this one, or another of its
        steps than the one that its card shows now."""
        asking = [ask for ask, step in self._asking.items() if step is not None and ask != than]
        if any(written < self._late.get(ask, math.inf) for ask in asking):
            return True
        return any(written < until for until in self._left.values())

    def _is_own(self, ask: Ask, viewer: str | None) -> bool:
        """People know what they did, and what they saw to do it."""
        by = _changed_by(ask)
        return by is not None and by.channel == self._channel and by.place == viewer


def waits_for_text(ask: Ask) -> bool:
    return takes_text(ask) and (ask.open or _is_answered_late(ask))


def _is_answered_late(ask: Ask) -> bool:
    return ask.draft.late and takes_late_answer(ask)


def _changed_by(ask: Ask) -> Person | None:
    outcome = ask.late or ask.outcome
    if ask.open or _is_answered_late(ask) or outcome is None:
        return ask.draft.by
    return outcome.by


def _remember(known: OrderedDict[str, V], key: str, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > REMEMBERED:
        known.popitem(last=False)


DOUBTED = 10 * 60.0
"""So long a card counts of which nobody heard whether it arrived."""


class Visibility:
    """Of one chat, by the clock of its service, which dates every message."""

    def __init__(self, channel: str, *, clock: Clock) -> None:
        self.shown_cards = CardVisibility(channel)
        self._clock = clock
        self._ahead: float | None = None
        """How far the service's clock is ahead of the monotonic one."""
        self._doubtful: dict[str, float] = {}
        """Until when a question may be there without anybody having heard so."""

    def date(self, told: float | None) -> float:
        """The service's time, as it says it, or as it must be by now."""
        now = self._clock.monotonic()
        if told is not None:
            self._ahead = told - now
            return told
        return self._clock.time() if self._ahead is None else now + self._ahead

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

    def posted(
        self, ask: Ask, *, by: str, viewer: str | None, at: float | None = None, new: bool = True
    ) -> float:
        """Its card is out; `new` if there was none before. Return since when."""
        since = self.date(at)
        new = new and ask.id not in self._doubtful
        # Its seconds are whole: what was written in this one may be older.
        self.shown_cards.shown(ask, at=int(since) + 1, viewer=viewer, new=new)
        return since

    def showing(self, ask: Ask) -> None:
        """A card that is there is about to show it as it is."""
        self.shown_cards.showing(ask)

    def shown(self, ask: Ask, *, by: str, viewer: str | None, at: float | None = None) -> float:
        """Its card shows it as it is, by this message or edit. Return since when."""
        return self.posted(ask, by=by, viewer=viewer, at=at, new=False)

    def is_ambiguous(self, written: float, *, than: Ask) -> bool:
        """Whether who wrote then may have meant another question than the one that waits."""
        self._forget_what_is_over()
        if any(ask != than.id for ask in self._doubtful):
            return True
        return self.shown_cards.is_ambiguous(written, than=than.id)

    def _forget_what_is_over(self) -> None:
        now = self._clock.monotonic()
        self._doubtful = {ask: until for ask, until in self._doubtful.items() if now < until}


LOOKED_BACK = 50
"""How many ended asks are looked at for one that may be meant."""


async def answerable(inbox: AskActions) -> list[Ask]:
    """The open ones, and those that a person is answering late."""
    ended = await inbox.history(limit=LOOKED_BACK)
    late = [ask for ask in ended if ask.draft.late and takes_late_answer(ask)]
    return [*await inbox.open_asks(), *late]


async def shown_on(inbox: AskActions, surface: str) -> list[tuple[Ask, Post]]:
    """Those of them that a text beside the cards on this surface may be for, with their posts. An
    ask that is answered late only counts while it waits for text. A snoozed one is out of sight."""
    found = []
    for ask in await answerable(inbox):
        snoozed = ask.attention.snoozed_until is not None
        if (ask.open and not snoozed) or takes_text(ask):
            post = await inbox.post(ask.id, surface=surface)
            if post is not None:
                found.append((ask, post))
    return found


async def any_unseen(inbox: AskActions, surface: str, shown_cards: CardVisibility) -> bool:
    """Whether words on this surface may be for an ask of which it is not known what its card shows:
    it may be out without anybody having heard so; or an earlier hub has shown it, and it has ended
    since."""
    for ask in await inbox.behind(surface=surface):
        if ask.open:
            hidden = not takes_text(ask) or inbox.is_hidden(ask, surface=surface)
            unseen = not hidden and await inbox.post(ask.id, surface=surface) is None
        else:
            unseen = not (ask.approval or shown_cards.knows(ask))
        if unseen:
            return True
    return False
