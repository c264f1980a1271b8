"""Requests of `chatbridge pair` and `chatbridge setup`: a code, who brought it, and the greeting.

Nobody is allowed anything here: that is in the settings, which the command changes once its person
has confirmed who it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict
from typing import Any

from chatbridge.core.errors import NotPaired
from chatbridge.core.pairing import Bot, Claim, Code, Pairing
from chatbridge.core.ports import Clock
from chatbridge.core.text import title_of
from chatbridge.hub.control.server import Json, Request

UP_WITHIN = 20.0
"""A hub that has just started takes a moment to reach its bot."""


class TerminalPairing:
    def __init__(
        self,
        pairing: Pairing,
        *,
        channel: str,
        clock: Clock,
        troubles: Callable[[], Mapping[str, str | None]],
        up_within: float = UP_WITHIN,
    ) -> None:
        """`channel` is the one whose bot takes the codes."""
        self._pairing = pairing
        self._channel = channel
        self._clock = clock
        self._troubles = troubles
        self._up_within = up_within

    async def pair(self, _request: Request) -> AsyncGenerator[Json, None]:
        """A code; then who brought it, or that nobody did."""
        bot = await self._bot()
        with self._pairing.opened() as code:
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
        troubles = self._troubles()
        if self._channel not in troubles:
            raise NotPaired(f"{title_of(self._channel)} is not set up. Run: chatbridge setup")
        try:
            async with asyncio.timeout(self._up_within):
                return await self._pairing.bot()
        except TimeoutError:
            why = self._troubles().get(self._channel) or f"{self._channel} cannot be reached yet"
            raise NotPaired(why) from None

    async def _claim(self, code: Code) -> Claim | None:
        """None: nobody brought it in time."""
        brought = asyncio.ensure_future(code.claimed.wait())
        ending = asyncio.ensure_future(self._clock.sleep(code.until - self._clock.time()))
        either: set[asyncio.Future[Any]] = {brought, ending}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()
        return code.claim
