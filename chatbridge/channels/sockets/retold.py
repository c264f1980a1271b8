"""The loop of a service that tells an event again until it is acknowledged, perhaps after later
ones, and lets what it told while nobody listened be read.

Owns which events are done: all up to a time, and the names of those after it. Both are committed
with an event's effects, and only then is it acknowledged.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter, eq
from typing import Any

import aiohttp

from chatbridge.channels.chat.card_visibility import shown_on
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.sockets.loop import Connection, SocketLoop
from chatbridge.core.errors import ChatRefused
from chatbridge.core.model import ChannelState

log = logging.getLogger(__name__)

OVERLAP = 15 * 60.0
"""For so long after a later one, an event may come again. Slack tries one again at once, after a
minute, and after five more."""
MOST_NAMES = 300
IMPOSSIBLE = 86_400.0
"""What is so far ahead of this computer's clock is no time: all that follows would be before it."""


def seconds(time: object) -> float:
    """When, by the service's clock; 0 for what is no time."""
    try:
        return float(str(time))
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something that happened, and perhaps comes again."""

    kind: str
    data: dict[str, Any]
    source: str = ""
    """Where it happened, or who did it."""
    time: str = ""
    """Different for each of one source; empty for what comes once."""
    acknowledge: Callable[[Any], Awaitable[None]] | None = None
    """Is called with what is to be said in return. None: it was read, and the service waits for
    nothing."""

    @property
    def at(self) -> float:
        return seconds(self.time)

    @property
    def name(self) -> str:
        return f"{self.source}:{self.time}" if self.at else ""


Take = Callable[[Told, ChannelState], Awaitable[Any]]
"""Deals with one, and returns what is said in return. The cursor is committed with its effect."""


@dataclass(frozen=True, slots=True)
class Done:
    floor: float = 0.0
    """All up to then is done."""
    names: Mapping[str, float] = field(default_factory=dict)
    """What is done after it, with the time of each."""

    @classmethod
    def from_text(cls, text: str) -> Done:
        floor, *names = text.split(" ")
        return cls(seconds(floor), {name: seconds(name.rpartition(":")[2]) for name in names})

    def to_text(self) -> str:
        return " ".join((f"{self.floor:.6f}", *self.names))

    def has(self, it: Told) -> bool:
        return bool(it.name) and (it.name in self.names or it.at <= self.floor)

    def and_also(self, it: Told, *, now: float) -> Done:
        if not it.name or it.at > now + IMPOSSIBLE:
            return self
        done = {**self.names, it.name: it.at}
        floor = max(self.floor, max(done.values()) - OVERLAP)
        kept = sorted(done, key=lambda name: done[name])[-MOST_NAMES:]
        if len(kept) < len(done):
            floor = max(floor, done[kept[0]])
        return Done(floor, {name: done[name] for name in kept if done[name] > floor})


class RetoldLoop(SocketLoop[Told]):
    def __init__(
        self,
        reception: Reception,
        *,
        cursor_key: str,
        patience: float,
        take: Take,
    ) -> None:
        super().__init__(reception, cursor_key=cursor_key, patience=patience)
        self._take_one = take
        self.done = Done()

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def newest(self, room: str) -> float:
        """When the newest message there was written. :raises ChatRefused:"""

    @abstractmethod
    async def missed(self, room: str, cards: Sequence[str]) -> Iterable[Told]:
        """What was written there after the floor, also in the threads below these messages.
        :raises ChatRefused:"""

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────

    async def begin(self) -> None:
        """Find out what is done. On the first start that is everything so far."""
        if known := await self.stored_cursor():
            self.done = Done.from_text(known.value)
        else:
            for room, chat in self.rooms.items():
                try:
                    self.done = Done(max(self.done.floor, await self.newest(room)))
                except ChatRefused as error:
                    chat.trouble = str(error)
            await self._remember()
        await self.connect()  # a tap that nobody hears does not come again

    async def _remember(self) -> None:
        await self._inbox.remember(self.cursor(self.done.to_text()))

    async def catch_up(self) -> None:
        found: list[Told] = []
        for room, chat in self.rooms.items():
            posts = [post for _, post in await shown_on(self._inbox, chat.name)]
            cards = filter(None, (chat.from_text(post.place) for post in posts))
            try:
                found += await self.missed(room, [*filter(None, (it.root.event for it in cards))])
            except ChatRefused as error:
                chat.trouble = str(error)
        missed = [it for it in found if not self.done.has(it)]
        # Before what has come since: that moves the time up to which all is done.
        self._events.extendleft(sorted(missed, key=attrgetter("at"), reverse=True))

    async def deal_with(self, batch: int) -> bool:
        worked = False
        while self._events:
            it, said = self._events[0], None
            if not self.done.has(it):
                worked, said = True, await self._deal_with(it)
            self._events.popleft()
            if it.acknowledge is not None:
                await it.acknowledge(said)
        if worked:
            await self._remember()
        return bool(batch)

    async def answer(self, connection: Connection, frame: object) -> None:
        """Acknowledge on the connection that brought it. If that has gone, the service tells it
        again."""
        try:
            await connection.send_json(frame)
        except (aiohttp.ClientError, ConnectionError, RuntimeError) as error:
            name = type(error).__name__
            log.info("%s: an acknowledgement was not sent: %s", self.channel, name)

    async def _deal_with(self, it: Told) -> Any:
        done, said = self.done.and_also(it, now=self._clock.time()), list[Any]()
        cursor = self.cursor(done.to_text())

        async def take() -> None:
            said.append(await self._take_one(it, cursor))

        # The cursor of what has no name is that of what was before it.
        committed = partial(eq, cursor.value if it.name else None)
        await self.process(it.name or it, take, committed=committed)
        self.done = done
        return said[0] if said else None
