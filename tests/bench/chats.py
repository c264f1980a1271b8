"""Machines whose hub is connected to a chat service, and the bare programs beside them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from chatbridge.channels.matrix.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.bench.machine import Client, Machine, client, machine
from tests.bench.programs import MATRIX, SERVER, TELEGRAM
from tests.fakes.chat_settings import matrix_settings, telegram_settings
from tests.fakes.matrix_hub import new_bot
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Login, Synapse
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramChat:
    """A hub with a bot, and its owner's phone."""

    machine: Machine
    api: BotApi
    phone: Phone


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRoom:
    """A hub with an account in a room of its owner's."""

    machine: Machine
    ada: Person
    bot: Login
    room: str


@asynccontextmanager
async def telegram_chat() -> AsyncIterator[TelegramChat]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        async with machine(**telegram_settings(api, ada)) as here:
            yield TelegramChat(machine=here, api=api, phone=phone)


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
            remove_lock(bot)


def remove_lock(bot: Login) -> None:
    """Every run has bots of its own."""
    Path(account_lock_path(account_lock(bot.user_id).id)).unlink(missing_ok=True)


@asynccontextmanager
async def bare_telegram(way_in: str) -> AsyncIterator[tuple[BotApi, Phone, Client]]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        chat = api.private(ada)
        words = [sys.executable, "-c", TELEGRAM + way_in, api.token, api.address, str(chat.id)]
        async with machine() as here, client(words, here.environment) as program:
            if way_in == SERVER:
                await program.list_tools()
            yield api, chat.phone(ada), program


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
