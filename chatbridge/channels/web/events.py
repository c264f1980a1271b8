"""The event stream: tells every open page of every change, and none can hold the hub up.

A page that reads slowly misses intermediate states of an ask, never its newest one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.types import Receive, Scope, Send

from chatbridge.channels.bell import Alert, Bell
from chatbridge.channels.web.render import json_text, output_address
from chatbridge.channels.web.request_parsing import Refusal
from chatbridge.channels.web.sessions import Session
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.serialize import agent_object, ask_object, iso
from chatbridge.core.bounds import Slices
from chatbridge.core.errors import StoreError, UnknownAsk
from chatbridge.core.model import Ask, Notice, OperationEnd, Post

log = logging.getLogger(__name__)

SURFACE = "web"

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]
HEARTBEAT_SECONDS = 15.0
COMMENT = ": alive\n\n"
ALIVE = "event: alive\ndata:\n\n"
"""A page cannot see a comment, and must be able to notice that none comes; a script that reads
every `data` line should not have to know of it. So the page asks for it."""
MAX_STREAMS = 64
"""Of pages, and as many of scripts: neither can keep the others out."""
MAX_WAITING = 4096
"""News that may wait for one page; a page further behind starts anew."""
NOTED = 10_000
"""Open asks that are noted as seen when a page opens."""
RECENT = 50
"""Ended asks that are told to a page that comes back."""
ON_ITS_WAY = 2.0
"""Seconds that pass between a page's counting how long it was away, and its being here again. A
question that rang just before it left may ring again: better than not at all."""


@dataclass(frozen=True, slots=True)
class AskChange:
    """An ask came, changed or ended."""

    ask: Ask
    rings: Mapping[str, str] | None = None
    """What a page that rings says: title and body. None: it stays quiet."""

    @property
    def id(self) -> str:
        return self.ask.id


@dataclass(frozen=True, slots=True)
class Dismissal:
    """A notice was dismissed."""

    id: str


@dataclass(frozen=True, slots=True)
class AgentsChanged:
    """An agent came or went, or something became of a message to one."""

    id: str = "agents"


News = AskChange | Notice | Dismissal | AgentsChanged


@dataclass(slots=True, kw_only=True)
class PageBell(Bell):
    """Says which changes ring on open pages: those that would ring in a chat."""

    _raised: dict[str, int] = field(default_factory=dict)
    """The open asks that have come, and how often each had come back then."""

    def rings(self, ask: Ask) -> bool:
        raised, now = self.nights.raised_on(SURFACE, ask), self.clock.time()
        if not ask.open:
            self._raised.pop(ask.id, None)
        if not ask.open or self._raised.get(ask.id) == raised:
            return False
        if self.nights.is_hidden(ask, surface=SURFACE, now=now):
            return False  # it comes when that is over
        self._raised[ask.id] = raised
        if self.alert(ask) is Alert.SILENT:
            return False
        self.rang(ask)
        return True

    def missed(self, ask: Ask, *, away: float) -> bool:
        """Whether it rings on a page that is back after so many seconds, because it came then."""
        now = self.clock.time()
        if self.nights.is_hidden(ask, surface=SURFACE, now=now):
            return False
        since = Bell(nights=self.nights, clock=self.clock, since=now - away - ON_ITS_WAY)
        return since.alert(ask) is not Alert.SILENT


class Reader:
    """One stream's news that it has not written yet: the newest state of each ask, and notices."""

    def __init__(self, session: Session | None) -> None:
        self.session = session
        """Of the browser that reads. None: a script does."""
        self._waiting: dict[str, News] = {}
        self._news = asyncio.Event()
        self._closed = False

    def tell(self, news: News) -> None:
        missed = self._waiting.get(news.id)
        if isinstance(news, AskChange) and isinstance(missed, AskChange) and news.ask.open:
            news = replace(news, rings=news.rings or missed.rings)
        self._waiting[news.id] = news
        if len(self._waiting) > MAX_WAITING:
            self.close()
        self._news.set()

    def has_seen(self, asks: Sequence[Ask]) -> None:
        """Forget what is no newer than what the page has just been given."""
        for ask in asks:
            waiting = self._waiting.get(ask.id)
            if isinstance(waiting, AskChange) and waiting.ask.revision <= ask.revision:
                del self._waiting[ask.id]

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._news.set()

    async def news(self, *, within: float) -> Sequence[News] | None:
        """Wait for news; empty if that takes too long, None at the end of the stream."""
        try:
            async with asyncio.timeout(within):
                await self._news.wait()
        except TimeoutError:
            return ()
        if self._closed:
            return None
        self._news.clear()
        news = tuple(self._waiting.values())
        self._waiting.clear()
        return news


class Events:
    def __init__(self) -> None:
        self._readers: set[Reader] = set()

    @property
    def watched(self) -> bool:
        """Whether a page is open. A script that reads along is nobody."""
        return any(reader.session for reader in self._readers)

    def publish(self, news: AskChange | Notice) -> None:
        for reader in self._readers:
            reader.tell(news)

    def publish_to_pages(self, news: Dismissal | AgentsChanged) -> None:
        """To pages alone, which then load what there is."""
        for reader in self._readers:
            if reader.session:
                reader.tell(news)

    def close(self, *, of: Session | None = None) -> None:
        """All of them, or those of one session."""
        for reader in self._readers:
            if of in (None, reader.session):
                reader.close()

    @contextmanager
    def reader(self, session: Session | None) -> Iterator[Reader]:
        page = session is not None
        if sum((reader.session is not None) == page for reader in self._readers) >= MAX_STREAMS:
            what = "pages" if page else "streams"
            raise Refusal(503, f"{MAX_STREAMS} {what} are open already. Close one.")
        reader = Reader(session)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStream:
    """The response: all open asks, then what changes. A page that comes back also learns of what
    has ended, however long it was away, and whether or not the hub was restarted meanwhile."""

    events: Events
    inbox: AskActions
    returning: bool
    session: Session | None
    """Of the browser that reads. None: a script does, and nobody sees what is told."""
    heartbeat: float
    sign: str
    """What a quiet stream says every `heartbeat` seconds."""
    brief: bool
    """Only name what changes, for the pages' own script, which then loads what it shows."""
    missed: Callable[[], Awaitable[Sequence[AskChange]]]
    """What a page rings for that is back."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.events.reader(self.session) as reader:
            # Registered before it reads: a change in between is told, at worst twice.
            asks = [] if self.brief else [*await self.inbox.open_asks()]
            if self.returning and not self.brief:
                asks += reversed(await self.inbox.history(limit=RECENT))
            told = [*map(AskChange, asks), *await self.missed()]
            reader.has_seen([change.ask for change in told])
            del asks

            async def until_gone() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                reader.close()

            beside = [asyncio.ensure_future(until_gone())]
            try:
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                await send(_part("retry: 2000\n\n"))
                await self._tell(send, told)
                del told  # it may be thousands of asks, and the stream stays open for days
                if self.session is not None:
                    beside.append(asyncio.ensure_future(self._note_seen()))
                while (news := await reader.news(within=self.heartbeat)) is not None:
                    await (self._tell(send, news) if news else send(_part(self.sign)))
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                for task in beside:
                    task.cancel()

    async def _tell(self, send: Send, news: Sequence[News]) -> None:
        """In parts: a page that opens while many questions are open must not hold the others up."""
        texts, slices = [], Slices()
        for each in news:
            texts.append(_event(each, brief=self.brief))
            if slices.over:
                await send(_part("".join(texts)))
                texts.clear()
                await slices.pause()
        if texts:
            await send(_part("".join(texts)))

    async def _note_seen(self) -> None:
        """Delivery notes what is shown to a page; a page that opens later has to be noted here:
        all open asks, for the list says how many there are, and leads to each."""
        try:
            for row in (await self.inbox.open_rows(limit=NOTED)).rows:
                if await self.inbox.post(row.id, surface=SURFACE) is not None:
                    continue
                with suppress(UnknownAsk):
                    shown = (await self.inbox.ask(row.id)).revision
                    post = Post(ask_id=row.id, surface=SURFACE, place=row.id, revision=shown)
                    await self.inbox.adopt(post, over=None, handles=())
        except StoreError as error:
            log.warning("web: a page is open, which could not be noted: %s", error)


def _part(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


def _event(news: News, *, brief: bool) -> str:
    if isinstance(news, Dismissal):
        return f"event: dismissal\ndata: {json_text({'id': news.id})}\n\n"
    if isinstance(news, AgentsChanged):
        return "event: agents\ndata: {}\n\n"
    if isinstance(news, Notice):
        told: object = {"id": news.id} if brief else notice_object(news)
        return f"event: notice\ndata: {json_text(told)}\n\n"
    ask = news.ask
    told = _brief(news) if brief else ask_object(ask)
    return f"event: ask\nid: {ask.revision}\ndata: {json_text(told)}\n\n"


def _brief(change: AskChange) -> dict[str, Any]:
    rings = {"rings": change.rings} if change.rings else {}
    return {"id": change.id, "revision": change.ask.revision, "open": change.ask.open, **rings}


def notice_object(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "level": notice.level,
        "title": notice.title or None,
        "message": notice.message,
        "at": iso(notice.at),
        "agent": agent_object(notice.agent, notice.project),
        "operation": _end_object(notice.operation) if notice.operation else None,
    }


def _end_object(end: OperationEnd) -> dict[str, Any]:
    return {
        "id": end.id,
        "title": end.title,
        "succeeded": end.succeeded,
        "how": end.how or None,
        "seconds": round(end.took, 3),
        "tail": end.tail or None,
        "output": f"/api{output_address(end.id)}" if end.whole else None,
    }
