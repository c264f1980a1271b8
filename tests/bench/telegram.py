"""How long a question takes to Telegram and a tap back to the agent, beside bare programs on
python-telegram-bot that do only that.

All talk to a Bot API of their own on loopback, in this process; what arrives there is timed there.
Rounds in one chat are as far apart as Telegram's pace wants it, so that no pause is part of a
figure: a pause is Telegram's, not ours. The programs take turns, round by round.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.bench.latency import question
from tests.bench.machine import Client, Json, client, machine, percentiles
from tests.fakes.house import telegram_settings
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

APART = 2.0
"""Seconds between two rounds in one chat: a card and its two edits cost 1.8 s of the pace."""
CHATS = 4
"""So many chats of each program take turns."""
WARM = 2
"""Rounds in each chat that do not count."""

BARE = """
import asyncio, os, sys
os.environ.setdefault("PTB_TIMEDELTA", "true")
from telegram import InlineKeyboardButton, InlineKeyboardMarkup
from telegram.ext import ApplicationBuilder, CallbackQueryHandler

token, base, chat = sys.argv[1], sys.argv[2], int(sys.argv[3])
keys = [[InlineKeyboardButton(name, callback_data=name) for name in ("Yes", "No")]]
app = ApplicationBuilder().token(token).base_url(base + "/bot").build()

async def send():
    await app.bot.send_message(chat, "Is it right?", reply_markup=InlineKeyboardMarkup(keys))

async def tapped(update, context):
    hear(update.callback_query.data)
    await update.callback_query.answer("Sent")

async def polling(serve):
    app.add_handler(CallbackQueryHandler(tapped))
    async with app:
        await app.start()
        await app.updater.start_polling(timeout=50)
        await serve()
        await app.updater.stop()
        await app.stop()
"""
"""The least that asks in Telegram and hears the answer."""

SCRIPT = """
def hear(choice):
    print('{"heard": "Yes"}', flush=True)

async def serve():
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while await lines.readline():
        await send()

asyncio.run(polling(serve))
"""
"""Behind nothing: for each line a message, for each tap a line."""

SERVER = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

heard = asyncio.Queue()
hear = heard.put_nowait

async def list_tools(ctx, params):
    schema = {"type": "object"}
    return types.ListToolsResult(tools=[types.Tool(name="ask_user", input_schema=schema)])

async def call_tool(ctx, params):
    await send()
    return types.CallToolResult(content=[types.TextContent(type="text", text=await heard.get())])

async def serve():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(polling, serve)
"""
"""Behind a minimal server on the official SDK: what an agent could call without chatbridge."""


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
            "call_to_message_ms": percentiles(self.out),
            "tap_to_result_ms": percentiles(self.back),
            "tap_to_toast_ms": percentiles(self.toast),
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
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        async with machine(**telegram_settings(api, ada)) as here, here.link() as link:
            await link.list_tools()
            yield Side(api=api, phone=phone, program=link, ask=_call)


@asynccontextmanager
async def bare(way_in: str) -> AsyncIterator[Side]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        chat = api.private(ada)
        words = [sys.executable, "-c", BARE + way_in, api.token, api.address, str(chat.id)]
        async with machine() as here, client(words, here.environment) as program:
            if way_in == SERVER:
                await program.list_tools()
            ask = _call if way_in == SERVER else _line
            yield Side(api=api, phone=chat.phone(ada), program=program, ask=ask)


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
