"""The pretended Discord as one server on a free port, and what people do with it."""

from __future__ import annotations

import asyncio
import secrets
import socket
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from chatbridge.core.ports import Clock
from tests.fakes.discord.gateway import GatewayServer
from tests.fakes.discord.limits import FILE_BYTES, VOICE, Json
from tests.fakes.discord.rest import COMMAND, COMPONENT, SUBMIT, Fault, Interaction, Rest
from tests.fakes.discord.world import Message, Room, User, World
from tests.fakes.http_server import serving_at

PATIENCE = 20.0


class Discord:
    def __init__(self, clock: Clock) -> None:
        self.clock: Any = clock
        """Whichever it is: a test may move its own."""
        self.world = World(clock)
        first = urlsafe_b64encode(self.world.bot.id.encode()).decode().rstrip("=")
        self.token = f"{first}.AbCdEf.{secrets.token_hex(19)}"
        self.gateway = GatewayServer(self.world, self.token)
        self.rest = Rest(self.world, self.gateway, self.token)
        self.port = 0
        self.address = ""

    @classmethod
    @asynccontextmanager
    async def running(cls, clock: Clock) -> AsyncIterator[Discord]:
        discord = cls(clock)
        async with discord.serving(socket.create_server(("127.0.0.1", 0))):
            yield discord

    @asynccontextmanager
    async def serving(self, at: socket.socket) -> AsyncIterator[None]:
        """It can be reached there meanwhile. A socket that is bound has its address before."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(self.rest.routes())
        app.add_routes([web.get("/attachments/{room}/{id}/{name}", self.world.give)])
        app.add_routes([web.get("/gateway{end:/?}", self.gateway.serve)])
        host, self.port = at.getsockname()
        self.address = f"http://{host}:{self.port}/api"
        self.world.cdn = f"http://{host}:{self.port}"
        self.gateway.url = f"ws://{host}:{self.port}/gateway"
        async with serving_at(at, app):
            yield

    def fault(self, path: str, *, times: int = 1, **fields: Any) -> Fault:
        """`path` is part of "POST /api/…"."""
        fault = Fault(path, times, **fields)
        self.rest.faults.append(fault)
        return fault

    # ── people ────────────────────────────────────────────────────────────────────────────────────

    def say(
        self,
        person: User,
        room: Room,
        text: str,
        *,
        reply_to: Message | None = None,
        mention: bool = True,
        files: Sequence[tuple[str, bytes]] = (),
        voice: bool = False,
    ) -> Message:
        """Write a message; a reply with the mention switched on, as it is by default."""
        replied = [reply_to.author] if reply_to is not None and mention else []
        bot = self.world.bot
        mentions = [*replied, *([bot] if f"<@{bot.id}>" in text else [])]
        return self.world.post(
            room,
            person,
            content=text,
            reply_to=reply_to,
            mentions=mentions,
            files=dict(files),
            flags=VOICE if voice else 0,
        )

    def tap(self, person: User, message: Message, data: str) -> Interaction:
        fields = {"custom_id": data, "component_type": 2}
        return self._interact(person, message.room, COMPONENT, fields, message)

    def pick(
        self, person: User, message: Message, values: Sequence[str], *, name: str | None = None
    ) -> Interaction:
        """Pick these options of the message's select, by what they carry."""
        fields = {
            "custom_id": name or message.select["custom_id"],
            "component_type": 3,
            "values": [*values],
        }
        return self._interact(person, message.room, COMPONENT, fields, message)

    def submit(self, person: User, opened: Interaction, text: str) -> Interaction:
        """Send the modal that this has opened."""
        modal = opened.modal
        assert modal is not None
        field = modal["components"][0]["component"]
        assert 0 < len(text) <= field.get("max_length", 4000)
        typed = {"type": 4, "custom_id": field["custom_id"], "value": text}
        components = [{"type": 18, "component": typed}]
        fields = {"custom_id": modal["custom_id"], "components": components}
        return self._interact(person, opened.room, SUBMIT, fields, opened.message)

    def command(self, person: User, room: Room, name: str, words: str = "") -> Interaction:
        fields: Json = {"id": "1", "name": name, "type": 1}
        if words:
            option = {"quiet": "time", "tell": "text"}[name]
            fields["options"] = [{"name": option, "type": 3, "value": words}]
        return self._interact(person, room, COMMAND, fields, None)

    def _interact(
        self, person: User, room: Room, kind: int, data: Json, message: Message | None
    ) -> Interaction:
        number, token = self.world.new_id(), secrets.token_hex(16)
        done = Interaction(number, token, kind, person, room, self.clock.time(), message)
        self.rest.interactions[number] = done
        event: Json = {
            "id": number,
            "application_id": self.world.bot.id,
            "type": kind,
            "token": token,
            "version": 1,
            "channel_id": room.id,
            "channel": room.json(),
            "data": data,
            "app_permissions": str(room.allows),
            "attachment_size_limit": FILE_BYTES,
            "authorizing_integration_owners": {"0": room.guild or "0"},
            "context": 0 if room.guild else 1,
            "entitlements": [],
            "locale": "en-US",
        }
        if room.guild:
            event |= {"guild_id": room.guild, "member": {"user": person.json()}}
        else:
            event["user"] = person.json()
        if message is not None:
            event["message"] = self.world.message_json(message, deep=False)
        self.gateway.dispatch("INTERACTION_CREATE", event, 0)
        return done

    async def until(self, fits: Callable[[], object]) -> None:
        """Until it is so; looked at after each change."""
        async with asyncio.timeout(PATIENCE):
            while not fits():
                self.world.changed.clear()
                await self.world.changed.wait()

    async def sees(self, room: Room, what: str | Callable[[Message], bool]) -> Message:
        """A message of the bot's that has this in it, or fits, once there is one; the newest."""

        def fits(message: Message) -> bool:
            return what in message.text if isinstance(what, str) else what(message)

        async with asyncio.timeout(PATIENCE):
            while True:
                self.world.changed.clear()
                said = [m for m in room.messages.values() if m.author.bot and fits(m)]
                if said:
                    return said[-1]
                await self.world.changed.wait()


async def answered(done: Interaction) -> Interaction:
    async with asyncio.timeout(PATIENCE):
        await done.answered.wait()
    return done
