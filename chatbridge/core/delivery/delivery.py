"""Delivery: makes each surface show the current revision of every ask.

A reconciler: it compares the revision that a surface shows with the ask's, and posts or edits until
they agree. Nothing else sends messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from chatbridge.core.asks.ask_actions import REPAIR_SECONDS
from chatbridge.core.delivery import message_posts
from chatbridge.core.delivery.message_posts import MessagePosts
from chatbridge.core.delivery.queue import MAX_PASSED_OVER, AskQueue, RateLimiter, Urgency
from chatbridge.core.delivery.summary_post import SummaryPost
from chatbridge.core.errors import (
    ChatbridgeError,
    ChatRefused,
    PostGone,
    RetryLater,
    StoreError,
    TokenRejected,
)
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Draft, Notice, Post
from chatbridge.core.nights.hours import Period
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.summary import BuildSummary
from chatbridge.core.ports import Clock, Shown, Surface
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import Backoff, race

log = logging.getLogger(__name__)

TURNS_FOR_THE_AGENT = 4
"""Turns of the event loop before the end of an ask is drawn on a surface that rested. Drawing and
sending a card takes some milliseconds; the agent that waits for the answer gets it before. A busy
surface gives none: a page is told of many ends at once."""
SURFACE_ERRORS = (RetryLater, ChatRefused, TokenRejected, StoreError)
"""Errors that affect the whole surface. Any other error may be due to the ask itself."""


class Delivery:
    def __init__(self, store: Store, *, clock: Clock, nights: Nights | None = None) -> None:
        self._store = store
        self._clock = clock
        self._nights = nights or Nights()
        self._queues: list[SurfaceQueue] = []
        self._unrecorded: dict[str, Unrecorded] = {}  # By surface: outlives a channel's restart
        self._attempt = asyncio.Event()  # Set when a surface has tried to show a notice
        self._summary: tuple[Period, BuildSummary] | None = None  # The latest

    def changed(self, ask: Ask) -> None:
        """Queue the new revision of an ask. Returns at once."""
        for queue in self._queues:
            queue.add(ask)

    def announce(self, notice: Notice) -> None:
        """Queue a new notice. Returns at once."""
        for queue in self._queues:
            queue.add_notice(notice)

    def report(self, message: OwnerMessage) -> None:
        """Queue the new state of a message, for the chat in which it was written. Returns at
        once."""
        for queue in self._queues:
            queue.add_message(message)

    def summarize(self, period: Period, build: BuildSummary) -> None:
        """Let each chat have the summary of this period, once. Returns at once."""
        self._summary = period, build
        for queue in self._queues:
            queue.add_summary(period, build)

    async def tried(self, notice_id: str) -> None:
        """Return once no working surface has this notice in its queue."""
        while any(queue.about_to_show(notice_id) for queue in self._queues):
            await self._attempt.wait()

    def _notice_tried(self) -> None:
        self._attempt.set()
        self._attempt = asyncio.Event()

    async def serve(self, surface: Surface, *, ready: asyncio.Event) -> None:
        """Keep one surface up to date until cancelled. Changes are queued from now on. Once the
        surface is ready, it first shows what it has missed."""
        unrecorded = self._unrecorded.setdefault(surface.name, Unrecorded())
        tried, limiter = self._notice_tried, RateLimiter(surface.pace)
        queue = SurfaceQueue(
            surface, self._store, self._clock, self._nights, unrecorded, tried, limiter
        )
        self._queues.append(queue)
        if self._summary is not None:
            queue.add_summary(*self._summary)
        try:
            await ready.wait()
            await queue.run()
        finally:
            self._queues.remove(queue)
            self._notice_tried()


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """What is shown, but not yet recorded in the store."""

    posts: dict[str, tuple[Post, tuple[str, ...]]] = field(default_factory=dict)
    notices: dict[str, str | None] = field(default_factory=dict)  # With the message that shows it
    messages: message_posts.Unrecorded = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class SurfaceQueue:
    """The work of one surface: the newest state of each ask that it may not show yet."""

    _surface: Surface
    _store: Store
    _clock: Clock
    _nights: Nights
    _unrecorded: Unrecorded
    _on_notice_tried: Callable[[], None]
    _rate_limiter: RateLimiter
    _pending: AskQueue = field(default_factory=AskQueue)
    _shown_drafts: dict[str, Draft] = field(default_factory=dict)
    """Open asks that are shown, with the draft that the card shows: a person who has tapped on it
    waits for the effect."""
    _notices: OrderedDict[str, Notice] = field(default_factory=OrderedDict)
    _passed_over: int = 0  # Asks shown since a notice started to wait
    _work: asyncio.Event = field(default_factory=asyncio.Event)
    _rested: bool = False
    _refused: bool = False
    _backoff: Backoff = field(default_factory=Backoff)
    _ask_backoffs: dict[str, Backoff] = field(default_factory=dict)  # Of single asks that fail
    _messages: MessagePosts = field(init=False)
    _summary: SummaryPost = field(init=False)

    def __post_init__(self) -> None:
        self._messages = MessagePosts(self._surface, self._store, self._unrecorded.messages)
        self._summary = SummaryPost(self._surface, self._store, self._clock)

    def add(self, ask: Ask) -> None:
        """Queue an ask. Several changes while the surface is busy become one."""
        known = self._pending.get(ask.id)
        if known is None or known.revision <= ask.revision:
            self._pending.put(ask, self._urgency(ask), first=ask.id in self._shown_drafts or None)
            if ask.id in self._ask_backoffs:
                self._ask_backoffs[ask.id].until = 0.0  # the new revision may work
            self._summary.asks_changed()
            self._work.set()

    def add_notice(self, notice: Notice) -> None:
        # A page has everything. Where cards go only says what comes to people by itself.
        hidden = self._nights.hides_notice(notice, surface=self._surface.name)
        if hidden and self._surface.persistent:
            return
        self._notices[notice.id] = notice
        self._work.set()

    def add_message(self, message: OwnerMessage) -> None:
        if self._surface.persistent and self._messages.add(message):
            self._work.set()

    def add_summary(self, period: Period, build: BuildSummary) -> None:
        name = self._surface.name
        if self._surface.persistent and not self._nights.is_for_escalation(name):
            self._summary.want(period, build)
            self._work.set()

    def about_to_show(self, notice_id: str) -> bool:
        return notice_id in self._notices and not self._backoff.failures

    async def run(self) -> None:
        while pause := await self._catch_up():
            await self._clock.sleep(pause)
        while True:
            if limited := self._rate_limiter.pause(self._clock.monotonic()):
                await self._clock.sleep(limited)
            pause = 0.0
            self._work.clear()  # before showing: what comes meanwhile is new work
            ask = self._next()
            if ask is not None:
                self._passed_over += 1 if self._notices else 0
                pause = await self._try(ask)
            elif self._notices:
                pause = await self._try_notice(next(iter(self._notices.values())))
                self._on_notice_tried()
            elif self._messages.due:
                pause = await self._try_message()
            elif self._summary.due:  # last, so that it is below the cards
                pause = await self._try_summary()
            elif waiting_until := [self._ask_backoffs[ask_id].until for ask_id in self._pending]:
                due_in = min(waiting_until) - self._clock.monotonic()
                await race(self._work.wait(), self._clock.sleep(due_in))
            else:
                await self._work.wait()
                self._rested = True
            if pause and self._refused:  # somebody may let the bot in, so new work is tried
                await race(self._clock.sleep(pause), self._work.wait())
            elif pause:
                await self._clock.sleep(pause)

    async def _catch_up(self) -> float:
        """Queue what a chat has missed; a page reads it when it opens. Return the pause after a
        failure."""
        if not self._surface.persistent:
            return 0.0
        since = self._clock.time() - REPAIR_SECONDS
        try:
            for ask in await self._store.behind(surface=self._surface.name, since=since):
                self.add(ask)
            name = self._surface.name
            for notice in await self._store.notices_behind(surface=name, since=since):
                self.add_notice(notice)
            for message in await self._store.messages_behind(surface=name):
                self.add_message(message)
        except StoreError as error:
            return self._pause("what it shows is not known yet", error)
        return 0.0

    def _next(self) -> Ask | None:
        """Take the next ask. Asks come before notices, but not all the time."""
        if self._notices and self._passed_over >= MAX_PASSED_OVER:
            return None
        now, never = self._clock.monotonic(), Backoff()
        return self._pending.take(lambda ask: self._ask_backoffs.get(ask, never).until <= now)

    def _urgency(self, ask: Ask) -> Urgency:
        """Only a person's input and the end of an ask go before other cards: an agent can change
        its own card as often as it likes."""
        shown = self._shown_drafts.get(ask.id)
        if shown is not None and (ask.draft != shown or not ask.open):
            return Urgency.ANSWERING
        new_approval = shown is None and ask.open and ask.approval
        return Urgency.APPROVAL if new_approval else Urgency.ANYTHING

    async def _try(self, ask: Ask) -> float:
        """Show the ask. Return the pause if the whole surface failed."""
        if self._rested and not ask.open:
            for _ in range(TURNS_FOR_THE_AGENT):
                await asyncio.sleep(0)
        self._rested = False
        try:
            shown = await self._show(ask)
        except SURFACE_ERRORS as error:
            posted = ask.id in self._shown_drafts
            # A pause that the service asks for is not about this ask: it keeps its position.
            asked = isinstance(error, RetryLater) and error.after is not None
            keep_position = not self._backoff.failures if posted else ask.open and asked
            self._put_back(ask, first=keep_position)
            return self._pause(f"ask {ask.id} not shown yet", error)
        except Exception as error:  # noqa: BLE001 - a surface's fault ends neither the other asks nor the channels
            self._back_off(ask, error)
            return 0.0
        self._ask_backoffs.pop(ask.id, None)
        if shown and self._backoff.failures:
            log.info("%s: shows questions again", self._surface.name)
            self._backoff = Backoff()
        return 0.0

    async def _try_notice(self, notice: Notice) -> float:
        """Show the notice. Return the pause if the whole surface failed."""
        name, self._passed_over = self._surface.name, 0
        try:
            if notice.id in self._unrecorded.notices or await self._announce(notice):
                handle = self._unrecorded.notices.setdefault(notice.id, None)
                await self._store.write(
                    lambda tx: tx.save_notice_post(notice.id, surface=name, handle=handle)
                )
                del self._unrecorded.notices[notice.id]
        except SURFACE_ERRORS as error:
            return self._pause(f"notice {notice.id} not shown yet", error)
        except Exception as error:  # noqa: BLE001 - a surface's fault ends neither the asks nor the channels
            log.error("%s: notice %s cannot be shown: %s", name, notice.id, error)
        self._notices.pop(notice.id, None)
        self._backoff = Backoff()
        return 0.0

    async def _try_message(self) -> float:
        """Say what has become of a message. Return the pause if the whole surface failed."""
        message_id = self._messages.next_id
        try:
            shown = await self._messages.show_next()
        except SURFACE_ERRORS as error:
            self._rate_limiter.spend(self._clock.monotonic(), edit=False)
            return self._pause(f"the state of message {message_id} is not shown yet", error)
        except Exception as error:  # noqa: BLE001 - a surface's fault ends neither the asks nor the channels
            self._messages.drop(message_id)
            log.error("%s: message %s: %s", self._surface.name, message_id, error)
            return 0.0
        if shown is not None:
            self._rate_limiter.spend(self._clock.monotonic(), edit=not shown.messages)
            self._backoff = Backoff()
        return 0.0

    async def _try_summary(self) -> float:
        """Bring the summary up to date. Return the pause if the whole surface failed."""
        try:
            shown = await self._summary.update()
        except SURFACE_ERRORS as error:
            self._rate_limiter.spend(self._clock.monotonic(), edit=False)
            return self._pause("the summary is not shown yet", error)
        except Exception:
            log.exception("%s: the summary cannot be shown", self._surface.name)
            return 0.0
        if shown is not None:
            self._rate_limiter.spend(self._clock.monotonic(), edit=not shown.messages)
            self._backoff = Backoff()
        return 0.0

    async def _announce(self, notice: Notice) -> bool:
        """Return whether somebody can see it now."""
        try:
            shown = await self._surface.announce(notice)
            if isinstance(shown, bool):
                return shown
            self._unrecorded.notices[notice.id] = next(iter(shown.handles), None)
            return True
        finally:
            self._rate_limiter.spend(self._clock.monotonic(), edit=False)

    def _put_back(self, ask: Ask, *, first: bool) -> None:
        """`first`: at its old position. Otherwise last, so that a card that cannot be edited does
        not block new ones."""
        newest = self._pending.get(ask.id) or ask
        urgency = self._urgency(newest) if first else Urgency.ANYTHING
        self._pending.put(newest, urgency, first=first)

    def _pause(self, what: str, error: Exception) -> float:
        """Return the next pause. A repeated error is logged once, not at every attempt."""
        self._refused = isinstance(error, ChatRefused)
        pause = self._backoff.grow()
        level = logging.WARNING if self._backoff.is_new(error) else logging.DEBUG
        log.log(level, "%s: %s: %s", self._surface.name, what, error)
        after = error.after if isinstance(error, RetryLater) else None
        return pause if after is None else after

    def _back_off(self, ask: Ask, error: Exception) -> None:
        self._put_back(ask, first=False)
        backoff = self._ask_backoffs.setdefault(ask.id, Backoff())
        backoff.until = self._clock.monotonic() + backoff.grow()
        level = logging.ERROR if backoff.is_new(error) else logging.DEBUG
        fault = None if isinstance(error, ChatbridgeError) else error
        shown = (self._surface.name, ask.id, error)
        log.log(level, "%s: ask %s cannot be shown: %s", *shown, exc_info=fault)

    async def _show(self, ask: Ask) -> bool:
        """Show the ask if needed. Return whether something was shown."""
        name = self._surface.name
        if not self._surface.persistent:
            await self._show_live(ask)
            return True
        if ask.id in self._unrecorded.posts:
            await self._record(*self._unrecorded.posts[ask.id])
        post = await self._store.post(ask.id, surface=name)
        if post.revision >= ask.revision if post else not ask.open:
            return False  # it is shown, or ended before it was shown
        wanted, now = post is not None or self._surface.wants(ask), self._clock.time()
        if not wanted and self._nights.is_hidden(ask, surface=name, now=now):
            return False  # the broker lets it be shown when that is over
        place = post.place if post else None
        try:
            shown = await self._send(ask, place)
        except PostGone:
            if ask.open:
                place = None
                shown = await self._send(ask, None)
            else:  # an ended ask is not posted again
                assert place is not None
                shown = Shown(place=place)
        if not ask.open:
            self._shown_drafts.pop(ask.id, None)
        elif shown.complete or shown.cleanup_only:
            self._shown_drafts[ask.id] = ask.draft
        for _ in range(shown.messages - (place is None)):
            self._rate_limiter.spend(self._clock.monotonic(), edit=False)
        revision = ask.revision if shown.complete else ask.revision - 1
        if not shown.seen and (post is None or not post.revision):
            revision = 0  # only what the surface has to remember of it
        post = Post(ask_id=ask.id, surface=name, place=shown.place, revision=revision)
        await self._record(post, shown.handles)
        if not shown.complete:
            self._put_back(ask, first=not shown.cleanup_only)
        return True

    async def _send(self, ask: Ask, place: str | None) -> Shown:
        """Send the card. Charge the rate limiter afterwards: the service may count from then."""
        try:
            return await self._surface.show(ask, place=place)
        finally:
            self._rate_limiter.spend(self._clock.monotonic(), edit=place is not None)

    async def _show_live(self, ask: Ask) -> None:
        """Show the ask on a live page. Record once that somebody could see it."""
        shown = await self._surface.show(ask, place=None)
        if not ask.open:
            self._shown_drafts.pop(ask.id, None)
        elif ask.id in self._shown_drafts:
            self._shown_drafts[ask.id] = ask.draft
        elif shown.seen:
            name = self._surface.name
            post = Post(ask_id=ask.id, surface=name, place=shown.place, revision=ask.revision)
            await self._record(post)
            self._shown_drafts[ask.id] = ask.draft

    async def _record(self, post: Post, handles: tuple[str, ...] = ()) -> None:
        """Record the post. It stays unrecorded if that fails: otherwise each retry on a full disk
        would post another card."""
        self._unrecorded.posts[post.ask_id] = post, handles
        await self._store.write(lambda tx: tx.save_post(post, handles=handles))
        del self._unrecorded.posts[post.ask_id]
