"""A Slack workspace on loopback: what people do in it, the Web API, and Socket Mode.

It refuses what Slack refuses, with Slack's codes and limits. What could not be confirmed by a real
workspace is in docs/decisions-channels.md.
"""

from __future__ import annotations

import mimetypes
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import web

from chatbridge.core.ports import Clock
from tests.fakes.http_server import serving_at
from tests.fakes.slack import blocks
from tests.fakes.slack.socket_mode import Sending
from tests.fakes.slack.web_api import Fault, WebApi
from tests.fakes.slack.workspace import APP, APP_TOKEN, BOT, BOT_TOKEN, TEAM, Json, Room

__all__ = ["APP_TOKEN", "BOT", "BOT_TOKEN", "Fault", "Room", "Sending", "Slack", "running_slack"]


class Slack(WebApi):
    async def say(
        self, user: str, room: Room, text: str, *, thread: str | None = None, **more: Any
    ) -> Sending:
        """`text` as typed: Slack escapes it."""
        for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(sign, entity)
        message = {"type": "message", "user": user, "text": text, "ts": self.time(), **more}
        if thread is not None:
            message |= {"thread_ts": thread, "parent_user_id": room.messages[thread]["user"]}
        return await self._happened(room, message)

    async def share(
        self,
        user: str,
        room: Room,
        files: Sequence[tuple[str, bytes]],
        *,
        text: str = "",
        voice: bool = False,
        thread: str | None = None,
        type: str = "",
    ) -> Sending:
        """Send a message with these files, each with its name."""
        listed = [self._kept(*each, voice=voice, type=type) for each in files]
        more: Json = {"subtype": "file_share", "upload": True, "files": listed}
        return await self.say(user, room, text, thread=thread, **more)

    def _kept(self, name: str, content: bytes, *, voice: bool, type: str) -> Json:
        number = f"F{next(self._numbers)}"
        kind = type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        self.kept.keep(number, content, kind)
        found: Json = {
            "id": number,
            "name": name,
            "title": name,
            "mimetype": kind,
            "mode": "hosted",
        }
        address = f"{self.base}/files-pri/{number}/download/{quote(name)}"
        found |= {"size": len(content), "is_external": False, "url_private_download": address}
        return found | ({"subtype": "slack_audio"} if voice else {})

    async def tap(
        self, user: str, room: Room, message: Json, action: Json, *, ago: float = 0.0
    ) -> Sending:
        """`ago`: for so long it was on its way."""
        trigger = f"{next(self._numbers)}.trigger"
        self._triggers[trigger] = self.clock.monotonic() - ago
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": self.people[user], "team_id": TEAM},
            "team": {"id": TEAM},
            "channel": {"id": room.id, "name": "team"},
            "container": {"type": "message", "message_ts": message["ts"], "channel_id": room.id},
            "message": message,
            "trigger_id": trigger,
            "actions": [action | {"action_ts": self.time()}],
        }
        return await self.send("interactive", payload)

    async def press(self, user: str, room: Room, message: Json, label: str) -> Sending:
        """Tap the button that is called so."""
        found = (
            {"type": "button", "value": each["value"], "block_id": block["block_id"]}
            for block in message["blocks"]
            for each in block.get("elements", ())
            if each["type"] == "button" and each["text"]["text"] == label
        )
        return await self.tap(user, room, message, next(found) | {"action_id": "0"})

    def bot_said(self, room: Room, text: str = "") -> list[Json]:
        """The bot's messages that have this in them, the oldest first."""
        mine = (each for each in room.messages.values() if each["user"] == BOT)
        return [each for each in mine if text in blocks.words(each.get("blocks"))]

    async def sees(self, room: Room, text: str) -> Json:
        """The bot's newest message that has this in it, once there is one."""
        found: list[Json] = await self.until(lambda: self.bot_said(room, text))
        return found[-1]

    async def command(self, user: str, room: Room, text: str) -> Sending:
        payload = {
            "command": "/chatbridge",
            "text": text,
            "user_id": user,
            "channel_id": room.id,
            "team_id": TEAM,
        }
        return await self.send("slash_commands", payload)

    async def submit(self, user: str, view: Json, text: str) -> Sending:
        block = view["blocks"][0]
        state = {block["block_id"]: {block["element"]["action_id"]: {"value": text}}}
        shown = view | {"state": {"values": state}}
        payload = {"type": "view_submission", "user": {"id": user}, "view": shown}
        return await self.send("interactive", payload)


@asynccontextmanager
async def running_slack(clock: Clock, *, app: str = APP) -> AsyncIterator[Slack]:
    slack = Slack(clock, app=app)
    async with serving(slack, socket.create_server(("127.0.0.1", 0))):
        yield slack


@asynccontextmanager
async def serving(slack: Slack, at: socket.socket) -> AsyncIterator[None]:
    """It can be reached there meanwhile. A socket that is bound has its address before."""
    served = web.Application(client_max_size=64 * 1024 * 1024)
    served.router.add_route("*", "/api/{method}", slack._call)
    served.router.add_get("/link", slack._link)
    served.router.add_get("/files-pri/{id}/download/{name}", slack._download)
    served.router.add_post("/upload/{name}", slack._upload)
    slack.base = f"http://127.0.0.1:{at.getsockname()[1]}"
    async with serving_at(at, served):
        try:
            yield
        finally:
            await slack.end()
