"""An agent that waits through a night, in simulated time, and the hubs that it meets.

It goes on by the book: a ticket is turned in with `wait_for_answer`, and after a call that was cut
off the same is asked again.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

from chatbridge.core.model import Ask, CallName
from chatbridge.tools.call import HEARTBEAT
from chatbridge.tools.clients import Client, Clients
from tests.fakes.sim_hub import (
    HOUR,
    QUESTION,
    TICK,
    Bridge,
    Json,
    Pipe,
    WatchedClock,
    bridge,
    until,
)


class GivesUp(StrEnum):
    """What a client does when its limit has come."""

    CANCELS = "cancels"
    SILENTLY = "silently"
    DROPS = "drops the pipe"


@dataclass(slots=True, kw_only=True)
class Agent:
    """A client of this name, which gives one call up after its limit, or its idle limit."""

    client: str
    clock: WatchedClock
    gives_up: GivesUp
    limit: float | None = None
    idle: float | None = None
    progress: bool = False
    thinks: float = 0.0
    """How long it takes to ask again after it gave up."""
    pipe: Pipe = field(init=False)
    answers: list[Json] = field(default_factory=list)
    rounds: int = 0
    ticket: str | None = None
    request: int | None = None
    """The call that waits."""
    asked_at: float = 0.0

    def __post_init__(self) -> None:
        self._new_pipe()

    def _new_pipe(self) -> None:
        self.pipe = Pipe(self.client, self.clock, progress=self.progress)

    def ask(self, arguments: Json = QUESTION) -> None:
        """Ask, or turn the ticket in."""
        self.rounds += 1
        self.asked_at = self.clock.monotonic()
        if self.ticket is None:
            self.request = self.pipe.call("ask_user", arguments)
        else:
            self.request = self.pipe.call("wait_for_answer", {"askId": self.ticket})

    def left(self, *, silence: bool) -> float | None:
        """How long from now it waits for its call; in silence progress does not help."""
        idle = None if self.progress and not silence else self.idle
        limits = [limit for limit in (self.limit, idle) if limit is not None]
        return min(limits) - (self.clock.monotonic() - self.asked_at) if limits else None

    def ticket_in(self, here: Bridge) -> float | None:
        client = here.clients.of(self.client)
        learned = here.hub.broker.waiting_calls.learned_limit(self.pipe.id)
        if learned and client.limit is None and client.idle is None:
            client = Client(limit=learned.seconds)
        patience = client.patience(progress=self.progress)
        return patience and patience + self.asked_at - self.clock.monotonic()

    async def is_heard(self, here: Bridge) -> None:
        """Once the hub has the call, and waits."""
        assert self.request is not None
        beat = here.clients.of(self.client).beat(HEARTBEAT) if self.progress else None
        await here.has(self.pipe, self.request, pause=None)  # with what it has shown of its limit
        pauses = [pause for pause in (self.ticket_in(here), beat) if pause is not None]
        await here.has(self.pipe, self.request, pause=min(pauses, default=None))

    async def pass_time(self, seconds: float) -> None:
        """A client with an idle limit hears of its call all the while."""
        if self.idle is None or not self.progress:
            self.clock.advance(seconds)
            return
        beat = min(HEARTBEAT, self.idle / 3)
        while seconds > 0:
            step = min(beat, seconds)
            seconds -= step
            heard = len(self.pipe.beats)
            self.clock.advance(step)
            if seconds > 0:
                await self._hears_more_than(heard, beat, min(beat, seconds))
            assert self.clock.monotonic() - self.pipe.heard_at < self.idle

    async def _hears_more_than(self, heard: int, *pauses: float) -> None:
        async def sleeps() -> bool:
            return any(self.clock.calls.sleeps_for(pause) for pause in pauses)

        await self.pipe.until(lambda: len(self.pipe.beats) > heard)
        await until(sleeps)

    async def take(self) -> bool:
        """Read the response to the call; whether it was the answer."""
        assert self.request is not None
        told = (await self.pipe.response(self.request))["result"]["structuredContent"]
        self.request = None
        if told.get("pending"):
            self.ticket = told["askId"]
            return False
        self.ticket = None
        self.answers.append(told)
        return True

    async def give_up(self) -> None:
        """The limit has come and no response."""
        assert self.request is not None
        if self.gives_up is GivesUp.CANCELS:
            self.pipe.cancel(self.request)
        elif self.gives_up is GivesUp.DROPS:
            await self.pipe.die()
            self._new_pipe()
            self.ticket = None
        self.request = None

    async def think(self, here: Bridge, given_up: int) -> None:
        """Before it asks again. The ticket for what it gave up may come meanwhile, in vain."""
        left, ticket_in = self.thinks, self.ticket_in(here)
        if ticket_in is not None and ticket_in + TICK < left:
            self.clock.advance(ticket_in + TICK)
            left -= ticket_in + TICK
            name = CallName(link=self.pipe.id, request=str(given_up))

            async def confirmed() -> bool:
                call = await here.hub.store.write(lambda tx: tx.call(name))
                return call is not None and call.delivered_at is not None

            await until(confirmed)
        self.clock.advance(left)


class Night:
    """One agent, and the hubs that it meets one after another on the same database."""

    def __init__(self, path: Path, agent: Agent, *, clients: Clients | None = None) -> None:
        self.agent = agent
        self.clock = agent.clock
        self._path = path
        self._clients = clients
        self._stack = AsyncExitStack()
        self._here: Bridge | None = None

    @property
    def here(self) -> Bridge:
        assert self._here
        return self._here

    async def __aenter__(self) -> Self:
        await self.hub_starts()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hub_dies()

    async def hub_starts(self) -> None:
        new = bridge(self._path, self.clock, clients=self._clients)
        self._here = await self._stack.enter_async_context(new)
        await self.agent.pipe.connect(self.here)

    async def hub_dies(self) -> None:
        self._here = None
        await self._stack.aclose()

    async def answered_at(self, answer_at: float) -> None:
        """Until the agent has the answer, which the person gives at that time."""
        agent, clock = self.agent, self.clock
        answered = False
        while True:
            if agent.request is None:
                agent.ask()
            if answered:  # a ticket had been written a moment before
                assert await agent.take()
                return
            await agent.is_heard(self.here)
            pauses = [(answer_at - clock.monotonic(), "answer")]
            if (ticket_in := agent.ticket_in(self.here)) is not None:
                pauses.append((ticket_in + TICK, "ticket"))
            if (left := agent.left(silence=False)) is not None:
                pauses.append((left, "limit"))
            pause, what = min(pauses)
            await agent.pass_time(max(pause, 0.0))
            if what == "limit":
                dropped, given_up = agent.gives_up is GivesUp.DROPS, agent.request
                await agent.give_up()
                if dropped:
                    await agent.pipe.connect(self.here)
                elif given_up is not None and agent.thinks:
                    await agent.think(self.here, given_up)
                continue
            if what == "answer":
                await self.here.answered()
                answered = True
            if await agent.take():
                return
            if agent.rounds > 5:  # it does something else meanwhile, and holds its ticket
                spare = answer_at - clock.monotonic() - 30.0
                clock.advance(min(HOUR, max(spare, 0.0)))

    async def outage(self, seconds: float) -> None:
        """The hub dies while a call waits, and the next one comes so much later. The agent goes on
        by the book, as far as it can without a hub."""
        agent = self.agent
        if agent.request is None:
            agent.ask()
        await agent.is_heard(self.here)
        left = agent.left(silence=True)
        await self.hub_dies()
        self.clock.advance(seconds)
        gone = left is not None and seconds >= left
        dropped = gone and agent.gives_up is GivesUp.DROPS
        if gone:
            await agent.give_up()
            if not dropped:
                agent.ask()
        await self.hub_starts()
        if dropped:
            await self.absent_links_are_forgotten()

    async def absent_links_are_forgotten(self) -> None:
        """The time in which a link of before the start may come back passes."""
        within = self.here.hub.broker.policy.return_within

        async def counts() -> bool:
            return self.clock.somebody_sleeps_for(within)

        await until(counts)
        self.clock.advance(within)
        await self.here.hub.until(lambda ask: ask.orphaned_since is not None or ask.kept)

    async def delivered(self) -> Ask:
        """The one ask, once the hub knows that the agent has its answer."""

        async def known() -> bool:
            return (await self.here.the_ask()).delivered_at is not None

        await until(known)
        return await self.here.the_ask()
