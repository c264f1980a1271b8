"""What links, hubs and bare programs weigh, one at a time; and what asks leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

from tests.bench.chats import CHATS, Chat, bare, hub_with
from tests.bench.latency import LINKS, answer_all, ask_all
from tests.bench.machine import Json, Machine, machine, pss
from tests.bench.person import person
from tests.bench.programs import SCRIPT
from tests.bench.rooms import bare_account, homeserver, matrix_room
from tests.fakes.synapse import Synapse

SETTLED = 3.0
"""Seconds until what a start begins has been finished."""
CACHED = 3_000
"""So many asks fill the hub's own memory of the newest ones."""

Pid = Callable[[], AbstractAsyncContextManager[int]]


async def memory(links: int, asks: int) -> Json:
    return {**await _links(links), **await _programs(), **await _left_behind(asks)}


async def _links(rounds: int) -> Json:
    weights = []
    async with machine() as here:
        await here.begin()
        for _ in range(rounds):
            async with here.link() as link:
                await link.list_tools()
                weights.append(pss(link.pid))
    return {"link_mb": round(max(weights), 1)}


async def _programs() -> Json:
    async with homeserver() as synapse:
        programs: dict[str, Pid] = {
            "hub_mb": lambda: _hub(machine()),
            "hub_matrix_mb": lambda: _matrix(synapse, encrypted=False),
            "hub_matrix_encrypted_mb": lambda: _matrix(synapse, encrypted=True),
            "standalone_mb": _standalone,
            "sdk_mb": _sdk,
            "bare_matrix_mb": lambda: _bare_matrix(synapse),
        }
        for name, chat in CHATS.items():
            programs[f"hub_{name}_mb"] = partial(_with_chat, chat)
            programs[f"bare_{name}_mb"] = partial(_bare_with_chat, chat)
        found = {}
        for name, program in programs.items():
            async with program() as pid:
                await asyncio.sleep(SETTLED)
                found[name] = round(pss(pid), 1)
    return found


@asynccontextmanager
async def _hub(here: AbstractAsyncContextManager[Machine]) -> AsyncIterator[int]:
    async with here as it:
        await it.begin()
        yield it.hub()


@asynccontextmanager
async def _with_chat(make: type[Chat]) -> AsyncIterator[int]:
    async with make.running() as chat, hub_with(chat) as here:
        await here.begin()
        await chat.listened_to()
        yield here.hub()


@asynccontextmanager
async def _bare_with_chat(make: type[Chat]) -> AsyncIterator[int]:
    async with make.running() as chat, bare(chat, SCRIPT) as program:
        await chat.listened_to()
        yield program.pid


@asynccontextmanager
async def _matrix(synapse: Synapse, *, encrypted: bool) -> AsyncIterator[int]:
    async with matrix_room(synapse, encrypted=encrypted) as chat:
        await chat.machine.begin()
        await chat.ada.sees_member(chat.room, chat.bot.user_id)
        yield chat.machine.hub()


@asynccontextmanager
async def _standalone() -> AsyncIterator[int]:
    async with machine() as here, here.link("--standalone") as both:
        await both.list_tools()
        yield both.pid


@asynccontextmanager
async def _sdk() -> AsyncIterator[int]:
    async with machine() as here, here.reference() as server:
        await server.list_tools()
        yield server.pid


@asynccontextmanager
async def _bare_matrix(synapse: Synapse) -> AsyncIterator[int]:
    async with bare_account(synapse) as program:
        yield program.pid


async def _left_behind(asks: int) -> Json:
    """By how much the hub has grown after so many asks came and went, beyond those that it holds in
    memory anyway."""
    async with machine() as here, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(here.link()) for _ in range(LINKS)]
        for link in clients:
            await link.list_tools()
        somebody = await stack.enter_async_context(person(here))
        each = min(100, asks // LINKS)
        weights = []
        for count in (CACHED * asks // 10_000, asks):
            for _ in range(0, count, each * LINKS):
                await answer_all(clients, somebody, await ask_all(clients, somebody, each))
            await asyncio.sleep(SETTLED)
            weights.append(pss(here.hub()))
    return {"asks": asks, "before_mb": round(weights[0], 1), "after_mb": round(weights[1], 1)}
