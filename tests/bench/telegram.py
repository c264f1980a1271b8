"""How long a question takes to Telegram and a tap back to the agent, beside bare programs on
python-telegram-bot that do only that.

All talk to a Bot API of their own on loopback, in this process; what arrives there is timed there.
Rounds in one chat are as far apart as Telegram's pace wants it, so that no pause is part of a
figure: a pause is Telegram's, not ours. The programs take turns, round by round.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.bench.chats import bare_telegram, telegram_chat
from tests.bench.latency import question
from tests.bench.machine import Client, Json, percentiles
from tests.bench.programs import SCRIPT, SERVER
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

APART = 2.0
"""Seconds between two rounds in one chat: a card and its two edits cost 1.8 s of the pace."""
CHATS = 4
"""So many chats of each program take turns."""
WARM = 2
"""Rounds in each chat that do not count."""


@dataclass(slots=True)
class Times:
    """In seconds."""

    out: list[float] = field(default_factory=list)
    """From the call until its message arrives at the Bot API."""
    back: list[float] = field(default_factory=list)
    """From the tap until its result is read."""
    toast: list[float] = field(default_factory=list)
    """From the tap until its answer arrives at the Bot API."""

    def figures(self) -> Json:
        return {
            "out_ms": percentiles(self.out),
            "back_ms": percentiles(self.back),
            "toast_ms": percentiles(self.toast),
        }


@dataclass(slots=True, kw_only=True)
class Side:
    """One program and the chat that it writes to."""

    api: BotApi
    phone: Phone
    program: Client
    ask: Callable[[Client, int], None]
    rounds: int = 0

    async def round(self, times: Times) -> None:
        self.rounds += 1
        sent, toasts = self._count("sendMessage"), self._count("answerCallbackQuery")
        began = time.time()
        self.ask(self.program, self.rounds)
        times.out.append(await self._arrived("sendMessage", sent) - began)
        await asyncio.to_thread(self.api.until, lambda api: api.polling)
        card = self.phone.messages[-1]
        tapped = time.time()
        self.phone.tap(card, "Yes")
        result = await self.program.receive()
        times.back.append(time.time() - tapped)
        assert "error" not in result, result
        times.toast.append(await self._arrived("answerCallbackQuery", toasts) - tapped)

    def _count(self, method: str) -> int:
        return len(self.api.calls(method))

    async def _arrived(self, method: str, number: int) -> float:
        """When the request with this number arrived."""
        await asyncio.to_thread(self.api.until, lambda _: self._count(method) > number)
        return self.api.calls(method)[number].at


def _call(program: Client, number: int) -> None:
    program.request(number + 10, "tools/call", question(number))


def _line(program: Client, number: int) -> None:
    program.send({"number": number})


@asynccontextmanager
async def ours() -> AsyncIterator[Side]:
    async with telegram_chat() as chat, chat.machine.link() as link:
        await link.list_tools()
        yield Side(api=chat.api, phone=chat.phone, program=link, ask=_call)


@asynccontextmanager
async def bare(way_in: str) -> AsyncIterator[Side]:
    async with bare_telegram(way_in) as (api, phone, program):
        ask = _call if way_in == SERVER else _line
        yield Side(api=api, phone=phone, program=program, ask=ask)


async def telegram(rounds: int) -> Json:
    """So many rounds of each program, in turns."""
    programs: dict[str, Callable[[], AbstractAsyncContextManager[Side]]] = {
        "ours": ours,
        "script": lambda: bare(SCRIPT),
        "server": lambda: bare(SERVER),
    }
    async with AsyncExitStack() as stack:
        chats = [
            {name: await stack.enter_async_context(make()) for name, make in programs.items()}
            for _ in range(CHATS)
        ]
        for number in range(-WARM * CHATS, rounds):
            if number in (-WARM * CHATS, 0):
                times = {name: Times() for name in programs}
            next_at = time.monotonic() + APART / CHATS
            for name, side in chats[number % CHATS].items():
                await side.round(times[name])
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))
    return {"rounds": rounds, **{name: found.figures() for name, found in times.items()}}
