"""Notices: kept before they are sent, sent once for each call, later if they cannot be sent now."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.notice import Level, Notice
from chatbridge.core.ports import Clock, Store, Transaction


class Notices:
    def __init__(self, store: Store, *, clock: Clock, announce: Callable[[Notice], None]) -> None:
        """`announce` is told of each new notice, after it was kept."""
        self._store = store
        self._clock = clock
        self._announce = announce
        self._waiting: dict[str, asyncio.Event] = {}

    async def send(
        self,
        name: CallName,
        *,
        project: Project,
        agent: Agent,
        message: str,
        title: str = "",
        level: Level = Level.INFO,
    ) -> Notice:
        """The notice of this call: a new one, or that of before if the call is repeated."""
        fresh = Notice(
            id=str(uuid.uuid4()),
            call=name,
            project=project,
            agent=agent,
            message=message,
            title=title,
            level=level,
            at=self._clock.time(),
        )

        async def work(tx: Transaction) -> Notice:
            return await tx.add_notice(fresh)

        notice = await self._store.write(work)
        if notice.id == fresh.id:
            self._announce(notice)
        return notice

    def taken(self, notice_id: str) -> None:
        """A surface has shown this notice."""
        if waiting := self._waiting.get(notice_id):
            waiting.set()

    async def surfaces(
        self, notice: Notice, *, enough: Callable[[frozenset[str]], bool], within: float
    ) -> frozenset[str]:
        """The surfaces that have taken this notice, once they are enough or the time is over."""
        news = self._waiting.setdefault(notice.id, asyncio.Event())
        limit = asyncio.ensure_future(self._clock.sleep(within))
        try:
            while True:
                news.clear()
                taken = frozenset(await self._store.notice_surfaces(notice.id))
                if limit.done() or enough(taken):
                    return taken
                heard = asyncio.ensure_future(news.wait())
                await asyncio.wait({limit, heard}, return_when=asyncio.FIRST_COMPLETED)
                heard.cancel()
        finally:
            limit.cancel()
            if self._waiting.get(notice.id) is news:
                del self._waiting[notice.id]
