"""One ask on each channel, against the documents' own targets: the card within 3 s, the result
within 2 s of the answer. Also cold: no hub runs, and the agent has just been started."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from tests.bench.chats import CHATS, Chat, hub_with
from tests.bench.latency import question
from tests.bench.machine import Client, Json, Machine, machine
from tests.bench.person import Person, person
from tests.bench.rooms import MatrixRoom, homeserver, matrix_room
from tests.bench.terminal import first_seen, once, watching
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Synapse

CARD_WITHIN, RESULT_WITHIN = 3.0, 2.0
READING = 0.5
"""Seconds that a person takes at least."""

Times = list[tuple[float, float]]
"""Seconds until the card was there, and from the answer until the result was read."""


class Owner(ABC):
    """Who answers, on one channel."""

    apart = 0.5
    """Seconds between two asks: no pause of a chat service's pace is part of a figure."""

    def __init__(self, here: Machine) -> None:
        self.machine = here

    @abstractmethod
    async def sees(self) -> None:
        """Once the card of the next ask is there."""

    @abstractmethod
    async def answers(self) -> None:
        """What was seen."""

    async def hub_goes(self) -> None:
        """Before the hub is stopped."""
        return


class OnPage(Owner):
    def __init__(self, here: Machine) -> None:
        super().__init__(here)
        self._stack = AsyncExitStack()
        self._page: Person | None = None
        self._ask = ""

    async def sees(self) -> None:
        if self._page is None:
            self._page = await self._stack.enter_async_context(person(self.machine))
        self._ask = (await self._page.sees())[0]

    async def answers(self) -> None:
        assert self._page
        await self._page.answer_all([self._ask])

    async def hub_goes(self) -> None:
        await self._stack.aclose()
        self._page = None


class InChat(Owner):
    def __init__(self, here: Machine, chat: Chat) -> None:
        super().__init__(here)
        self._chat = chat
        self.apart = max(self.apart, chat.apart)

    async def sees(self) -> None:
        await self._chat.sees()

    async def answers(self) -> None:
        await self._chat.answers()


class OnMatrix(Owner):
    def __init__(self, chat: MatrixRoom) -> None:
        super().__init__(chat.machine)
        self._ada, self._bot, self._room = chat.ada, chat.bot.user_id, chat.room
        self._known: set[str] = set()

    async def sees(self) -> None:
        card = await self._ada.sees(self._is_new, room=self._room)
        self._known.add(card.event_id)
        self._card = card

    def _is_new(self, message: Message) -> bool:
        asks = "Is number" in message.body and message.event_id not in self._known
        return asks and message.sender == self._bot

    async def answers(self) -> None:
        await self._ada.react(self._room, self._card.event_id, "👍")


@asynccontextmanager
async def _on_page() -> AsyncIterator[Owner]:
    async with machine() as here:
        owner = OnPage(here)
        yield owner
        await owner.hub_goes()


@asynccontextmanager
async def _in_chat(make: type[Chat]) -> AsyncIterator[Owner]:
    async with make.running() as chat, hub_with(chat) as here:
        yield InChat(here, chat)


@asynccontextmanager
async def _on_matrix(synapse: Synapse, *, encrypted: bool) -> AsyncIterator[Owner]:
    async with matrix_room(synapse, encrypted=encrypted) as chat:
        yield OnMatrix(chat)


async def one_ask(rounds: int, cold_rounds: int) -> Json:
    async with homeserver() as synapse:
        owners: dict[str, AbstractAsyncContextManager[Owner]] = {
            "web": _on_page(),
            **{name: _in_chat(chat) for name, chat in CHATS.items()},
            "matrix": _on_matrix(synapse, encrypted=False),
            "matrix_encrypted": _on_matrix(synapse, encrypted=True),
        }
        found = {}
        for name, entering in owners.items():
            async with entering as owner:
                warm = await _warm(owner, rounds)
                cold = [await _cold(owner, rounds + number) for number in range(cold_rounds)]
                found[name] = {"warm": worst(warm), "cold": worst(cold)}
    found["terminal"] = await _terminal(rounds, cold_rounds)
    return found


async def _warm(owner: Owner, rounds: int) -> Times:
    """The first does not count: it brings the hub and its channel up."""
    times = []
    async with owner.machine.link() as link:
        await link.list_tools()
        for number in range(rounds + 1):
            times.append(await _round(owner, link, number, time.perf_counter()))
            await asyncio.sleep(owner.apart)
    return times[1:]


async def _cold(owner: Owner, number: int) -> tuple[float, float]:
    """From the start of the agent's link on, which has to start a hub first."""
    await owner.hub_goes()
    await owner.machine.stop()
    async with owner.machine.link() as link:
        await link.initialize()
        return await _round(owner, link, number + 1, link.spawned_at)


async def _round(owner: Owner, link: Client, number: int, began: float) -> tuple[float, float]:
    link.request(number + 10, "tools/call", question(number))
    await owner.sees()
    shown = time.perf_counter() - began
    await asyncio.sleep(READING)
    began = time.perf_counter()
    answering = asyncio.ensure_future(owner.answers())
    result = await link.receive()
    heard = time.perf_counter() - began
    assert result["result"]["structuredContent"]["answered"], result
    await answering
    return shown, heard


async def _terminal(rounds: int, cold_rounds: int) -> Json:
    async with machine() as here:
        await here.begin()
        async with watching(here) as seen:
            warm = [await once(here, seen.get) for _ in range(rounds)]
        cold = []
        for _ in range(cold_rounds):
            await here.stop()
            cold.append(await once(here, lambda: first_seen(here)))
    return {"warm": worst(warm), "cold": worst(cold)}


def worst(times: Times) -> Json:
    """A target is for each of them, so the slowest counts."""
    return {
        "rounds": len(times),
        "card_ms": round(max(shown for shown, _ in times) * 1000, 1),
        "result_ms": round(max(heard for _, heard in times) * 1000, 1),
    }
