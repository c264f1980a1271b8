"""Delivery: brings what each surface shows into line with the asks.

A reconciler, not a sequence: it compares the revision a surface shows with the ask's and posts or
edits until they agree. Nothing else sends messages. Pacing, pauses that a service asks for and
back-off live here, once, for all channels.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from chatbridge.core.delivery.queue import MAX_PASSED_OVER, FairQueue, RateLimiter, Urgency
from chatbridge.core.errors import (
    ChatbridgeError,
    ChatRefused,
    PostGone,
    RetryLater,
    StoreError,
    TokenRejected,
)
from chatbridge.core.model import Ask, Draft, Notice, Post
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock, Shown, Surface
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

REPAIR_SECONDS = 2 * DAY
"""How long after its end an ask's card is still brought up to date after a start."""
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
SURFACE_ERRORS = (RetryLater, ChatRefused, TokenRejected, StoreError)
"""With these the next ask would fail like this one; any other failure may be this ask's own."""


class Delivery:
    def __init__(self, store: Store, *, clock: Clock) -> None:
        self.tried: Callable[[str], None] = lambda _notice_id: None
        """Told when a surface has tried to show a notice."""
        self._store = store
        self._clock = clock
        self._lanes: list[SurfaceQueue] = []
        self._not_noted: dict[str, Unrecorded] = {}
        """By surface: a lane may be begun again."""

    def changed(self, ask: Ask) -> None:
        """An ask has a new revision. Returns at once."""
        for lane in self._lanes:
            lane.add(ask)

    def announce(self, notice: Notice) -> None:
        """There is a new notice. Returns at once."""
        for lane in self._lanes:
            lane.add_notice(notice)

    def about_to_show(self, notice_id: str) -> bool:
        """Whether a surface that works has not come to this notice yet."""
        return any(lane.about_to_show(notice_id) for lane in self._lanes)

    async def serve(self, surface: Surface, *, ready: asyncio.Event) -> None:
        """Keep one surface up to date until cancelled, once it is ready. Changes count from now
        on; what was missed before is shown first."""
        not_noted = self._not_noted.setdefault(surface.name, Unrecorded())
        lane = SurfaceQueue(surface, self._store, self._clock, not_noted, tried=self.tried)
        self._lanes.append(lane)
        try:
            await ready.wait()
            await lane.run()
        finally:
            self._lanes.remove(lane)


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """What is shown, but not yet known to the store."""

    posts: dict[str, tuple[Post, tuple[str, ...]]] = field(default_factory=dict)
    notices: set[str] = field(default_factory=set)


class SurfaceQueue:
    """One surface's work: the newest state of each ask that it may not show yet."""

    def __init__(
        self,
        surface: Surface,
        store: Store,
        clock: Clock,
        not_noted: Unrecorded,
        *,
        tried: Callable[[str], None],
    ) -> None:
        self._surface = surface
        self._tried = tried
        self._store = store
        self._clock = clock
        self._meter = RateLimiter(surface.pace)
        self._pending = FairQueue()
        self._posted: dict[str, Draft] = {}
        """Open asks whose card is out, with what it shows of the person's input: somebody may be
        waiting for what a tap on it does."""
        self._notices: OrderedDict[str, Notice] = OrderedDict()
        self._passed_over = 0
        """How many asks were shown while a notice waits."""
        self._not_noted = not_noted.posts
        self._announced = not_noted.notices
        self._work = asyncio.Event()
        self._refused = False
        self._trouble = Backoff()
        self._troubles: dict[str, Backoff] = {}
        """Of single asks, while the others go on."""

    def add(self, ask: Ask) -> None:
        """Several changes of one ask while the surface is busy become one."""
        known = self._pending.get(ask.id)
        if known is None or known.revision <= ask.revision:
            self._pending.put(ask, self._urgency(ask), first=ask.id in self._posted or None)
            if ask.id in self._troubles:
                self._troubles[ask.id].until = 0.0  # what is new in it may go
            self._work.set()

    def add_notice(self, notice: Notice) -> None:
        self._notices[notice.id] = notice
        self._work.set()

    def about_to_show(self, notice_id: str) -> bool:
        return notice_id in self._notices and not self._trouble.failures

    async def run(self) -> None:
        while pause := await self._catch_up():
            await self._clock.sleep(pause)
        while True:
            if pause := self._meter.pause(self._clock.monotonic()):
                await self._clock.sleep(pause)
            self._work.clear()  # what comes while something is being shown is news, too
            ask = self._next()
            if ask is not None:
                self._passed_over += 1 if self._notices else 0
                if pause := await self._try(ask):
                    await self._rest_for(pause)
            elif self._notices:
                if pause := await self._try_notice(next(iter(self._notices.values()))):
                    await self._rest_for(pause)
            else:
                await self._until_work()

    async def _catch_up(self) -> float:
        """What a page shows it reads itself when it opens; a chat has to be told. How long to
        pause after it failed."""
        if not self._surface.persistent:
            return 0.0
        since = self._clock.time() - REPAIR_SECONDS
        try:
            for ask in await self._store.behind(surface=self._surface.name, since=since):
                self.add(ask)
            name = self._surface.name
            for notice in await self._store.notices_behind(surface=name, since=since):
                self.add_notice(notice)
        except StoreError as error:
            return self._pause("what it shows is not known yet", error)
        return 0.0

    def _next(self) -> Ask | None:
        """What waits for an answer comes before notices; but those have their turn, too."""
        now = self._clock.monotonic()
        if self._notices and self._passed_over >= MAX_PASSED_OVER:
            return None

        def ready(ask_id: str) -> bool:
            trouble = self._troubles.get(ask_id)
            return trouble is None or trouble.until <= now

        return self._pending.take(ready)

    def _urgency(self, ask: Ask) -> Urgency:
        """An agent can make its own card change as often as it likes; only what a person does to
        it, and its end, go before the cards of others."""
        shown = self._posted.get(ask.id)
        if shown is not None and (ask.draft != shown or not ask.open):
            return Urgency.ANSWERING
        new_approval = shown is None and ask.open and ask.approval
        return Urgency.APPROVAL if new_approval else Urgency.ANYTHING

    async def _until_work(self) -> None:
        """Until something changes, or a single ask is to be tried again."""
        if resting := [self._troubles[ask_id].until for ask_id in self._pending]:
            await race(self._work.wait(), self._sleep_until(min(resting)))
        else:
            await self._work.wait()

    async def _rest_for(self, pause: float) -> None:
        """A chat that refuses may have changed its mind when something new comes up: somebody has
        just let the bot in."""
        if not self._refused:
            await self._clock.sleep(pause)
            return
        await race(self._clock.sleep(pause), self._work.wait())

    async def _sleep_until(self, when: float) -> None:
        await self._clock.sleep(when - self._clock.monotonic())

    async def _try(self, ask: Ask) -> float:
        """Show the ask; how long to pause after the whole surface failed."""
        try:
            shown = await self._show(ask)
        except SURFACE_ERRORS as error:
            after = error.after if isinstance(error, RetryLater) else None
            posted = ask.id in self._posted
            # A pause that is asked for is not about this ask: new cards come in their order.
            in_turn = not self._trouble.failures if posted else ask.open and after is not None
            self._put_back(ask, first=in_turn)
            self._refused = isinstance(error, ChatRefused)
            return self._pause(f"ask {ask.id} not shown yet", error, after=after)
        except Exception as error:  # noqa: BLE001 - a surface's fault ends neither the other asks nor the channels
            self._rest(ask, error)
            return 0.0
        self._troubles.pop(ask.id, None)
        if shown and self._trouble.failures:
            log.info("%s: shows questions again", self._surface.name)
            self._trouble = Backoff()
        return 0.0

    async def _try_notice(self, notice: Notice) -> float:
        """Show the notice; how long to pause after the whole surface failed."""
        name, self._passed_over = self._surface.name, 0

        async def work(tx: Transaction) -> None:
            await tx.save_notice_post(notice.id, surface=name)

        try:
            if notice.id in self._announced or await self._announce(notice):
                self._announced.add(notice.id)
                await self._store.write(work)
                self._announced.discard(notice.id)
        except SURFACE_ERRORS as error:
            after = error.after if isinstance(error, RetryLater) else None
            self._refused = isinstance(error, ChatRefused)
            pause = self._pause(f"notice {notice.id} not shown yet", error, after=after)
            self._tried(notice.id)
            return pause
        except Exception as error:  # noqa: BLE001 - a surface's fault ends neither the asks nor the channels
            log.error("%s: notice %s cannot be shown: %s", name, notice.id, error)
        self._notices.pop(notice.id, None)
        if self._trouble.failures:
            self._trouble = Backoff()
        self._tried(notice.id)
        return 0.0

    async def _announce(self, notice: Notice) -> bool:
        try:
            return await self._surface.announce(notice)
        finally:
            self._meter.spend(self._clock.monotonic(), edit=False)

    def _put_back(self, ask: Ask, *, first: bool) -> None:
        """`first`: where it was. Otherwise after everything else, so that a card that cannot be
        edited keeps no new one back."""
        newest = self._pending.get(ask.id) or ask
        urgency = self._urgency(newest) if first else Urgency.ANYTHING
        self._pending.put(newest, urgency, first=first)

    def _pause(self, what: str, error: Exception, *, after: float | None = None) -> float:
        """A night without network is one line in the log, not one a minute."""
        pause = self._trouble.grow()
        level = logging.WARNING if self._trouble.is_news(error) else logging.DEBUG
        log.log(level, "%s: %s: %s", self._surface.name, what, error)
        return pause if after is None else after

    def _rest(self, ask: Ask, error: Exception) -> None:
        self._put_back(ask, first=False)
        trouble = self._troubles.setdefault(ask.id, Backoff())
        trouble.until = self._clock.monotonic() + trouble.grow()
        news = trouble.is_news(error)
        log.log(
            logging.ERROR if news else logging.DEBUG,
            "%s: ask %s cannot be shown: %s",
            self._surface.name,
            ask.id,
            error,
            exc_info=None if isinstance(error, ChatbridgeError) else error,
        )

    async def _show(self, ask: Ask) -> bool:
        """Whether there was something to show."""
        name = self._surface.name
        if not self._surface.persistent:
            await self._show_live(ask)
            return True
        if ask.id in self._not_noted:
            await self._note(ask.id)
        post = await self._store.post(ask_id=ask.id, surface=name)
        if post is None and not ask.open:
            return False  # it ended before anybody saw it
        if post is not None and post.revision >= ask.revision:
            return False
        place = post.place if post else None
        try:
            shown = await self._sent(ask, place)
        except PostGone:
            if ask.open:
                place = None
                shown = await self._sent(ask, None)
            else:  # nobody looks there for how it ended
                assert place is not None
                shown = Shown(place=place)
        if not ask.open:
            self._posted.pop(ask.id, None)
        elif shown.complete or shown.cleanup_only:
            self._posted[ask.id] = ask.draft
        for _ in range(shown.messages - (place is None)):
            self._meter.spend(self._clock.monotonic(), edit=False)
        revision = ask.revision if shown.complete else ask.revision - 1
        post = Post(ask_id=ask.id, surface=name, place=shown.place, revision=revision)
        self._not_noted[ask.id] = (post, shown.handles)
        await self._note(ask.id)
        if not shown.complete:
            self._put_back(ask, first=not shown.cleanup_only)
        return True

    async def _sent(self, ask: Ask, place: str | None) -> Shown:
        """Counted at the end: the service may have had it only now, and counts from there."""
        try:
            return await self._surface.show(ask, place=place)
        finally:
            self._meter.spend(self._clock.monotonic(), edit=place is not None)

    async def _show_live(self, ask: Ask) -> None:
        """A page shows it by itself; that somebody could see it is noted once."""
        shown = await self._surface.show(ask, place=None)
        if not ask.open:
            self._posted.pop(ask.id, None)
        elif ask.id in self._posted:
            self._posted[ask.id] = ask.draft
        elif shown.seen:
            post = Post(
                ask_id=ask.id, surface=self._surface.name, place=shown.place, revision=ask.revision
            )
            self._not_noted[ask.id] = (post, ())
            await self._note(ask.id)
            self._posted[ask.id] = ask.draft

    async def _note(self, ask_id: str) -> None:
        """With a full disk every further try would otherwise post another card."""
        post, handles = self._not_noted[ask_id]

        async def work(tx: Transaction) -> None:
            await tx.save_post(post, handles=handles)

        await self._store.write(work)
        del self._not_noted[ask_id]


@dataclass(slots=True)
class Backoff:
    """Failures in a row: longer pauses, and few words."""

    failures: int = 0
    until: float = 0.0
    said: str = ""

    def grow(self) -> float:
        self.failures += 1
        return float(
            min(FIRST_PAUSE_SECONDS * 2.0 ** min(self.failures - 1, 10), MAX_PAUSE_SECONDS)
        )

    def is_news(self, error: Exception) -> bool:
        known, self.said = self.said, str(error)
        return self.said != known or self.failures == 1
