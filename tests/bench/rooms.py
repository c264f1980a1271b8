"""Machines whose hub is in a Matrix room, on a real homeserver, and the bare program beside."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from chatbridge.channels.matrix.spec import account_lock
from tests.bench.chats import remove_lock
from tests.bench.machine import Client, Machine, client, machine
from tests.bench.programs import MATRIX, SCRIPT, SERVER
from tests.fakes.chat_settings import matrix_settings
from tests.fakes.matrix_hub import new_bot
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Login, Synapse


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRoom:
    """A hub with an account in a room of its owner's."""

    machine: Machine
    ada: Person
    bot: Login
    room: str


@asynccontextmanager
async def homeserver() -> AsyncIterator[Synapse]:
    with (
        tempfile.TemporaryDirectory(prefix="cb-") as folder,
        Synapse.running(Path(folder)) as synapse,
    ):
        yield synapse


@asynccontextmanager
async def matrix_room(synapse: Synapse, *, encrypted: bool) -> AsyncIterator[MatrixRoom]:
    _, bot = await asyncio.to_thread(new_bot, synapse)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cb-")))
        ada = await stack.enter_async_context(
            Person.online(synapse, "Ada", folder, encrypted=encrypted)
        )
        room = await ada.create_room("agents", invite=[bot.user_id], encrypted=encrypted)
        settings = matrix_settings(synapse, bot, ada.user_id, room=room)
        here = await stack.enter_async_context(machine(**settings))
        try:
            yield MatrixRoom(machine=here, ada=ada, bot=bot, room=room)
        finally:
            await here.stop()
            remove_lock(account_lock(bot.user_id).id)


@asynccontextmanager
async def bare_matrix(
    synapse: Synapse, bot: Login, room: str, way_in: str
) -> AsyncIterator[Client]:
    account = [synapse.address, bot.user_id, bot.access_token, room]
    words = [sys.executable, "-c", MATRIX + way_in, *account]
    async with machine() as here, client(words, here.environment) as program:
        if way_in == SERVER:
            await program.list_tools()
        yield program


@asynccontextmanager
async def bare_account(synapse: Synapse) -> AsyncIterator[Client]:
    """In a room of its own, with nobody else."""
    _, bot = await asyncio.to_thread(new_bot, synapse)
    room = synapse.request("POST", "/_matrix/client/v3/createRoom", {}, token=bot.access_token)
    async with bare_matrix(synapse, bot, str(room["room_id"]), SCRIPT) as program:
        yield program
