"""What the bot says beside cards: silent answers to what somebody wrote or tapped, and work that
nobody has to wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.disambiguation import Offer, to_content
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Clock

TRIES = 5

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class Voice:
    def __init__(self, api: Api, *, clock: Clock, spawn: Spawn) -> None:
        """`spawn` runs what nobody has to wait for."""
        self.spawn = spawn
        self._api = api
        self._clock = clock

    def say(self, drawing: Words, *, to: RoomEvent, root: str | None = None) -> None:
        """A notice about what somebody did: in the thread of `root`, or where they wrote. Whether
        it arrives or not, what they did has been dealt with."""
        self.spawn(self._say(drawing, to, root))

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
