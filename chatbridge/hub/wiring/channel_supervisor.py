"""Brings a hub's channels up, keeps them up, and knows when they have drained.

Builds each channel in a thread, while tools already answer. Tries one that fails again; other
channels and the tools never wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected
from chatbridge.core.ports import Channel, Clock, Remark
from chatbridge.core.tasks import MAX_PAUSE_SECONDS, Backoff, end_tasks
from chatbridge.hub.process.background import Background, Faults

log = logging.getLogger(__name__)

MOST_REMARKS = 10  # About agents, in a hub's life: they must not be able to flood a chat
MOST_QUEUED_REMARKS = 100
"""For one channel. Far more than `MOST_REMARKS`, so that agents cannot crowd other news out."""
ON_ITS_WAY_SECONDS = 5.0
PAGES_OPEN_SECONDS = 3.0


class ChannelSupervisor:
    def __init__(
        self,
        delivery: Delivery,
        *,
        clock: Clock,
        faults: Faults | None = None,
        confinement: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`confinement`: why no chat can be reached from where this hub runs, if it looks so."""
        self._delivery = delivery
        self._clock = clock
        self._faults = faults or Faults(clock=clock)
        self._confinement = confinement
        self._confined: str | None = None
        self._slots: list[SupervisedChannel] = []
        self._told: set[str] = set()

    def add(self, name: str, build: Callable[[], Channel], *, unwatched: str | None = None) -> None:
        """`unwatched`: why a page shows nothing; None for a chat."""
        self._slots.append(SupervisedChannel(name, build, unwatched))

    async def run(self, inbox: AskActions) -> None:
        async with asyncio.TaskGroup() as group:
            for slot in self._slots:
                group.create_task(self._keep_up(slot, inbox))

    def tell(self, text: str) -> None:
        """Have every channel say this about an agent to the owner, once, as soon as it can."""
        if text not in self._told and len(self._told) < MOST_REMARKS:
            self._told.add(text)
            self.tell_again(text)

    def tell_again(self, text: str, *, told: Iterable[str] = ()) -> None:
        """The same, whatever was said before, and however much. The surfaces `told` know it."""
        for slot in self._slots:
            slot.add_remark(Remark(text=text, told=set(told)))

    def troubles(self) -> dict[str, str | None]:
        return {slot.name: slot.trouble for slot in self._slots}

    def remarks(self) -> list[str]:
        """What the owner should know of channels that work, and of the hub where they do not."""
        found = [r for slot in self._slots if slot.channel for r in slot.channel.remarks]
        return [*found, confined] if (confined := self.confined()) else found

    def confined(self) -> str | None:
        """Where a chat does not work: why none can from here, and what to do."""
        in_trouble = any(slot.trouble for slot in self._slots if slot.is_chat)
        return self._confinement() if in_trouble else None

    def reach(
        self,
        surfaces: Iterable[str],
        *,
        since: float | None = None,
        places: Collection[str] = (),
    ) -> Reach:
        """Which channels these surfaces belong to, and why the others are not among them. What is
        there `since` a moment may be on its way to any channel that works. `places`: it is shown
        only there, if there are some."""
        shown = {surface.partition(":")[0] for surface in surfaces}
        there = {place.partition(":")[0] for place in places}
        slots = [s for s in self._slots if not there or s.name in there | shown]
        new = since is not None and self._clock.time() - since < ON_ITS_WAY_SECONDS
        coming = (s for s in slots if s.name not in shown and s.is_chat)
        return Reach(
            confined=self.confined(),
            coming=any(slot.trouble is None for slot in coming),
            unsure=new and any(slot.trouble is None for slot in slots),
            shown=tuple(slot.name for slot in slots if slot.name in shown),
            missing=tuple(
                (slot.name, slot.trouble or slot.unwatched or "not shown yet")
                for slot in slots
                if slot.name not in shown
            ),
        )

    async def pages_open(self) -> None:
        """Return once each page can be opened, or is known to fail; soon in any case."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAGES_OPEN_SECONDS):
                for slot in self._slots:
                    if not slot.is_chat:
                        await slot.tried.wait()

    async def drained(self) -> None:
        """Return once each channel that can be reached has put in its backlog."""
        async with asyncio.TaskGroup() as group:  # one that takes long must not keep the others
            for slot in self._slots:
                group.create_task(slot.drained())

    async def _keep_up(self, slot: SupervisedChannel, inbox: AskActions) -> None:
        backoff = Backoff()
        while True:
            least = 0.0
            try:
                await self._serve(slot, inbox)
                slot.failed(f"{slot.name} has ended, and is started again")
            except ChatbridgeError as error:
                least = getattr(error, "after", None) or 0.0
                if not (isinstance(error, RetryLater) and error.after is not None and slot.trouble):
                    slot.failed(str(error))  # else a pause would hide what is the matter
            except Exception as error:
                log.exception("%s failed", slot.name)
                slot.failed(f"{slot.name} failed ({type(error).__name__}). The hub's log says more")
            confined = self.confined()
            if confined and confined != self._confined:
                log.error("%s", confined)
            self._confined = confined
            if slot.worked:
                slot.worked, backoff = False, Backoff()
            slot.tried.set()
            await self._clock.sleep(max(backoff.grow(), least))

    async def _serve(self, slot: SupervisedChannel, inbox: AskActions) -> None:
        channel = await asyncio.to_thread(slot.build)
        ready = asyncio.Event()
        # One of these that fails for ever leaves the channel able to take answers.
        delivering = Background(clock=self._clock, faults=self._faults)
        served: dict[str, asyncio.Task[None]] = {}

        def serve_surfaces() -> None:
            surfaces = {surface.name: surface for surface in channel.surfaces}
            for name in served.keys() - surfaces.keys():
                served.pop(name).cancel()
            for name, surface in surfaces.items():
                if name not in served:
                    serve = partial(self._delivery.serve, surface, ready=ready)
                    served[name] = delivering.keep(name, serve)

        def now_ready() -> None:
            slot.works(channel)
            serve_surfaces()
            ready.set()

        serve_surfaces()
        telling = partial(slot.tell_remarks, channel, ready, self._clock)
        delivering.keep(f"remarks to {slot.name}", telling)
        running = asyncio.ensure_future(channel.run(inbox, ready=now_ready))
        try:
            await asyncio.wait({running})
        finally:
            await delivering.close()  # first: they use what the channel closes
            await end_tasks([running])
        running.result()


@dataclass(slots=True, eq=False)
class SupervisedChannel:
    name: str
    build: Callable[[], Channel]
    unwatched: str | None
    channel: Channel | None = None
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    worked: bool = False  # Whether it came up since it was last tried
    _remarks: deque[Remark] = field(default_factory=deque)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: str | None = None

    @property
    def is_chat(self) -> bool:
        return self.unwatched is None

    @property
    def trouble(self) -> str | None:
        return self.channel.trouble if self.channel else self._failure

    def works(self, channel: Channel) -> None:
        if self._failure is not None:
            log.info("%s is available again", self.name)
        self.channel, self._failure, self.worked = channel, None, True
        self.tried.set()

    def add_remark(self, remark: Remark) -> None:
        if len(self._remarks) < MOST_QUEUED_REMARKS:
            self._remarks.append(remark)
            self._news.set()

    async def tell_remarks(self, channel: Channel, ready: asyncio.Event, clock: Clock) -> None:
        """One that was not told everywhere stays, also for the channel that comes after this."""
        await ready.wait()
        while True:
            self._news.clear()
            if not self._remarks:
                await self._news.wait()
            try:
                await channel.tell(self._remarks[0])
            except (RetryLater, TokenRejected) as error:
                await clock.sleep(error.after or MAX_PAUSE_SECONDS)
            except Exception:
                self._remarks.popleft()  # it would fail again
                raise
            else:
                self._remarks.popleft()

    async def drained(self) -> None:
        await self.tried.wait()
        if self.channel is not None:
            await self.channel.drain()

    def failed(self, why: str) -> None:
        """A channel that is out for a night is one line in the log, unless the reason changes."""
        if why != self._failure:
            log.error("%s is not available: %s", self.name, why)
        self.channel, self._failure = None, why
