"""Socket Mode: has what happened dealt with, and only then acknowledges it.

Owns which events are done. Slack sends an event again that nobody has acknowledged, perhaps after
later ones, so their names are kept for a while, committed with their effects. After a gap, messages
are read from the conversations and their threads. A tap that never arrived is not sent again.

A loop of our own: the library's client takes no notice of `num_connections`, tries a rejected token
for ever, and sleeps by a clock that tests cannot set.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import eq

import aiohttp

from chatbridge.channels.chat.card_visibility import shown_on
from chatbridge.channels.chat.inbound import patiently
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.slack.api import Api, Json, seconds
from chatbridge.channels.sockets.loop import Connection, SocketLoop
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import ChannelState
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

PING_SECONDS = 10.0
"""Without an answer to a ping for half of it, the connection is dead."""
HELLO_WITHIN = 10.0
OVERLAP = 15 * 60.0
"""Slack tries an event again at once, after a minute, and after five more."""
MOST_NAMES = 300
IMPOSSIBLE = 86_400.0
"""What is so far ahead of this computer's clock is no time: all that follows would be before it."""
SWITCHED_OFF = (
    "slack: Socket Mode is off for this app. Switch it on at api.slack.com/apps, under Socket Mode"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    kind: str
    """`message`, `command`, or the type of an interaction."""
    data: Json
    name: str = ""
    """Of what Slack may tell twice."""
    at: float = 0.0
    envelope: str = ""
    connection: Connection | None = None
    """To be acknowledged there."""


class SocketMode(SocketLoop[Happened]):
    channel, tries = "slack", 3

    def __init__(
        self,
        api: Api,
        reception: Reception,
        *,
        account: str,
        take: Callable[[Happened, ChannelState], Awaitable[Json | None]],
        ping: float,
    ) -> None:
        """`account` ends with the bot's id; `take` deals with one, and returns what its
        acknowledgement says."""
        super().__init__(reception, cursor_key=f"seen:{account}", patience=HELLO_WITHIN)
        self.others = 0
        """Connections of this app that are not ours."""
        self._api = api
        self._me = account.rpartition(":")[2]
        self._take_one = take
        self._ping = ping
        self._floor = 0.0
        """All messages up to then are done."""
        self._done: dict[str, float] = {}

    async def begin(self) -> None:
        """Find out what is done. On the first start that is everything so far."""
        if known := await self.stored_cursor():
            floor, *names = known.value.split(" ")
            self._floor = seconds(floor)
            self._done = {name: seconds(name.rpartition(":")[2]) for name in names}
        else:
            for room, chat in self.rooms.items():
                try:
                    newest = await self._api.messages(room, most=1)
                except ChatRefused as error:
                    chat.trouble, newest = str(error), []
                self._floor = max([self._floor, *(seconds(each.get("ts")) for each in newest)])
            await self._inbox.remember(self._cursor())
        await self.connect()  # a tap that nobody hears does not come again

    def _cursor(self) -> ChannelState:
        return self.cursor(" ".join((f"{self._floor:.6f}", *self._done)))

    # ── connections ───────────────────────────────────────────────────────────────────────────────

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
            it = _happened(str(kind), payload if isinstance(payload, dict) else {})
            self.arrived(replace(it, envelope=envelope, connection=connection))

    async def _acknowledge(self, it: Happened, said: Json | None) -> None:
        """If the connection has gone, Slack sends an event again, and warns who tapped."""
        if it.connection is not None:
            answer = {"envelope_id": it.envelope} | ({"payload": said} if said else {})
            try:
                await it.connection.send_json(answer)
            except (aiohttp.ClientError, ConnectionError, RuntimeError) as error:
                log.info("slack: an acknowledgement was not sent: %s", type(error).__name__)

    # ── after a gap ───────────────────────────────────────────────────────────────────────────────

    async def catch_up(self) -> None:
        """Find messages that nobody has told, also those in the threads of cards."""
        found: list[Happened] = []
        for room, chat in self.rooms.items():
            posts = [post for _, post in await shown_on(self._inbox, chat.name)]
            cards = filter(None, (chat.from_text(post.place) for post in posts))
            roots = [seconds(card.root.event) for card in cards if card.root.event]
            # A thread is found by its root, with the time of its newest message.
            oldest = min([self._floor, *(root - 1.0 for root in roots)])
            try:
                found += await self._read_from(room, oldest, all_threads=chat.private)
            except ChatRefused as error:
                chat.trouble = str(error)
        missed = [it for it in found if not self._is_done(it)]
        # Before what has come since: that moves the time up to which all is done.
        self._events.extendleft(sorted(missed, key=lambda it: it.at, reverse=True))

    async def _read_from(self, room: str, oldest: float, *, all_threads: bool) -> list[Happened]:
        """Without the threads of others in a channel. A pause that Slack asks for is kept in
        between: who begins anew after it may never come to the end."""
        read = partial(self._api.messages, room)
        messages = await patiently(partial(read, oldest=f"{oldest:.6f}"), self._clock)
        roots = [each for each in messages if seconds(each.get("latest_reply")) > self._floor]
        for root in [each for each in roots if all_threads or each.get("user") == self._me]:
            ts, since = str(root.get("ts")), f"{self._floor:.6f}"
            thread = await patiently(partial(read, root=ts, oldest=since), self._clock)
            messages += (each for each in thread if each.get("ts") != ts)
        return [_message(each, room) for each in messages]

    # ── dealing with it ───────────────────────────────────────────────────────────────────────────

    async def deal_with(self, batch: int) -> bool:
        worked = False
        while self._events:
            it, said = self._events[0], list[Json | None]()
            if not self._is_done(it):
                worked = True
                before = self._floor, self._done
                self._note(it)
                cursor = self._cursor()

                async def take(it: Happened = it, cursor: ChannelState = cursor) -> None:
                    said.append(await self._take_one(it, cursor))  # noqa: B023

                # The cursor of what has no name is that of what was before it.
                committed = partial(eq, cursor.value if it.name else None)
                try:
                    await self.process(it.name or it, take, committed=committed)
                except BaseException:
                    self._floor, self._done = before
                    raise
            self._events.popleft()
            await self._acknowledge(it, said[0] if said else None)
        if worked:
            await self._inbox.remember(self._cursor())
        return bool(batch)

    def _is_done(self, it: Happened) -> bool:
        return bool(it.name) and (it.name in self._done or it.at <= self._floor)

    def _note(self, it: Happened) -> None:
        if not it.name or it.at > self._clock.time() + IMPOSSIBLE:
            return
        done = self._done | {it.name: it.at}
        floor = max(self._floor, max(done.values()) - OVERLAP)
        kept = sorted(done, key=lambda name: done[name])[-MOST_NAMES:]
        if len(kept) < len(done):
            floor = max(floor, done[kept[0]])
        self._floor = floor
        self._done = {name: done[name] for name in kept if done[name] > floor}


def _happened(kind: str, payload: Json) -> Happened:
    """What an envelope brings."""
    if kind == "events_api":
        event = payload.get("event")
        message = event if isinstance(event, dict) and event.get("type") == "message" else {}
        return _message(message, str(message.get("channel") or ""))
    if kind == "slash_commands":
        return Happened(kind="command", data=payload)
    actions, name, at = payload.get("actions"), "", 0.0
    if payload.get("type") == "block_actions" and isinstance(actions, list) and actions:
        at = seconds(value_at(actions[0], "action_ts"))
        name = f"{value_at(payload, 'user', 'id')}:{value_at(actions[0], 'action_ts')}"
    return Happened(kind=str(payload.get("type")), data=payload, name=name if at else "", at=at)


def _message(message: Json, room: str) -> Happened:
    ts = str(message.get("ts") or "")
    data, at = message | {"channel": room}, seconds(ts)
    return Happened(kind="message", data=data, name=f"{room}:{ts}" if at else "", at=at)
