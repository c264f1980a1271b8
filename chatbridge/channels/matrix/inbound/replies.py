"""What the bot says beside cards: notices about what somebody wrote or tapped, and the question
which ask a message is for.

Nothing is stored for that question: the bot's message itself names the text and the asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from chatbridge.channels.chat.inbound import Spawn, patiently
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.matrix.render.notices import said, which_one
from chatbridge.core.forms.emoji_shortcuts import NUMBERS, YES_NO, normal
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock
from chatbridge.safe_json import value_at

OFFER = "chatbridge.offer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Which ask a message may be for."""

    text: str
    """The event of the message."""
    asks: tuple[tuple[str, int], ...]
    """The asks, and their steps when it was written."""

    def emojis(self) -> Sequence[str]:
        return YES_NO[:1] if len(self.asks) == 1 else NUMBERS[: len(self.asks)]

    def chosen(self, emoji: str) -> tuple[str, int] | None:
        for known, ask in zip(self.emojis(), self.asks, strict=False):
            if normal(known) == normal(emoji):
                return ask
        return None


def to_content(made: Offer) -> dict[str, Any]:
    asks = [{"ask": ask_id, "step": step} for ask_id, step in made.asks]
    return {OFFER: {"text": made.text, "asks": asks}}


def from_content(content: Mapping[str, Any]) -> Offer | None:
    found = content.get(OFFER)
    text, asks = value_at(found, "text"), value_at(found, "asks")
    if not isinstance(text, str) or not isinstance(asks, list):
        return None
    pairs = [(value_at(each, "ask"), value_at(each, "step")) for each in asks]
    known = tuple((a, s) for a, s in pairs if isinstance(a, str) and type(s) is int)
    return Offer(text=text, asks=known)


@dataclass(frozen=True, slots=True)
class Replies:
    api: Api
    clock: Clock
    spawn: Spawn
    reactions: bool

    def say(self, told: Words | str | None, *, to: RoomEvent, root: str | None = None) -> None:
        """Send a notice, if there is one, about what somebody did: in the thread of `root`, or
        where they wrote. Whether it arrives or not, what they did has been dealt with."""
        if not told:
            return
        about = relation(to.content)
        if root is None and about.kind == "m.thread":
            root = about.event
        tapped = to.type == "m.reaction"
        if root is not None:
            # A reaction cannot be replied to.
            where = content.in_thread(root, after=root if tapped else to.id, reply=not tapped)
        else:
            where = content.in_reply(to.id)
        self.spawn(self._send(said(told) if isinstance(told, str) else told, where, to))

    async def ask_back(self, asks: Sequence[Ask], *, to: RoomEvent) -> None:
        """Ask which of these a message is for, with a reaction for as many as there are signs."""
        drawing = which_one(asks, now=self.clock.time(), reactions=self.reactions)
        listed = asks[: len(NUMBERS)]
        made = Offer(text=to.id, asks=tuple((ask.id, ask.draft.step) for ask in listed))
        sent = await self._send(drawing, content.in_reply(to.id) | to_content(made), to)
        for emoji in made.emojis() if self.reactions else ():
            tx = content.transaction("seed", sent, emoji)
            await patiently(partial(self.api.react, to.room, sent, emoji, tx=tx), self.clock)

    async def take_away(self, event: RoomEvent) -> None:
        await self.api.redact(event.room, event.id, tx=content.transaction("redact", event.id))

    async def _send(self, drawing: Words, where: content.Content, to: RoomEvent) -> str:
        new = content.message(drawing, notice=True) | where
        tx = content.transaction("say", to.id, drawing.body)
        return await patiently(partial(self.api.send, to.room, new, tx=tx), self.clock)
