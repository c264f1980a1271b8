"""Notices: stored first, then sent once for each call, and later if they cannot be sent now."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Protocol

from chatbridge.core.bounds import bound_text
from chatbridge.core.errors import TooManyNotices
from chatbridge.core.model import Agent, CallName, Level, Notice, OperationEnd, Project
from chatbridge.core.policy import PARTY_FACTOR, TOTAL_FACTOR
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import race

MINUTE_SECONDS = 60.0
MAX_NOTICES_PER_MINUTE = 20


class Announcer(Protocol):
    """The part of delivery that shows notices."""

    on_notice_tried: Callable[[str], None]  # Called with the id of a notice after each attempt

    def announce(self, notice: Notice) -> None: ...

    def about_to_show(self, notice_id: str) -> bool:
        """Whether a working surface still has this notice in its queue."""


class Notices:
    def __init__(self, store: Store, delivery: Announcer, *, clock: Clock) -> None:
        self._store = store
        self._delivery = delivery
        self._clock = clock
        delivery.on_notice_tried = self._on_notice_tried
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
        operation: OperationEnd | None = None,
        shared_link: bool = False,
    ) -> Notice:
        """Store and announce the notice of this call. A repeated call returns the earlier one.
        `shared_link`: several agents use the call's link. :raises TooManyNotices: a looping agent
        must not flood a phone. Notices about operations do not count: chatbridge sends them itself,
        once each."""
        fresh = Notice(
            id=str(uuid.uuid4()),
            call=name,
            project=project,
            agent=agent,
            message=bound_text(message),
            title=bound_text(title),
            level=level,
            at=self._clock.time(),
            operation=operation,
        )

        async def work(tx: Transaction) -> Notice:
            kept = await tx.add_notice(fresh)
            if kept.id == fresh.id and operation is None:
                await _check_flood(tx, fresh, shared_link=shared_link)
            return kept

        def announce(notice: Notice) -> None:
            if notice.id == fresh.id:
                self._delivery.announce(notice)

        return await self._store.write(work, then=announce)

    def _on_notice_tried(self, notice_id: str) -> None:
        if waiting := self._waiting.get(notice_id):
            waiting.set()

    async def surfaces(self, notice: Notice, *, within: float) -> frozenset[str]:
        """Return the surfaces that have shown this notice, after all working ones have tried or
        after `within` seconds."""
        attempt = self._waiting.setdefault(notice.id, asyncio.Event())

        async def all_tried() -> None:
            while self._delivery.about_to_show(notice.id):
                attempt.clear()
                await attempt.wait()

        try:
            await race(all_tried(), self._clock.sleep(within))
            return frozenset(await self._store.notice_surfaces(notice.id))
        finally:
            if self._waiting.get(notice.id) is attempt:
                del self._waiting[notice.id]


async def _check_flood(tx: Transaction, notice: Notice, *, shared_link: bool) -> None:
    """:raises TooManyNotices: together with this one, which is stored already."""

    async def check(limit: int, *, link: str | None = None, party: str | None = None) -> None:
        # Notices after `until` come from a clock that has been set back.
        since, until = notice.at - MINUTE_SECONDS, notice.at
        if await tx.count_notices(link=link, party=party, since=since, until=until) > limit:
            raise TooManyNotices(limit=limit)

    if not shared_link:
        await check(MAX_NOTICES_PER_MINUTE, link=notice.call.link)
    await check(PARTY_FACTOR * MAX_NOTICES_PER_MINUTE, party=notice.project.party)
    if not notice.project.outsider:
        await check(TOTAL_FACTOR * MAX_NOTICES_PER_MINUTE)
