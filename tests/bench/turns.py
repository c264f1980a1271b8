"""How long a question takes to a chat and an answer back to the agent, beside bare programs on the
same library that do only that. The programs take turns, round by round.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.bench.chats import Chat, bare, hub_with
from tests.bench.latency import question
from tests.bench.machine import Client, Json, percentiles
from tests.bench.programs import SCRIPT, SERVER

CHATS = 4
"""So many chats of each program take turns."""
WARM = 2
"""Rounds in each chat that do not count."""


@dataclass(slots=True)
class Times:
    """In seconds."""

    out: list[float] = field(default_factory=list)
    """From the call until its message is there."""
    back: list[float] = field(default_factory=list)
    """From the answer until its result is read."""
    toast: list[float] = field(default_factory=list)
    """From the answer until the service is told that it was taken, where it waits for that."""

    def figures(self) -> Json:
        named = {"out_ms": self.out, "back_ms": self.back, "toast_ms": self.toast}
        return {name: percentiles(found) for name, found in named.items() if found}


class Side(ABC):
    """One program and the place that it writes to."""

    def __init__(self, program: Client, way_in: str = "") -> None:
        """`way_in` of a bare program."""
        self._program = program
        self._by_line = way_in == SCRIPT
        self._rounds = 0

    @abstractmethod
    async def settles(self) -> None:
        """Once nothing of before is going on any more, and an answer would be heard."""

    @abstractmethod
    async def sees(self) -> float:
        """When the next card was there."""

    @abstractmethod
    async def answers(self) -> float | None:
        """Say yes to it; when the service was told that this was taken, where it waits for it."""

    async def round(self, times: Times) -> None:
        self._rounds += 1
        await self.settles()
        began = time.time()
        self._ask()
        times.out.append(await self.sees() - began)
        await self.settles()
        began = time.time()
        answering = asyncio.ensure_future(self.answers())
        result = await self._program.receive()
        times.back.append(time.time() - began)
        assert "error" not in result, result
        if taken := await answering:
            times.toast.append(taken - began)

    def _ask(self) -> None:
        if self._by_line:
            self._program.send({"number": self._rounds})
        else:
            self._program.request(self._rounds + 10, "tools/call", question(self._rounds))


Programs = Mapping[str, Callable[[], AbstractAsyncContextManager[Side]]]


async def in_turns(
    programs: Programs, rounds: int, *, warm: int, chats: int = 1, apart: float = 0.0
) -> Json:
    """So many rounds of each program; `apart`: at least so many seconds between two in one chat."""
    async with AsyncExitStack() as stack:
        sides = [
            {name: await stack.enter_async_context(make()) for name, make in programs.items()}
            for _ in range(chats)
        ]
        for number in range(-warm * chats, rounds):
            if number in (-warm * chats, 0):
                times = {name: Times() for name in programs}
            next_at = time.monotonic() + apart / chats
            for name, side in sides[number % chats].items():
                await side.round(times[name])
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))
    return {"rounds": rounds, **{name: found.figures() for name, found in times.items()}}


class ChatSide(Side):
    def __init__(self, chat: Chat, program: Client, way_in: str = "") -> None:
        super().__init__(program, way_in)
        self._chat = chat

    async def settles(self) -> None:
        await self._chat.listened_to()

    async def sees(self) -> float:
        return await self._chat.sees()

    async def answers(self) -> float | None:
        return await self._chat.answers()


@asynccontextmanager
async def _ours(make: type[Chat]) -> AsyncIterator[Side]:
    async with make.running() as chat, hub_with(chat) as here, here.link() as link:
        await link.list_tools()
        yield ChatSide(chat, link)


@asynccontextmanager
async def _bare(make: type[Chat], way_in: str) -> AsyncIterator[Side]:
    async with make.running() as chat, bare(chat, way_in) as program:
        yield ChatSide(chat, program, way_in)


async def round_trips(chat: type[Chat], rounds: int) -> Json:
    """Each program has test servers of its own, on loopback and in this process. Rounds are as far
    apart as the service's pace wants it: a pause is the service's, not ours."""
    programs: Programs = {
        "ours": lambda: _ours(chat),
        "script": lambda: _bare(chat, SCRIPT),
        "server": lambda: _bare(chat, SERVER),
    }
    return await in_turns(programs, rounds, warm=WARM, chats=CHATS, apart=chat.apart)
