"""What the bot says beside cards: notices about what somebody wrote or tapped, and the question
which ask a message is for.

Nothing is stored for that question: the bot's message itself names the text and the asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from chatbridge.channels.chat.people import display_name
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.matrix.render.notices import said
from chatbridge.core.errors import RetryLater
from chatbridge.core.forms.emoji_shortcuts import NUMBERS, YES_NO, normal
from chatbridge.core.model import Ask, Person
from chatbridge.core.ports import Clock

TRIES = 5

Spawn = Callable[[Coroutine[Any, Any, None]], None]


def person_of(event: RoomEvent, api: Api) -> Person:
    name = display_name(api.name_of(event.room, event.sender), event.sender)
    return Person(name=name, channel="matrix", place=event.sender)


class Replies:
    def __init__(self, api: Api, *, clock: Clock, spawn: Spawn) -> None:
        """`spawn` runs what nobody has to wait for."""
        self.spawn = spawn
        self._api = api
        self._clock = clock

    def say(self, told: Words | str | None, *, to: RoomEvent, root: str | None = None) -> None:
        """Send a notice, if there is one, about what somebody did: in the thread of `root`, or
        where they wrote. Whether it arrives or not, what they did has been dealt with."""
        if told:
            self.spawn(self._say(said(told) if isinstance(told, str) else told, to, root))

    def ask_back(self, drawing: Words, made: Offer, *, to: RoomEvent, reactions: bool) -> None:
        """A question of the bot's own, which a tap answers."""
        self.spawn(self._ask_back(drawing, made, to, reactions))

    async def _ask_back(self, drawing: Words, made: Offer, to: RoomEvent, reactions: bool) -> None:
        new = {
            **content.message(drawing, notice=True),
            **content.in_reply(to.id),
            **to_content(made),
        }
        sent = await self._patiently(lambda: self._send(to, new))
        for emoji in made.emojis() if reactions else ():
            await self._patiently(partial(self._seed, to.room, sent, emoji))

    async def take_away(self, event: RoomEvent) -> None:
        await self._api.redact(event.room, event.id, tx=content.transaction("redact", event.id))

    async def _say(self, drawing: Words, to: RoomEvent, root: str | None) -> None:
        about = relation(to.content)
        if root is None and about.kind == "m.thread":
            root = about.event
        tapped = to.type == "m.reaction"
        if root is not None:
            # A reaction cannot be replied to.
            new = content.in_thread(root, after=root if tapped else to.id, reply=not tapped)
        else:
            new = content.in_reply(to.id)
        new = {**content.message(drawing, notice=True), **new}
        await self._patiently(lambda: self._send(to, new))

    async def _seed(self, room: str, event: str, emoji: str) -> str:
        return await self._api.react(
            room, event, emoji, tx=content.transaction("seed", event, emoji)
        )

    async def _send(self, to: RoomEvent, new: content.Content) -> str:
        tx = content.transaction("say", to.id, new["body"])
        return await self._api.send(to.room, new, tx=tx)

    async def _patiently(self, send: Callable[[], Awaitable[str]]) -> str:
        """With the pauses that a server asks for."""
        for _ in range(TRIES):
            try:
                return await send()
            except RetryLater as error:
                if error.after is None:
                    raise
                await self._clock.sleep(error.after)
        return await send()


# ── which question is meant ───────────────────────────────────────────────────────────────────────

OFFER = "chatbridge.offer"
YES = YES_NO[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    text: str
    """The event of the message."""
    asks: tuple[tuple[str, int], ...]
    """What it may be for: the asks, and their steps when it was written."""

    def emojis(self) -> Sequence[str]:
        return (YES,) if len(self.asks) == 1 else NUMBERS[: len(self.asks)]

    def chosen(self, emoji: str) -> tuple[str, int] | None:
        for known, ask in zip(self.emojis(), self.asks, strict=False):
            if normal(known) == normal(emoji):
                return ask
        return None


def offer(message: RoomEvent, asks: Sequence[Ask]) -> Offer:
    """At most as many as there are signs for."""
    listed = asks[: len(NUMBERS)]
    return Offer(text=message.id, asks=tuple((ask.id, ask.draft.step) for ask in listed))


def to_content(made: Offer) -> dict[str, Any]:
    asks = [{"ask": ask_id, "step": step} for ask_id, step in made.asks]
    return {OFFER: {"text": made.text, "asks": asks}}


def from_content(content: Mapping[str, Any]) -> Offer | None:
    found = content.get(OFFER)
    if not isinstance(found, Mapping):
        return None
    text, asks = found.get("text"), found.get("asks")
    if not isinstance(text, str) or not isinstance(asks, list):
        return None
    pairs = [(a.get("ask"), a.get("step")) for a in asks if isinstance(a, Mapping)]
    known = tuple((a, s) for a, s in pairs if isinstance(a, str) and type(s) is int)
    return Offer(text=text, asks=known)
