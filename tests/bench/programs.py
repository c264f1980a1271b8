"""What one would write without chatbridge: the least that asks in a chat and hears the answer.

A chat's part and a way in are one program together.
"""

from __future__ import annotations

TELEGRAM = """
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

MATRIX = """
import asyncio, sys
from nio import AsyncClient, ReactionEvent

address, user, token, room = sys.argv[1:]
client = AsyncClient(address, user)
client.user_id, client.access_token = user, token

async def send():
    body = {"msgtype": "m.text", "body": "Is it right?"}
    await client.room_send(room, "m.room.message", body)

async def reacted(where, event):
    if event.sender != user:
        hear(event.key)

async def polling(serve):
    await client.join(room)
    await client.sync(timeout=0, full_state=True)
    client.add_event_callback(reacted, ReactionEvent)
    syncing = asyncio.create_task(client.sync_forever(timeout=30000))
    await serve()
    syncing.cancel()
    await asyncio.wait({syncing})
    await client.close()
"""
"""The least that asks in Matrix and hears the answer."""

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
"""Behind nothing: for each line a message, for each tap or reaction a line."""

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
