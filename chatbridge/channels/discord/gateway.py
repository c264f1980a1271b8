"""The connection over which Discord brings events, each dealt with exactly once.

Taps of a time of which Discord no longer knows the session were told to have failed.
"""

from __future__ import annotations

import random
from typing import Any

from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.discord.api import PAGE, VERSION, Api, Body
from chatbridge.channels.errors import pause
from chatbridge.channels.sockets.loop import Connection, Over
from chatbridge.channels.sockets.resumed import Event, ResumedLoop, Take
from chatbridge.core.errors import RetryLater, TokenRejected
from chatbridge.safe_json import value_at

BEAT, IDENTIFY, RESUME = 1, 2, 6
"""What is sent. What comes: 0 an event, 1 wants a beat, 7 reconnect, 9 the session is over, 10
hello, 11 acknowledges a beat."""
GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 9, 1 << 12
INTENTS = GUILD_MESSAGES | DIRECT_MESSAGES
"""Neither needs to be allowed by Discord. Taps come without any."""
SESSION_LOST = (4003, 4007, 4009)
FINAL = {
    4010: "a shard that it has not",
    4011: "a bot on so many servers needs shards, which chatbridge has not",
    4012: "this version of its gateway is over. Upgrade chatbridge",
    4013: "the intents are unknown. Upgrade chatbridge",
    4014: "the intents are not allowed. Look at the bot's page in the Developer Portal",
}
KEPT_SESSIONS = 10
"""Who begins more than a thousand a day loses the token: the last ones are kept."""
READY, RESUMED = "READY", "RESUMED"
WRITTEN, TAPPED = "MESSAGE_CREATE", "INTERACTION_CREATE"


class Gateway(ResumedLoop):
    channel, tries = "discord", 3
    ready, written, page = READY, WRITTEN, PAGE
    query = f"?v={VERSION}&encoding=json"

    def __init__(self, api: Api, reception: Reception, *, bot: str, take: Take) -> None:
        super().__init__(api, reception, cursor_key=f"session:{bot}", take=take)
        self._api = api

    async def address(self, *, begins: bool) -> str:
        found = await self._api.gateway()
        left = value_at(found, "session_start_limit", "remaining")
        if begins and isinstance(left, int) and left < KEPT_SESSIONS:
            again = int(value_at(found, "session_start_limit", "reset_after") or 0) / 1000
            said = "discord lets the bot begin no more sessions today"
            raise RetryLater(said, after=pause(again))
        return str(found.get("url"))

    async def introduce(self, connection: Connection, hello: Any) -> float:
        every = float(value_at(hello, "d", "heartbeat_interval")) / 1000
        properties = {"os": "linux", "browser": "chatbridge", "device": "chatbridge"}
        kind, data = IDENTIFY, Body(intents=INTENTS, properties=properties)
        if self.at.session:
            kind, data = RESUME, Body(session_id=self.at.session, seq=self.at.seq)
        await connection.send_json({"op": kind, "d": {"token": self._api.token, **data}})
        return every

    async def beat(self, connection: Connection) -> None:
        await connection.send_json({"op": BEAT, "d": self.at.seq or None})

    async def messages_after(self, room: str, message: str) -> list[Body]:
        return await self._api.messages_after(room, message)

    async def received(self, frame: Any, connection: Connection) -> None:
        match value_at(frame, "op"):
            case 0:
                self._received(frame)
            case 1:
                await self.send_beat(connection)
            case 7:
                raise Over
            case 9:
                if value_at(frame, "d") is not True:
                    self.forgotten()
                pause = random.uniform(1.0, 5.0)  # noqa: S311 - so that not all come at once
                raise Over(RetryLater("discord ended the session", after=pause))
            case 11:
                self.beaten()

    def _received(self, frame: Body) -> None:
        name, found = str(frame.get("t")), frame.get("d")
        if not self.is_new(frame.get("s")):
            return
        data: Body = found if isinstance(found, dict) else {}
        if name == READY:
            self.begun(str(data.get("session_id")), str(data.get("resume_gateway_url")))
        elif name == RESUMED:
            self.resumed()
        elsewhere = data.get("guild_id") and data.get("channel_id") not in self.rooms
        if name in (READY, TAPPED) or (name == WRITTEN and not elsewhere):
            self.arrived(Event(name=name, data=data, cursor=self.at))

    def why_closed(self, connection: Connection) -> Exception | None:
        code = connection.close_code
        if code == 4004:
            return self._api.rejected(code)
        if code in FINAL:
            return TokenRejected(f"discord refuses the connection ({code}): {FINAL[code]}")
        if code in SESSION_LOST:
            self.forgotten()
        return RetryLater(f"discord's connection was closed ({code or 'lost'})")
