"""What the bot says beside cards: notices about what somebody wrote or tapped, and the question
which ask a message is for.

Nothing is stored for that question: the bot's message itself names the text and the asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from chatbridge.channels.chat.inbound import Spawn
from chatbridge.channels.chat.writer import key_name, patiently
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.matrix.render.notices import said, which_one, yes_or_no
from chatbridge.core.forms.emoji_shortcuts import NUMBERS, YES_NO, normal
from chatbridge.core.forms.yes_no import NO, YES
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock
from chatbridge.safe_json import value_at

OFFER = "chatbridge.offer"


class Use(NamedTuple):
    """What a message may be for: an ask, its step when the message was written and, if the message
    is a remark, the option."""

    ask: str
    step: int
    option: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a message may be for."""

    text: str
    """The event of the message."""
    uses: tuple[Use, ...]

    def emojis(self) -> Sequence[str]:
        remark = any(use.option is not None for use in self.uses)
        few = YES_NO if remark or len(self.uses) == 1 else NUMBERS
        return few[: len(self.uses)]

    def chosen(self, emoji: str) -> Use | None:
        for known, use in zip(self.emojis(), self.uses, strict=False):
            if normal(known) == normal(emoji):
                return use
        return None


def to_content(made: Offer) -> dict[str, Any]:
    uses = [use._asdict() for use in made.uses]
    asks = [{name: value for name, value in use.items() if value is not None} for use in uses]
    return {OFFER: {"text": made.text, "asks": asks}}


def from_content(content: Mapping[str, Any]) -> Offer | None:
    found = content.get(OFFER)
    text, asks = value_at(found, "text"), value_at(found, "asks")
    if not isinstance(text, str) or not isinstance(asks, list):
        return None
    fields = [[value_at(each, name) for name in Use._fields] for each in asks]
    return Offer(text=text, uses=tuple(Use(*each) for each in fields if _is_use(*each)))


def _is_use(ask: object, step: object, option: object) -> bool:
    known = option is None or (type(option) is int and option in (YES, NO))
    return isinstance(ask, str) and type(step) is int and known


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
        words = said(told) if isinstance(told, str) else told
        self.spawn(self._send(words, _beside(to, root), to))

    async def ask_back(self, asks: Sequence[Ask], *, to: RoomEvent) -> None:
        """Ask which of these a message is for, with a reaction for as many as there are signs."""
        drawing = which_one(asks, now=self.clock.time(), reactions=self.reactions)
        uses = tuple(Use(ask.id, ask.draft.step) for ask in asks[: len(NUMBERS)])
        await self._offer(drawing, Offer(text=to.id, uses=uses), content.in_reply(to.id), to)

    async def ask_yes_or_no(self, ask: Ask, *, to: RoomEvent, root: str | None = None) -> None:
        """Ask for which of the two a message is the remark."""
        drawing = yes_or_no(ask, now=self.clock.time(), reactions=self.reactions)
        uses = tuple(Use(ask.id, ask.draft.step, option) for option in (YES, NO))
        await self._offer(drawing, Offer(text=to.id, uses=uses), _beside(to, root), to)

    async def _offer(
        self, drawing: Words, made: Offer, where: content.Content, to: RoomEvent
    ) -> None:
        sent = await self._send(drawing, where | to_content(made), to)
        for emoji in made.emojis() if self.reactions else ():
            tx = key_name(("seed", sent, emoji))
            await patiently(partial(self.api.react, to.room, sent, emoji, tx=tx), self.clock)

    async def take_away(self, event: RoomEvent) -> None:
        await self.api.redact(event.room, event.id, tx=key_name(("redact", event.id)))

    async def _send(self, drawing: Words, where: content.Content, to: RoomEvent) -> str:
        new = content.message(drawing, notice=True) | where
        tx = key_name(("say", to.id, drawing.body))
        return await patiently(partial(self.api.send, to.room, new, tx=tx), self.clock)


def _beside(to: RoomEvent, root: str | None) -> content.Content:
    """Where a notice about what somebody did stands: in the thread of `root`, or where they
    wrote."""
    about = relation(to.content)
    if root is None and about.kind == "m.thread":
        root = about.event
    if root is None:
        return content.in_reply(to.id)
    tapped = to.type == "m.reaction"  # which cannot be replied to
    return content.in_thread(root, after=root if tapped else to.id, reply=not tapped)
