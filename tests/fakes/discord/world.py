"""Who and what is on the pretended Discord: people, a server's channels, chats, messages, and what
each of them may see."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import quote

from aiohttp import web

from chatbridge.core.ports import Clock
from tests.fakes.discord.limits import V2, Json, Refused
from tests.fakes.kept_files import KeptFiles

EPOCH = 1_420_070_400.0
VIEW, SEND, EMBED, ATTACH, HISTORY, REACT = 1 << 10, 1 << 11, 1 << 14, 1 << 15, 1 << 16, 1 << 6
MESSAGE_CONTENT = 1 << 15
SIGNED_SECONDS = 24 * 3600
NONCE_LASTS = 300.0
"""Discord says: a few minutes."""


@dataclass(slots=True, eq=False)
class User:
    id: str
    username: str
    bot: bool = False
    takes_messages: bool = True
    on_server: bool = True

    def json(self) -> Json:
        return {
            "id": self.id,
            "username": self.username.lower(),
            "global_name": None if self.bot else self.username,
            "bot": self.bot,
            "discriminator": "0",
            "avatar": None,
        }


@dataclass(slots=True, eq=False)
class Message:
    id: str
    room: Room
    author: User
    content: str = ""
    components: list[Json] = field(default_factory=list)
    flags: int = 0
    mentions: list[User] = field(default_factory=list)
    reply_to: Message | None = None
    nonce: str | None = None
    at: float = 0.0
    edited: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    """What is said of each file, for those who do not see it."""
    reactions: list[str] = field(default_factory=list)
    mention_everyone: bool = False

    @property
    def text(self) -> str:
        """The markdown of a message of either kind."""
        parts = (each.get("content", "") for each in self.components if each.get("type") == 10)
        return "\n".join(filter(None, (self.content, *parts)))

    @property
    def keys(self) -> list[Json]:
        """Buttons and selects."""
        rows = (each for each in self.components if each.get("type") == 1)
        return [key for row in rows for key in row["components"]]

    def key(self, label: str) -> Json:
        return next(key for key in self.keys if key.get("label") == label)

    @property
    def select(self) -> Json:
        return next(key for key in self.keys if key["type"] == 3)

    @property
    def silent(self) -> bool:
        return bool(self.flags & (1 << 12))


@dataclass(slots=True, eq=False)
class Room:
    id: str
    people: list[User]
    guild: str | None = None
    allows: int = VIEW | SEND | ATTACH | HISTORY
    """The bot's permissions there."""
    messages: dict[str, Message] = field(default_factory=dict)

    def json(self) -> Json:
        kind = 0 if self.guild else 1
        found: Json = {"id": self.id, "type": kind}
        if self.guild:
            return {**found, "guild_id": self.guild, "name": "agents"}
        return {**found, "recipients": [user.json() for user in self.people if not user.bot]}


class World:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._ids = count(1)
        self.users: dict[str, User] = {}
        self.rooms: dict[str, Room] = {}
        self.guild = self.new_id()
        self.bot = self.user("chatbridge", bot=True)
        self.owner: User | None = None
        self.on_server = True
        self.reads_content = False
        """The message-content intent is switched on in the Developer Portal."""
        self.dispatch: Callable[[str, Json, int], None] = lambda name, data, intent: None
        self.changed = asyncio.Event()
        self.cdn = ""
        self.kept = KeptFiles()

    def new_id(self) -> str:
        return str((int((self.clock.time() - EPOCH) * 1000) << 22) + next(self._ids))

    def user(self, name: str, *, bot: bool = False) -> User:
        user = User(self.new_id(), name, bot)
        self.users[user.id] = user
        return user

    def channel(self, *people: User) -> Room:
        room = Room(self.new_id(), [*people, self.bot], guild=self.guild)
        self.rooms[room.id] = room
        return room

    def direct(self, person: User) -> Room:
        known = (room for room in self.rooms.values() if not room.guild and person in room.people)
        room = next(known, None) or Room(self.new_id(), [person, self.bot])
        self.rooms[room.id] = room
        return room

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    def post(self, room: Room, author: User, **fields: Any) -> Message:
        message = Message(self.new_id(), room, author, at=self.clock.time(), **fields)
        room.messages[message.id] = message
        data = self.message_json(message)
        if room.guild:
            data["guild_id"] = room.guild
        if author is self.bot and message.nonce:
            data["nonce"] = message.nonce
        self.dispatch("MESSAGE_CREATE", data, 1 << 9 if room.guild else 1 << 12)
        self.changed.set()
        return message

    def edit(self, message: Message, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(message, name, value)
        message.edited += 1
        room = message.room
        data = self.message_json(message) | ({"guild_id": room.guild} if room.guild else {})
        self.dispatch("MESSAGE_UPDATE", data, 1 << 9 if room.guild else 1 << 12)
        self.changed.set()

    def delete(self, message: Message) -> None:
        del message.room.messages[message.id]
        data = {"id": message.id, "channel_id": message.room.id}
        self.dispatch("MESSAGE_DELETE", data, 1 << 9 if message.room.guild else 1 << 12)
        self.changed.set()

    def same_nonce(self, room: Room, nonce: str) -> Message | None:
        since = self.clock.time() - NONCE_LASTS
        return next((m for m in room.messages.values() if m.nonce == nonce and m.at >= since), None)

    def message_json(self, message: Message, *, deep: bool = True) -> Json:
        """As the bot sees it."""
        room, author = message.room, message.author
        readable = (
            self.reads_content
            or room.guild is None
            or author is self.bot
            or self.bot in message.mentions
        )
        found: Json = {
            "id": message.id,
            "channel_id": room.id,
            "author": author.json(),
            "type": 19 if message.reply_to else 0,
            "content": message.content if readable else "",
            "components": message.components if readable else [],
            "attachments": self._attached(message) if readable else [],
            "embeds": [],
            "mention_roles": [],
            "pinned": False,
            "tts": False,
            "mentions": [user.json() for user in message.mentions],
            "mention_everyone": message.mention_everyone,
            "flags": message.flags,
            "timestamp": datetime.fromtimestamp(message.at, UTC).isoformat(),
            "edited_timestamp": None,
        }
        if replied := message.reply_to:
            found["message_reference"] = {
                "type": 0,
                "message_id": replied.id,
                "channel_id": room.id,
            }
            if deep:
                there = replied.id in room.messages
                found["referenced_message"] = (
                    self.message_json(replied, deep=False) if there else None
                )
        return found

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    def _attached(self, message: Message) -> list[Json]:
        """The addresses are signed anew each time, for a day."""
        found = []
        for i, (name, content) in enumerate(message.files.items()):
            number, kind = f"{message.id}{i}", mimetypes.guess_type(name)[0] or "text/plain"
            self.kept.keep(number, content, kind)
            path = f"/attachments/{message.room.id}/{number}/{quote(name)}"
            until = int(self.clock.time() + SIGNED_SECONDS)
            address = f"{self.cdn}{path}?ex={until:x}&is=0&hm={_signature(path, until)}&"
            found.append(
                {"id": number, "filename": name, "size": len(content), "content_type": kind}
            )
            found[-1] |= {"url": address, "proxy_url": address}
        return found

    async def give(self, request: web.Request) -> web.StreamResponse:
        """A file, to whoever has its address."""
        number, asked = request.match_info["id"], request.query
        self.kept.asked(request, number)
        until = int(asked.get("ex", "0"), 16)
        if until < self.clock.time() or asked.get("hm") != _signature(request.raw_path, until):
            return web.Response(status=404, text="This content is no longer available.")
        return await self.kept.serve(request, number)

    # ── what the bot may do ───────────────────────────────────────────────────────────────────────

    def room(self, id: str, *needs: int) -> Room:
        """:raises Refused:"""
        room = self.rooms.get(id)
        if room is None:
            raise Refused(404, 10003, "Unknown Channel")
        if room.guild is None:
            return room
        if not room.allows & VIEW:
            raise Refused(403, 50001, "Missing Access")
        for need in needs:
            if not room.allows & need:
                if need == HISTORY:
                    said = "Cannot reply without permission to read message history"
                    raise Refused(403, 160002, said)
                raise Refused(403, 50013, "Missing Permissions")
        return room

    def may_write_to(self, room: Room) -> None:
        """:raises Refused: to a person who does not want it."""
        for person in room.people:
            if room.guild is None and not person.bot:
                if not person.on_server:
                    said = "Cannot send messages to this user due to having no mutual guilds"
                    raise Refused(403, 50278, said)
                if not person.takes_messages:
                    raise Refused(403, 50007, "Cannot send messages to this user")

    @staticmethod
    def is_v2(message: Message) -> bool:
        return bool(message.flags & V2)


def _signature(path: str, until: int) -> str:
    return sha256(f"{path.partition('?')[0]} {until}".encode()).hexdigest()
