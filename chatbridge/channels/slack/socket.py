"""Socket Mode: the connections over which Slack sends what happens.

A loop of our own: the library's client takes no notice of `num_connections`, tries a rejected token
for ever, and sleeps by a clock that tests cannot set. A connection that Slack is about to close
goes on until it does, while another is already there.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import aiohttp

from chatbridge import safe_json
from chatbridge.channels.slack.api import Api, Json, unreachable
from chatbridge.core.errors import RetryLater
from chatbridge.core.tasks import end_tasks
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

PING_SECONDS = 10.0
"""Without an answer to a ping for half of it, the connection is dead."""
HELLO_WITHIN = 10.0
SWITCHED_OFF = (
    "slack: Socket Mode is off for this app. Switch it on at api.slack.com/apps, under Socket Mode"
)
Connection = aiohttp.ClientWebSocketResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    id: str
    kind: str
    payload: Json
    connection: Connection

    async def acknowledge(self, payload: Json | None = None) -> None:
        """If the connection has gone, Slack sends an event again, and warns who tapped."""
        said = {"envelope_id": self.id} | ({"payload": payload} if payload else {})
        try:
            await self.connection.send_json(said)
        except (aiohttp.ClientError, ConnectionError, RuntimeError) as error:
            log.info("slack: an acknowledgement was not sent: %s", type(error).__name__)


class Socket:
    def __init__(self, api: Api, *, ping: float = PING_SECONDS) -> None:
        self.queue: asyncio.Queue[Envelope | None] = asyncio.Queue()
        """What has come; None: there is no connection to rely on any more."""
        self.others = 0
        """Connections of this app that are not ours."""
        self._api = api
        self._ping = ping
        self._live: Connection | None = None
        self._reading: dict[Connection, asyncio.Task[None]] = {}
        self._switched_off = False

    async def connect(self) -> bool:
        """Whether there is a new connection. :raises RetryLater: :raises TokenRejected:"""
        if self._live is not None and not self._live.closed:
            return False
        if self._switched_off:
            self._switched_off = False
            raise RetryLater(SWITCHED_OFF)
        address = await self._api.connection()
        try:
            async with asyncio.timeout(HELLO_WITHIN):
                live = await self._api.session.ws_connect(address, heartbeat=self._ping)
                try:
                    hello = safe_json.loads(await live.receive_str())
                    if value_at(hello, "type") == "disconnect":
                        raise RetryLater(f"slack: no connection ({value_at(hello, 'reason')})")
                except BaseException:
                    await live.close()
                    raise
        except (aiohttp.ClientError, TimeoutError, TypeError, ValueError) as error:
            raise unreachable(error) from None
        count = value_at(hello, "num_connections")
        ours = 1 + sum(not each.closed for each in self._reading)
        self.others = max(0, count - ours) if type(count) is int else 0
        self._live = live
        self._reading[live] = asyncio.ensure_future(self._read(live))
        return True

    async def close(self) -> None:
        await end_tasks([*self._reading.values()])

    async def _read(self, connection: Connection) -> None:
        try:
            async for frame in connection:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    self._take(frame.data, connection)
        finally:
            self._left(connection)
            del self._reading[connection]
            await connection.close()

    def _left(self, connection: Connection) -> None:
        if self._live is connection:
            self._live = None
            self.queue.put_nowait(None)

    def _take(self, text: str, connection: Connection) -> None:
        try:
            said = safe_json.loads(text)
        except ValueError:
            log.warning("slack sent something that cannot be read; passed over")
            return
        match value_at(said, "type"):
            case "disconnect":
                reason = value_at(said, "reason")
                log.info("slack closes a connection: %s", reason)
                self._switched_off = reason == "link_disabled"
                self._left(connection)
            case str(kind) if isinstance(value_at(said, "envelope_id"), str):
                payload = value_at(said, "payload")
                self.queue.put_nowait(
                    Envelope(
                        id=str(value_at(said, "envelope_id")),
                        kind=kind,
                        payload=payload if isinstance(payload, dict) else {},
                        connection=connection,
                    )
                )
