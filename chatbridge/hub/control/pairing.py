"""Requests of `chatbridge pair` and `chatbridge setup`: a code, who brought it, and the greeting.

Allows nobody anything: the command changes the settings once its person has confirmed who it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict, dataclass

from chatbridge.core.errors import NotPaired
from chatbridge.core.pairing import Bot, Claim, Code, Pairing
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race
from chatbridge.core.text import title_of
from chatbridge.hub.control.server import Json, Request

UP_WITHIN_SECONDS = 20.0
"""A hub that has just started takes a moment to reach its bot."""


@dataclass(frozen=True, slots=True)
class TerminalPairing:
    pairing: Pairing
    channel: str
    """The one whose bot takes the codes."""
    clock: Clock
    troubles: Callable[[], Mapping[str, str | None]]
    up_within: float = UP_WITHIN_SECONDS

    async def pair(self, _request: Request) -> AsyncGenerator[Json, None]:
        """A code; then who brought it, or that nobody did."""
        bot = await self._bot()
        with self.pairing.opened() as code:
            yield {"code": code.text, "link": bot.address(code.payload), "until": code.until}
            claim = await self._claim(code)
            yield {"claimed": asdict(claim)} if claim else {"over": True}

    async def greet(self, request: Request) -> Json:
        """Says in a chat that it is paired, if it is."""
        chat = request.given.get("chat")
        if type(chat) is not int:
            raise NotPaired("chat: a chat's number is needed")
        bot = await self._bot()
        await bot.greet(chat)
        return {}

    async def _bot(self) -> Bot:
        troubles = self.troubles()
        if self.channel not in troubles:
            raise NotPaired(f"{title_of(self.channel)} is not set up. Run: chatbridge setup")
        try:
            async with asyncio.timeout(self.up_within):
                return await self.pairing.bot()
        except TimeoutError:
            why = self.troubles().get(self.channel) or f"{self.channel} cannot be reached yet"
            raise NotPaired(why) from None

    async def _claim(self, code: Code) -> Claim | None:
        """None: nobody brought it in time."""
        await race(code.claimed.wait(), self.clock.sleep(code.until - self.clock.time()))
        return code.claim
