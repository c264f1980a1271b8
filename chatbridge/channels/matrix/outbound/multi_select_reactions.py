"""What is stored of an ask in a room beside its messages: which reactions of people stand for which
options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader


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
