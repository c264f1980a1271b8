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

SLACK = """
import asyncio, sys
import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

base, token, app_token, room = sys.argv[1:]

def plain(text):
    return {"type": "plain_text", "text": text}

keys = [
    {"type": "button", "action_id": name, "value": name, "text": plain(name)}
    for name in ("Yes", "No")
]
blocks = [
    {"type": "section", "text": plain("Is it right?")},
    {"type": "actions", "elements": keys},
]

async def send():
    await web.chat_postMessage(channel=room, text="Is it right?", blocks=blocks)

async def happened(client, request):
    if request.type == "interactive":
        hear(request.payload["actions"][0]["value"])
    response = SocketModeResponse(envelope_id=request.envelope_id)
    await client.send_socket_mode_response(response)

async def polling(serve):
    global web
    async with aiohttp.ClientSession() as session:
        web = AsyncWebClient(token=token, base_url=base, session=session)
        client = SocketModeClient(app_token=app_token, web_client=web)
        client.socket_mode_request_listeners.append(happened)
        await client.connect()
        await serve()
        await client.close()
"""
"""The least that asks in Slack and hears the answer. Its requests share a session, which the
library does not do by itself."""

DISCORD = """
import asyncio, sys
import aiohttp

base, token, room = sys.argv[1:]
headers = {"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
keys = [{"type": 2, "style": 1, "label": name, "custom_id": name} for name in ("Yes", "No")]
card = {"content": "Is it right?", "components": [{"type": 1, "components": keys}]}

async def call(method, path, body=None):
    async with http.request(method, f"{base}/v10{path}", json=body) as response:
        response.raise_for_status()
        return await response.json() if response.status == 200 else None

async def send():
    await call("POST", f"/channels/{room}/messages", card)

async def beat(socket, seconds):
    while True:
        await asyncio.sleep(seconds)
        await socket.send_json({"op": 1, "d": None})

async def listen():
    gateway = await call("GET", "/gateway/bot")
    async with http.ws_connect(gateway["url"] + "/?v=10&encoding=json") as socket:
        hello = await socket.receive_json()
        properties = {"os": "linux", "browser": "bare", "device": "bare"}
        about = {"token": token, "intents": 0, "properties": properties}
        await socket.send_json({"op": 2, "d": about})
        beating = asyncio.create_task(beat(socket, hello["d"]["heartbeat_interval"] / 1000))
        async for frame in socket:
            event = frame.json()
            if event.get("t") == "INTERACTION_CREATE":
                tap = event["d"]
                hear(tap["data"]["custom_id"])
                path = f"/interactions/{tap['id']}/{tap['token']}/callback"
                await call("POST", path, {"type": 6})

async def polling(serve):
    global http
    async with aiohttp.ClientSession(headers=headers) as http:
        listening = asyncio.create_task(listen())
        await serve()
        listening.cancel()
        await asyncio.wait({listening})
"""
"""The least that asks in Discord and hears the answer."""

NTFY = """
import asyncio, json, sys
import httpx

server, topic, answers = sys.argv[1:]
http = httpx.AsyncClient(base_url=server)
keys = [
    {"action": "http", "label": name, "url": f"{server}/{answers}", "body": name}
    for name in ("Yes", "No")
]
card = {"topic": topic, "title": "An agent", "message": "Is it right?", "actions": keys}

async def send():
    (await http.post("/", json=card)).raise_for_status()

async def listen():
    async with http.stream("GET", f"/{answers}/json", timeout=None) as stream:
        async for line in stream.aiter_lines():
            said = json.loads(line)
            if said["event"] == "message":
                hear(said["message"])

async def polling(serve):
    async with http:
        listening = asyncio.create_task(listen())
        await serve()
        listening.cancel()
        await asyncio.wait({listening})
"""
"""The least that asks through ntfy and hears the answer."""

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
