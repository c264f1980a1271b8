"""Socket Mode: the app's connections, what is sent over them, and what Slack does without an
acknowledgement.

An event that is not acknowledged within three seconds is sent again at once, a minute later and
five minutes after that, over whichever connection has its turn. A tap, a modal or a command is not:
who did it is shown a warning. Connections of others take their turns as well, and acknowledge
nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from chatbridge.core.ports import Clock
from tests.fakes.slack.workspace import APP, BOT, Json, Room, Workspace

ACKNOWLEDGE_SECONDS = 3.0
RETRIES = (0.0, 60.0, 300.0)
"""The pauses before an event is sent again."""
MOST_CONNECTIONS = 10
EVENT = "events_api"


@dataclass(slots=True, kw_only=True, eq=False)
class Sending:
    """Something that happened, on its way to the app."""

    kind: str
    payload: Json
    attempt: int = 0
    acknowledged: asyncio.Future[Json | None] = field(default_factory=asyncio.Future)
    """With what the acknowledgement says."""
    failed: bool = False
    """It was acknowledged too late, or never: who did it was warned, or the event is lost."""


class SocketMode(Workspace):
    def __init__(self, clock: Clock, *, app: str = APP) -> None:
        super().__init__(clock, app=app)
        self.others = 0
        """Connections of other programs with this app. Each gets its share of what happens."""
        self.swallowing = 0
        """How many of the next things that people do go to nobody."""
        self.pongs = True
        self.tickets: set[str] = set()
        """Addresses that were given out and not used yet."""
        self._connections: list[web.WebSocketResponse] = []
        self._waiting: dict[str, Sending] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._turns: Counter[str] = Counter()
        """By whose doing it is: what the bot does meanwhile changes no person's share."""

    async def send(self, kind: str, payload: Json, *, attempt: int = 0) -> Sending:
        sending = Sending(kind=kind, payload=payload, attempt=attempt)
        asleep = self.clock.sleep(ACKNOWLEDGE_SECONDS)
        await self._deliver(sending)
        task = asyncio.ensure_future(self._watch(sending, asyncio.ensure_future(asleep)))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return sending

    async def _watch(self, sending: Sending, deadline: asyncio.Future[None]) -> None:
        for pause in RETRIES:
            if await self._in_time(sending, deadline):
                return
            if sending.kind != EVENT:
                break
            if pause:
                await self.clock.sleep(pause)
            if sending.acknowledged.done():
                return
            sending.attempt += 1
            deadline = asyncio.ensure_future(self.clock.sleep(ACKNOWLEDGE_SECONDS))
            await self._deliver(sending)
            self._change()
        else:
            if await self._in_time(sending, deadline):
                return
        sending.failed = True
        self._change()

    @staticmethod
    async def _in_time(sending: Sending, deadline: asyncio.Future[None]) -> bool:
        either: set[asyncio.Future[Any]] = {deadline, sending.acknowledged}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        deadline.cancel()
        return sending.acknowledged.done()

    async def _deliver(self, sending: Sending) -> None:
        event = sending.payload.get("event")
        by = str(event.get("message", event).get("user")) if isinstance(event, dict) else ""
        if self.swallowing and by != BOT:  # what the bot has sent may come back late
            self.swallowing -= 1
            return
        live = [each for each in self._connections if not each.closed]
        self._turns[by] += 1
        at = self._turns[by] % (len(live) + self.others) if live else 0
        if at >= len(live):
            return
        envelope = f"e{next(self._numbers)}"
        self._waiting[envelope] = sending
        said: Json = {
            "envelope_id": envelope,
            "type": sending.kind,
            "payload": sending.payload,
            "accepts_response_payload": sending.kind != EVENT,
        }
        if sending.kind == EVENT:
            reason = "timeout" if sending.attempt else ""
            said |= {"retry_attempt": sending.attempt, "retry_reason": reason}
        try:
            await live[at].send_json(said)
        except ConnectionError:
            return  # nobody has heard of it

    async def raw(self, text: str) -> None:
        """Send this over all connections, whatever it is."""
        for each in [*self._connections]:
            await each.send_str(text)

    async def disconnect(self, reason: str) -> None:
        for each in [*self._connections]:
            await each.send_json(_disconnect(reason))

    async def cut_connections(self) -> None:
        for each in [*self._connections]:
            await each.close()

    async def end(self) -> None:
        watching = [*self._watching]
        for each in watching:
            each.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await self.cut_connections()

    @property
    def connected(self) -> int:
        return sum(not each.closed for each in self._connections)

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            raise web.HTTPUnauthorized
        self.tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=self.pongs)
        await socket.prepare(request)
        if self.connected + self.others >= MOST_CONNECTIONS:
            await socket.send_json(_disconnect("too_many_websockets"))
            await socket.close()
            return socket
        self._connections.append(socket)
        hello = {
            "type": "hello",
            "num_connections": self.connected + self.others,
            "connection_info": {"app_id": self.app},
            "debug_info": {"host": "test", "approximate_connection_time": 18060},
        }
        await socket.send_json(hello)
        self._change()
        try:
            async for frame in socket:
                if frame.type is web.WSMsgType.TEXT:
                    self._acknowledged(json.loads(frame.data))
        finally:
            self._connections.remove(socket)
            self._change()
        return socket

    def _acknowledged(self, said: Json) -> None:
        sending = self._waiting.pop(said["envelope_id"])
        if not sending.acknowledged.done():
            sending.acknowledged.set_result(said.get("payload"))
        self._change()

    async def _happened(self, room: Room, message: Json) -> Sending:
        if message.get("subtype") not in ("message_changed", "message_deleted"):
            room.messages[message["ts"]] = message
        kind = "im" if room.is_direct else "channel"
        event = message | {"channel": room.id, "channel_type": kind, "event_ts": message["ts"]}
        payload = {"type": "event_callback", "event_id": f"Ev{next(self._numbers)}", "event": event}
        self._change()
        return await self.send(EVENT, payload)


def _disconnect(reason: str) -> Json:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "test"}}
