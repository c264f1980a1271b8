"""The receiving loop: has what happened dealt with, and only then acknowledges it.

Owns which events are done. Slack sends an event again that nobody has acknowledged, perhaps after
later ones, so their names are kept for a while, committed with their effects. After a gap, messages
are read from the conversations and their threads. A tap that never arrived is not sent again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import eq

from chatbridge.channels.chat.card_visibility import shown_on
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.slack.api import Api, Json, seconds
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.slack.socket import Envelope, Socket
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatRefused
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

OVERLAP = 15 * 60.0
"""Slack tries an event again at once, after a minute, and after five more."""
MOST_NAMES = 300
IMPOSSIBLE = 86_400.0
"""What is so far ahead of this computer's clock is no time: all that follows would be before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    kind: str
    """`message`, `command`, or the type of an interaction."""
    data: Json
    name: str = ""
    """Of what Slack may tell twice."""
    at: float = 0.0
    envelope: Envelope | None = None


Take = Callable[[Happened, ChannelState], Awaitable[Json | None]]
"""Deals with one, and returns what its acknowledgement says."""


class Poll(PollLoop[int]):
    channel, tries = "slack", 3

    def __init__(
        self,
        api: Api,
        socket: Socket,
        inbox: AskActions,
        *,
        clock: Clock,
        account: str,
        chats: Sequence[Chat],
        take: Take,
    ) -> None:
        super().__init__(inbox, clock=clock, cursor_key=f"seen:{account}")
        self._api = api
        self._socket = socket
        self._chats = chats
        self._take = take
        self._pending: deque[Happened] = deque()
        self._floor = 0.0
        """All messages up to then are done."""
        self._done: dict[str, float] = {}
        self._missed = True

    async def begin(self) -> None:
        """Find out what is done. On the first start that is everything so far."""
        known = await self.stored_cursor()
        if known is not None:
            floor, *names = known.value.split(" ")
            self._floor = seconds(floor)
            self._done = {name: seconds(name.rpartition(":")[2]) for name in names}
            return
        for chat in self._chats:
            try:
                newest = await self._api.history(chat.id, oldest="0", most=1) if chat.id else []
            except ChatRefused as error:
                chat.trouble, newest = str(error), []
            self._floor = max([self._floor, *(seconds(each.get("ts")) for each in newest)])
        await self._inbox.remember(self.cursor(self._state()))

    def _state(self) -> str:
        return " ".join((f"{self._floor:.6f}", *self._done))

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    async def read(self, *, wait: bool) -> int:
        if not self._pending:
            self._missed |= await self._socket.connect()
            if self._missed or not wait:
                await self._catch_up()
                self._missed = False
            if wait and not self._pending and self._socket.queue.empty():
                self._add(await self._socket.queue.get())
            while not self._socket.queue.empty():
                self._add(self._socket.queue.get_nowait())
        return len(self._pending)

    def _add(self, envelope: Envelope | None) -> None:
        if envelope is not None:
            self._pending.append(_happened(envelope))

    async def _catch_up(self) -> None:
        """Find messages that nobody has told, also those in the threads of cards."""
        found: list[Happened] = []
        for chat in self._chats:
            if not chat.id:
                continue
            cards = [
                chat.from_text(post.place) for _, post in await shown_on(self._inbox, chat.name)
            ]
            roots = [seconds(card.root.event) for card in cards if card and card.root.event]
            # A thread is found by its root, with the time of its newest message.
            oldest = min([self._floor, *(root - 1.0 for root in roots)])
            try:
                found += await self._read_from(chat.id, oldest)
            except ChatRefused as error:
                chat.trouble = str(error)
        self._pending.extend(
            sorted((each for each in found if not self._is_done(each)), key=lambda each: each.at)
        )

    async def _read_from(self, room: str, oldest: float) -> list[Happened]:
        messages = await self._api.history(room, oldest=f"{oldest:.6f}")
        for root in [each for each in messages if seconds(each.get("latest_reply")) > self._floor]:
            ts, since = str(root.get("ts")), f"{self._floor:.6f}"
            thread = await self._api.replies(room, ts, oldest=since)
            messages += (each for each in thread if each.get("ts") != ts)
        return [_message(each, room) for each in messages]

    # ── dealing with it ───────────────────────────────────────────────────────────────────────────

    def _is_done(self, it: Happened) -> bool:
        return bool(it.name) and (it.name in self._done or it.at <= self._floor)

    async def deal_with(self, batch: int) -> bool:
        worked = False
        while self._pending:
            it, said = self._pending[0], list[Json]()
            if not self._is_done(it):
                worked = True
                floor, done = self._floor, self._done
                self._note(it)
                cursor = self.cursor(self._state())

                async def take(it: Happened = it, cursor: ChannelState = cursor) -> None:
                    said.extend(filter(None, [await self._take(it, cursor)]))  # noqa: B023

                try:
                    await self.process(it.name or it, take, committed=partial(eq, cursor.value))
                except BaseException:
                    self._floor, self._done = floor, done
                    raise
            self._pending.popleft()
            if it.envelope is not None:
                await it.envelope.acknowledge(said[0] if said else None)
        if worked:
            await self._inbox.remember(self.cursor(self._state()))
        return bool(batch)

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


def _happened(envelope: Envelope) -> Happened:
    payload = envelope.payload
    if envelope.kind == "events_api":
        event = payload.get("event")
        message = event if isinstance(event, dict) and event.get("type") == "message" else {}
        found = _message(message, str(message.get("channel") or ""))
        return Happened(
            kind=found.kind, data=found.data, name=found.name, at=found.at, envelope=envelope
        )
    if envelope.kind == "slash_commands":
        return Happened(kind="command", data=payload, envelope=envelope)
    kind, actions = str(payload.get("type")), payload.get("actions")
    name, at = "", 0.0
    if kind == "block_actions" and isinstance(actions, list) and actions:
        stamp = str(value_at(actions[0], "action_ts") or "")
        user = value_at(payload, "user", "id")
        name, at = f"{user}:{stamp}", seconds(stamp)
    return Happened(kind=kind, data=payload, name=name if at else "", at=at, envelope=envelope)


def _message(message: Json, room: str) -> Happened:
    ts = str(message.get("ts") or "")
    data, at = message | {"channel": room}, seconds(ts)
    return Happened(kind="message", data=data, name=f"{room}:{ts}" if at else "", at=at)
