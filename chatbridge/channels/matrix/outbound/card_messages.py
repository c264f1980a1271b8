"""Where a post is in its room, as text for the store: the root, the steps in its thread, and the
reactions under each that the bot put there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import Ask, ChannelState, View
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader

OVER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BotReaction:
    """A reaction of the bot's own: a button."""

    emoji: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A message that showed, or shows, one step of the form."""

    event: str
    step: int
    """`OVER` if another message has taken its place."""
    view: View
    at: int
    """The question that it was drawn for."""
    shows: str
    """A digest of what it says now."""
    seeds: tuple[BotReaction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMessages:
    room: str
    parts: tuple[Part, ...]
    """The root of the thread first."""
    reminder: str | None = None
    """Its event; empty if none is to be sent."""
    pages: tuple[str, ...] = ()
    """The events that show all of what an approval is about, where no card has room for it."""

    @property
    def root(self) -> Part:
        return self.parts[0]

    @property
    def newest(self) -> Part:
        return next(part for part in reversed(self.parts) if part.step != OVER)

    def part(self, event: str) -> Part | None:
        return next((part for part in self.parts if part.event == event), None)

    def __getitem__(self, event: str) -> Part:
        return next(part for part in self.parts if part.event == event)

    def having(self, part: Part) -> CardMessages:
        """With this part in place of the one of the same event, or added to the others."""
        if self.part(part.event) is None:
            return replace(self, parts=(*self.parts, part))
        parts = tuple(part if each.event == part.event else each for each in self.parts)
        return replace(self, parts=parts)


def to_text(place: CardMessages) -> str:
    return json.dumps(asdict(place), separators=(",", ":"), ensure_ascii=False)


_read = reader(CardMessages)


def from_text(text: str) -> CardMessages | None:
    """None also for a place without a message that shows something."""
    place = _read(text)
    if place is None or all(part.step == OVER for part in place.parts):
        return None
    return place


# ── reactions of people ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    card: str
    picks: dict[str, int] = field(default_factory=dict)


_read_picks = reader(Kept)


class MultiSelectReactions:
    """Which reaction of a person stands for which option of a multi-select: the event that takes a
    reaction back names the reaction, and nothing else. Stored for the newest message of each ask on
    one surface."""

    def __init__(self, inbox: AskActions, *, surface: str, clock: Clock) -> None:
        self._inbox = inbox
        self._surface = surface
        self._clock = clock

    async def of(self, ask: Ask, card: str) -> Mapping[str, int]:
        """The reactions on this message, and their options."""
        note = await self._inbox.note("matrix", self._key(ask))
        found = _read_picks(note.value) if note is not None else None
        return found.picks if found is not None and found.card == card else {}

    async def with_one(self, ask: Ask, card: str, reaction: str, option: int) -> ChannelState:
        """What is to be kept if this reaction counts."""
        return self._note(ask, card, {**await self.of(ask, card), reaction: option})

    async def without(self, ask: Ask, card: str, reaction: str) -> ChannelState:
        """What is to be kept once this one is taken back."""
        left = {each: o for each, o in (await self.of(ask, card)).items() if each != reaction}
        return self._note(ask, card, left)

    async def forget(self, ask: Ask) -> None:
        await self._inbox.forget("matrix", self._key(ask))

    def _note(self, ask: Ask, card: str, picks: Mapping[str, int]) -> ChannelState:
        value = json.dumps({"card": card, "picks": picks})
        return ChannelState(
            channel="matrix", key=self._key(ask), value=value, at=self._clock.time()
        )

    def _key(self, ask: Ask) -> str:
        return f"picks:{self._surface}:{ask.id}"
