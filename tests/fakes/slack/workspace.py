"""Who and what is in the workspace: people, conversations and their messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from chatbridge.core.ports import Clock

Json = dict[str, Any]

TEAM, APP, BOT = "T0000001", "A0000001", "U000000B"
BOT_TOKEN, APP_TOKEN = "xoxb-1-2-test-token", f"xapp-1-{APP}-3-test-token"
PATIENCE = 20.0


class Refused(Exception):
    """An answer with `ok: false`, and Slack's code for why."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.answer = {"ok": False, "error": code, **more}


@dataclass(slots=True, kw_only=True)
class Room:
    id: str
    members: set[str]
    archived: bool = False
    restricted: str = ""
    """The code with which a setting of the workspace or of the channel keeps the app from
    writing."""
    messages: dict[str, Json] = field(default_factory=dict)
    """In threads and outside, by their times."""

    @property
    def is_direct(self) -> bool:
        return self.id.startswith("D")


class Workspace:
    def __init__(self, clock: Clock, *, app: str = APP) -> None:
        self.app = app
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN.replace(APP, app)
        self.clock = clock
        self.people: dict[str, str] = {BOT: "chatbridge"}
        self.bots = {BOT}
        self.disabled: set[str] = set()
        """People whose accounts are deactivated."""
        self.rooms: dict[str, Room] = {}
        self.edit_window: float | None = None
        """For how many seconds the workspace's settings allow edits."""
        self.changed = asyncio.Event()
        self._numbers, self._people = count(1), count(1)
        self._last = 0

    def person(self, name: str) -> str:
        user = f"U{next(self._people):07}"
        self.people[user] = name
        return user

    def channel(self, *members: str, private: bool = False) -> Room:
        room = Room(id=f"{'G' if private else 'C'}{len(self.rooms):07}", members={BOT, *members})
        self.rooms[room.id] = room
        return room

    def direct(self, user: str) -> Room:
        known = (each for each in self.rooms.values() if each.is_direct and user in each.members)
        room = next(known, None) or Room(id=f"D{len(self.rooms):07}", members={BOT, user})
        return self.rooms.setdefault(room.id, room)

    def delete(self, room: Room, ts: str) -> None:
        del room.messages[ts]
        self._change()

    def time(self) -> str:
        """Of a message, in which no two are alike."""
        self._last = max(self._last + 1, round(self.clock.time() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    async def until(self, fits: Callable[[], Any]) -> Any:
        """What this returns once it is something; looked at after each change."""
        async with asyncio.timeout(PATIENCE):
            while not (found := fits()):
                await self.changed.wait()
            return found

    def _change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
