"""The cursor: whatever fails, and whenever, each event has its effect once, and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import assume, given
from hypothesis import strategies as st

from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import Batch, Invite, RoomEvent, Timeline
from chatbridge.channels.matrix.inbound.poll import TRIES, Poll
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater, StoreError
from chatbridge.core.model import ChannelState
from tests.fakes.clock import StillClock

ROOM, BOT = "!room", "@bot"
LIMIT, PAGE = 3, 2


@dataclass(slots=True)
class Homeserver:
    """Its side of the wire: one room's events, of which a sync gives the newest few."""

    events: list[RoomEvent] = field(default_factory=list)
    user_id: str = BOT
    away: bool = False

    async def sync(self, since: str | None, *, wait: float, full: bool = False) -> Batch:
        if self.away:
            raise RetryLater("away")
        start = int(since or 0)
        shown = max(start, len(self.events) - LIMIT)
        timeline = Timeline(
            room=ROOM,
            events=tuple(self.events[shown:]),
            limited=shown > start,
            start=str(shown),
        )
        return Batch(next=str(len(self.events)), timelines=(timeline,))

    async def before(
        self, room: str, start: str, *, until: str
    ) -> tuple[tuple[RoomEvent, ...], str | None]:
        first = max(int(until), int(start) - PAGE)
        page = tuple(self.events[first : int(start)])
        return page, str(first) if first > int(until) else None

    async def keep_keys(self) -> None:
        return None

    async def invites(self) -> tuple[Invite, ...]:
        return ()

    def say(self) -> None:
        self.events.append(
            RoomEvent(
                id=f"${len(self.events)}",
                room=ROOM,
                sender="@ada",
                type="m.room.message",
                content={},
                at=0.0,
            )
        )


@dataclass(slots=True)
class Disk:
    """What outlives a hub: notes, and the effects that were committed with them."""

    notes: dict[str, ChannelState] = field(default_factory=dict)
    effects: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)
    """What happens to the next writes: fine, before, after."""
    announced: set[str] = field(default_factory=set)
    """Said to be coming, and not taken since."""

    async def note(self, channel: str, key: str) -> ChannelState | None:
        return self.notes.get(key)

    async def remember(self, note: ChannelState) -> None:
        self._write(note)

    async def take(self, event: RoomEvent, cursor: ChannelState) -> None:
        self._write(cursor, event.id)
        self.announced.discard(event.id)

    def given_up(self, event: RoomEvent) -> None:
        self.announced.discard(event.id)

    def coming(self, events: Sequence[RoomEvent]) -> None:
        self.announced = {event.id for event in events}

    def _write(self, note: ChannelState, *effects: str) -> None:
        how = self.fails.pop(0) if self.fails else "fine"
        if how == "away":
            raise RetryLater("away")
        if how == "before":
            raise StoreError("full")
        self.notes[note.key] = note
        self.effects += effects
        if how == "after":
            raise StoreError("broken")


def hub(server: Homeserver, disk: Disk) -> Poll:
    async def nothing(_: Batch | Invite) -> None:
        return None

    return Poll(
        cast("Api", server),
        cast("AskActions", disk),
        clock=StillClock(),
        take=disk.take,
        coming=disk.coming,
        invited=nothing,
        after=nothing,
        given_up=disk.given_up,
    )


async def live(steps: list[Any]) -> tuple[Homeserver, Disk]:
    server, disk = Homeserver(), Disk()
    await one_round(poll := await begun(server, disk))
    for step in steps:
        if isinstance(step, int):
            for _ in range(step):
                server.say()
        elif step == "crash":
            poll = await begun(server, disk)
        else:
            disk.fails = list(step)
            await one_round(poll)
    disk.fails = []
    for _ in range(2):
        await one_round(poll)
    return server, disk


async def begun(server: Homeserver, disk: Disk) -> Poll:
    poll = hub(server, disk)
    await poll.begin()
    return poll


async def one_round(poll: Poll) -> None:
    try:
        await poll.read_on()
    except (StoreError, RetryLater):
        pass  # and the next round is the next try


writes = st.lists(st.sampled_from(["fine", "before", "after", "away"]), max_size=6)


def too_often_away(steps: list[Any]) -> bool:
    """So often that an event may be passed over on purpose."""
    return sum(step.count("away") for step in steps if isinstance(step, list)) >= TRIES


@given(st.lists(st.integers(1, 8) | st.just("crash") | writes, max_size=12))
def test_every_event_has_its_effect_once_and_in_order(steps: list[Any]) -> None:
    assume(not too_often_away(steps))
    server, disk = asyncio.run(live(steps))
    assert disk.effects == [event.id for event in server.events]
    assert not disk.announced, "whatever is said to be coming comes"


def test_a_server_that_is_away_for_long_costs_no_event_its_tries() -> None:
    server, disk = asyncio.run(outage(rounds=10))
    assert disk.effects == [event.id for event in server.events]


def test_an_event_that_fails_while_the_server_is_there_is_passed_over() -> None:
    """Nothing after it would ever be read."""
    server, disk = asyncio.run(live([2, *[["away"]] * TRIES]))
    assert disk.effects == [server.events[1].id]


async def outage(*, rounds: int) -> tuple[Homeserver, Disk]:
    """The server goes away just when something was read that cannot be dealt with without it."""
    server, disk = Homeserver(), Disk()
    await one_round(poll := await begun(server, disk))
    server.say()
    disk.fails = ["away"]
    await one_round(poll)
    server.away = True
    for _ in range(rounds):
        disk.fails = ["away"]
        await one_round(poll)
    server.away, disk.fails = False, []
    await one_round(poll)
    return server, disk
