"""Socket Mode: has what happened dealt with, and only then acknowledges it.

After a gap, messages are read from the conversations and their threads. A tap that never arrived is
not sent again.

A loop of our own: the library's client takes no notice of `num_connections`, tries a rejected token
for ever, and sleeps by a clock that tests cannot set.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.writer import patiently
from chatbridge.channels.slack.api import MOST, Api, Json
from chatbridge.channels.sockets.loop import Connection
from chatbridge.channels.sockets.retold import RetoldLoop, Take, Told, seconds
from chatbridge.core.errors import RetryLater
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

PING_SECONDS = 10.0
"""Without an answer to a ping for half of it, the connection is dead."""
SWITCHED_OFF = (
    "slack: Socket Mode is off for this app. Switch it on at api.slack.com/apps, under Socket Mode"
)


class SocketMode(RetoldLoop):
    channel, tries = "slack", 3

    def __init__(
        self, api: Api, reception: Reception, *, account: str, take: Take, ping: float
    ) -> None:
        """`account` ends with the bot's id."""
        super().__init__(reception, cursor_key=f"seen:{account}", patience=api.patience, take=take)
        self.others = 0
        """Connections of this app that are not ours."""
        self._api = api
        self._me = account.rpartition(":")[2]
        self._ping = ping

    async def connect(self) -> None:
        url = await self._api.connection()
        async with self.opened(self._api.session, url, heartbeat=self._ping) as (new, hello):
            if value_at(hello, "type") == "disconnect":
                raise RetryLater(f"slack: no connection ({value_at(hello, 'reason')})")
            count = value_at(hello, "num_connections")
            ours = 1 + sum(not each.closed for each in self._open)
            self.others = max(0, count - ours) if type(count) is int else 0
        self.listen(new)

    async def received(self, frame: object, connection: Connection) -> None:
        kind, envelope = value_at(frame, "type"), value_at(frame, "envelope_id")
        if kind == "disconnect":
            reason = value_at(frame, "reason")
            log.info("slack closes a connection: %s", reason)
            if reason == "link_disabled":
                self._lost = RetryLater(SWITCHED_OFF)
            self.forsake(connection)  # it goes on for a while, and another one comes beside it
        elif isinstance(envelope, str):
            payload = value_at(frame, "payload")
            it = _told(str(kind), payload if isinstance(payload, dict) else {})
            self.arrived(replace(it, acknowledge=partial(self._acknowledge, connection, envelope)))

    async def _acknowledge(self, on: Connection, envelope: str, said: Json | None) -> None:
        """Who tapped is warned by Slack if it does not come."""
        await self.answer(on, {"envelope_id": envelope} | ({"payload": said} if said else {}))

    # ── after a gap ───────────────────────────────────────────────────────────────────────────────

    async def newest(self, room: str) -> float:
        found = await self._api.messages(room, most=1)
        return max((seconds(each.get("ts")) for each in found), default=0.0)

    async def missed(self, room: str, cards: Sequence[str]) -> list[Told]:
        """Without the threads of others in a channel. A pause that Slack asks for is kept in
        between: who begins anew after it may never come to the end."""
        floor, read = self.done.floor, partial(self._api.messages, room)
        # A thread is found by its root, with the time of its newest message.
        oldest = min([floor, *(seconds(card) - 1.0 for card in cards)])
        messages = await patiently(partial(read, since=f"{oldest:.6f}"), self._clock)
        much = len(messages) >= MOST  # so that newer ones are not among them
        if much:
            messages = await patiently(partial(read, since=f"{floor:.6f}"), self._clock)
        roots = [each for each in messages if seconds(each.get("latest_reply")) > floor]
        ours = [each for each in roots if each.get("user") == self._me]
        found = [str(each.get("ts")) for each in (roots if self.rooms[room].private else ours)]
        for ts in dict.fromkeys([*found, *(cards if much else ())]):
            thread = await patiently(partial(read, root=ts, since=f"{floor:.6f}"), self._clock)
            messages += (each for each in thread if each.get("ts") != ts)
        return [_message(each, room) for each in messages]


def _told(kind: str, payload: Json) -> Told:
    """What an envelope brings: `message`, `command`, or the type of an interaction."""
    if kind == "events_api":
        event = payload.get("event")
        message = event if isinstance(event, dict) and event.get("type") == "message" else {}
        return _message(message, str(message.get("channel") or ""))
    if kind == "slash_commands":
        return Told(kind="command", data=payload)
    kind, actions = str(payload.get("type")), payload.get("actions")
    tapped = kind == "block_actions" and isinstance(actions, list) and actions
    user, time = value_at(payload, "user", "id"), value_at(tapped and tapped[0], "action_ts")
    return Told(kind=kind, data=payload, source=str(user), time=str(time or ""))


def _message(message: Json, room: str) -> Told:
    data, ts = message | {"channel": room}, str(message.get("ts") or "")
    return Told(kind="message", data=data, source=room, time=ts)
