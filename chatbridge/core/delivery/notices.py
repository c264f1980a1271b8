"""Notices: stored first, then sent once for each call, and later if they cannot be sent now."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol

from chatbridge.core.bounds import bound_text
from chatbridge.core.errors import TooManyNotices
from chatbridge.core.model import Agent, Attachment, CallName, Level, Notice, OperationEnd, Project
from chatbridge.core.policy import PARTY_FACTOR, TOTAL_FACTOR
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import race

MINUTE_SECONDS = 60.0
MAX_NOTICES_PER_MINUTE = 20


class NoticeDelivery(Protocol):
    """The part of delivery that shows notices."""

    def announce(self, notice: Notice) -> None: ...

    async def tried(self, notice_id: str) -> None:
        """Return once no working surface has this notice in its queue."""


@dataclass(frozen=True, slots=True)
class Notices:
    store: Store
    delivery: NoticeDelivery
    clock: Clock

    async def send(
        self,
        name: CallName,
        *,
        project: Project,
        agent: Agent,
        message: str,
        title: str = "",
        level: Level = Level.INFO,
        attachments: tuple[Attachment, ...] = (),
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
            at=self.clock.time(),
            attachments=attachments,
            operation=operation,
        )

        async def work(tx: Transaction) -> Notice:
            kept = await tx.add_notice(fresh)
            if kept.id == fresh.id and operation is None:
                await _check_flood(tx, fresh, shared_link=shared_link)
            return kept

        def announce(notice: Notice) -> None:
            if notice.id == fresh.id:
                self.delivery.announce(notice)

        return await self.store.write(work, then=announce)

    async def surfaces(self, notice: Notice, *, within: float) -> frozenset[str]:
        """Return the surfaces that have shown this notice, after all working ones have tried or
        after `within` seconds."""
        await race(self.delivery.tried(notice.id), self.clock.sleep(within))
        return frozenset(await self.store.notice_surfaces(notice.id))


async def _check_flood(tx: Transaction, notice: Notice, *, shared_link: bool) -> None:
    """:raises TooManyNotices: together with this one, which is stored already."""

    async def check(limit: int, *, link: str | None = None, party: str | None = None) -> None:
        # Notices after `until` come from a clock that has been set back.
        since, until = notice.at - MINUTE_SECONDS, notice.at
        if await tx.count_notices(link=link, party=party, since=since, until=until) > limit:
            raise TooManyNotices(limit=limit, of_agent=link is not None)

    if not shared_link:
        await check(MAX_NOTICES_PER_MINUTE, link=notice.call.link)
    await check(PARTY_FACTOR * MAX_NOTICES_PER_MINUTE, party=notice.project.party)
    if not notice.project.outsider:
        await check(TOTAL_FACTOR * MAX_NOTICES_PER_MINUTE)
