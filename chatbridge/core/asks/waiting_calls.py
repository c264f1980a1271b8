"""Who waits for an ask, and whether the answer has reached them.

Owns calls: their coming, leaving and coming back, and the confirmation that a response was written
to the client. An ask whose callers have all gone stays open; its answer is kept.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from chatbridge.core.asks import transitions
from chatbridge.core.errors import CallCancelled, StoreError
from chatbridge.core.model import Ask, AskRequest, Call, CallName, Status
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""How long after a store error the end of a link is noted again."""
HTTP_SESSION_PREFIX = "http-"
"""How the ids of links begin that cannot repeat their calls to the next hub."""
MAX_CANCELLED_REQUESTS = 1000
"""So many cancelled requests of a link are remembered: who makes ids up must not fill the hub."""
APPROVAL_FETCH_SECONDS = 600.0
"""So long a link waits for a hub; who fetches what was approved after that is no link."""
MIN_LEARNED_LIMIT_SECONDS = 4.0
"""Clients wait for 5 seconds and more. Calls that follow each other faster are meant to."""
LIMIT_TOLERANCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLimit:
    """After how long a link's client gives a call up, as its calls have shown."""

    seconds: float
    cancels: bool
    """Whether it says so."""


class WaitingCalls:
    def __init__(
        self, store: Store, *, clock: Clock, policy: Policy, committed: Callable[[Ask], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._committed = committed
        self._present: dict[str, int] = {}
        """How many connections each link has: one may open before the end of another is seen."""
        self._absent_forgotten = asyncio.Event()
        self._early: dict[str, set[str]] = {}
        """Of each link the requests that were cancelled before anything came of them."""
        self._limits: dict[str, LearnedLimit] = {}
        """By link, while it is connected."""
        self._unexplained: dict[str, tuple[float, float]] = {}
        """By link: when a call was last cancelled without a reason, and how long it had waited."""

    # ── links and calls come and go ───────────────────────────────────────────────────────────────

    def link_opened(self, link: str) -> None:
        self._present[link] = self._present.get(link, 0) + 1

    async def link_closed(self, link: str) -> None:
        """Its calls wait no longer. A link that comes back repeats them; of one that has come back
        already, `resumed` says which calls have gone."""
        left = self._present.pop(link, 1) - 1
        if left:
            self._present[link] = left
            return
        self._early.pop(link, None)
        self._limits.pop(link, None)
        self._unexplained.pop(link, None)

        async def work(tx: Transaction) -> list[Ask]:
            return await self._link_gone(tx, link)

        while link not in self._present:
            try:
                await self._store.write(work, then=self._tell)
                return
            except StoreError as error:
                log.warning("link %s: its calls stay live for now: %s", link, error)
                await self._clock.sleep(RETRY_SECONDS)

    def clear_cancelled(self, name: CallName) -> None:
        """A request of this name has been read. Whatever was cancelled under it was another."""
        self._early.get(name.link, set()).discard(name.request)

    async def cancel(self, name: CallName, *, timed_out: bool | None = False) -> None:
        """The client has cancelled this call. Once it has its response, a ticket too, there is
        nothing left to cancel. One that is still on its way here, for the first time or repeated,
        must not begin: nobody would be there for its answer.

        `timed_out`: the client has waited for as long as it waits for any call; None if it does not
        say."""
        now = self._clock.time()
        # Before the transaction: the call itself may be the next work in the same commit.
        early = self._early.setdefault(name.link, set()) if name.link in self._present else set()
        if len(early) < MAX_CANCELLED_REQUESTS:
            early.add(name.request)

        async def work(tx: Transaction) -> tuple[Call | None, list[Ask]]:
            call = await tx.call(name)
            waits = call is not None and call.live and call.delivered_at is None
            ended = [call] if call is not None and waits else []
            return call, await self._end(tx, ended, for_good=True)

        def tell(found: tuple[Call | None, list[Ask]]) -> None:
            call, changed = found
            if call is not None and call.delivered_at is not None:
                early.discard(name.request)
            elif call is not None and call.live and self._shows_limit(call, now, timed_out):
                self._learn(name.link, now - call.started_at, cancels=True)
            self._tell(changed)

        await self._store.write(work, then=tell)

    async def resumed(self, link: str, *, repeated: set[str]) -> None:
        """A link is back and has repeated its calls, but for those whose response it has and will
        confirm: `repeated` are both. All others have no caller; what was answered meanwhile is
        kept. Whoever holds a ticket has it still, but for an approval's that has not reached its
        client: what has been given up must not be allowed."""

        async def work(tx: Transaction) -> list[Ask]:
            gone, back = [], []
            for call in await tx.live_calls_of(link):
                ask = await tx.ask(call.ask_id)
                if ask is None or call.name.request in repeated:
                    continue
                if not call.ticket or (ask.open and ask.approval and call.delivered_at is None):
                    gone.append(call)
                elif ask.open and (after := await self.rejoin(tx, ask)) is not ask:
                    back.append(after)
            return [*back, *await self._end(tx, gone, for_good=True)]

        await self._store.write(work, then=self._tell)

    async def forget_absent_links(self) -> None:
        """After a start: links that have not come back in time have gone."""
        try:
            await self._clock.sleep(self._policy.return_within)
            await self._forget_absent()
        finally:
            self._absent_forgotten.set()

    async def twins_known(self, request: AskRequest, name: CallName) -> None:
        """After a start an ask may have a caller that died with the hub. A new call with the same
        content waits until it is known whether that one comes back: then it goes on with the ask
        instead of asking a second time. Of a caller over HTTP that is known at once."""

        async def work(tx: Transaction) -> tuple[bool, list[Ask]]:
            wait = False
            changed: list[Ask] = []
            if await tx.call(name) is not None:
                return wait, changed
            for link in await tx.live_links():
                if link in self._present:
                    continue
                for call in await tx.live_calls_of(link, fingerprint=request.fingerprint):
                    ask = await tx.ask(call.ask_id)
                    if ask is None or ask.project.key != request.project.key:
                        continue
                    if not link.startswith(HTTP_SESSION_PREFIX):
                        wait = True
                    elif ask.open:  # not abandoned: the new call is about to go on with it
                        await tx.save_call(replace(call, ended_at=self._clock.time()))
                    else:
                        changed += await self._end(tx, [call])
            return wait, changed

        if not self._absent_forgotten.is_set():
            wait, _ = await self._store.write(work, then=lambda found: self._tell(found[1]))
            if wait:
                await self._absent_forgotten.wait()

    async def _forget_absent(self) -> None:
        async def work(tx: Transaction) -> list[Ask]:
            gone = [link for link in await tx.live_links() if link not in self._present]
            return [ask for link in gone for ask in await self._link_gone(tx, link)]

        while True:
            try:
                await self._store.write(work, then=self._tell)
                return
            except StoreError as error:
                log.warning("calls of before the start stay live for now: %s", error)
                await self._clock.sleep(RETRY_SECONDS)

    async def _link_gone(self, tx: Transaction, link: str) -> list[Ask]:
        """An open approval's ticket is not ended with its link, which may come back: the ask counts
        as left alone, and is withdrawn if nobody has come after a while."""
        now = self._clock.time()
        ended, orphaned = [], []
        for call in await tx.live_calls_of(link):
            ask = await tx.ask(call.ask_id)
            if ask is None or not (call.ticket and ask.open and ask.approval):
                ended.append(call)
            elif (after := self._abandoned(ask, now, for_good=False)) is not ask:
                await tx.save_ask(after, was=ask.status)
                orphaned.append(after)
        return [*orphaned, *await self._end(tx, ended)]

    async def _end(
        self, tx: Transaction, calls: list[Call], *, for_good: bool = False
    ) -> list[Ask]:
        """`for_good`: their client has given them up, and will not repeat them."""
        now = self._clock.time()
        for call in calls:
            await tx.save_call(replace(call, ended_at=call.ended_at or now))
        changed = []
        for ask_id in dict.fromkeys(call.ask_id for call in calls):
            ask = await tx.ask(ask_id)
            if ask is None or await tx.live_calls(ask_id):
                continue
            after = self._abandoned(ask, now, for_good=for_good)
            if after is not ask and await tx.save_ask(after, was=ask.status):
                changed.append(after)
        return changed

    def _abandoned(self, ask: Ask, now: float, *, for_good: bool) -> Ask:
        """The ask after its last caller went. What nobody can fetch any more nobody should allow:
        they would think that it ran."""
        if ask.open and (self._policy.withdraw_on_cancel or (for_good and ask.approval)):
            return transitions.withdraw(ask, now=now)
        if ask.open:
            return transitions.mark_caller_gone(ask, now=now)
        return transitions.keep(ask) if transitions.is_undelivered(ask) else ask

    def _tell(self, changed: list[Ask]) -> None:
        for ask in changed:
            self._committed(ask)

    # ── inside the broker's transactions ──────────────────────────────────────────────────────────

    def check_wanted(self, name: CallName) -> None:
        """:raises CallCancelled: the client was faster than we."""
        if name.request in self._early.get(name.link, ()):
            raise CallCancelled

    async def resume(
        self, tx: Transaction, name: CallName, fingerprint: str
    ) -> tuple[Ask, Call] | None:
        """The effect of this very call, if it was made before. A delivered call is never repeated
        by its link, so the same name means that the client has used its id again.

        :raises CallCancelled: the client was faster than we.
        """
        self.check_wanted(name)
        call = await tx.call(name)
        if call is None or call.delivered_at is not None:
            return None
        ask = await tx.ask(call.ask_id)
        if ask is None or ask.fingerprint != fingerprint or self._spent(ask, call):
            return None
        if self._given_up(call):  # while no hub was there
            changed = await self._end(tx, [call])
            return changed[0] if changed else ask, call
        if not call.live:
            call = replace(call, ended_at=None)
            await tx.save_call(call)
        return await self.rejoin(tx, ask), call

    def _spent(self, ask: Ask, call: Call) -> bool:
        """Whether an approval was given while this call had gone, or too long ago: it is not kept,
        so a call of the same name is asked for anew."""
        if not ask.approval or ask.status is not Status.ANSWERED or ask.settled_at is None:
            return False
        gone = call.ended_at is not None and call.ended_at <= ask.settled_at
        return gone or self._clock.time() - ask.settled_at > APPROVAL_FETCH_SECONDS

    async def rejoin(self, tx: Transaction, ask: Ask) -> Ask:
        """The ask with a caller again."""
        after = transitions.clear_orphaned(ask)
        if after is not ask:
            await tx.save_ask(after, was=ask.status)
        return after

    async def take_over(
        self, tx: Transaction, name: CallName, fingerprint: str, *, shared: bool
    ) -> tuple[Ask, Call] | None:
        """The open ask with the same words that this link waits for already, with the last call
        for it. Tickets, and calls that were given up without a word, are used up by the new call.

        `shared`: several agents use this link, so a call that waits may be another agent's."""
        found = None
        for call in await tx.live_calls_of(name.link, fingerprint=fingerprint):
            ask = await tx.ask(call.ask_id)
            if ask is not None and ask.open and not shared:
                found = ask, call
            if call.ticket or self._given_up(call):
                await tx.save_call(replace(call, ended_at=self._clock.time()))
        return found

    # ── how long clients wait ─────────────────────────────────────────────────────────────────────

    def learned_limit(self, link: str) -> LearnedLimit | None:
        return self._limits.get(link)

    def superseded(self, call: Call) -> None:
        """Its link asks or waits for the same again. The client has given this call up without a
        word, at the latest now. If it was answered with a ticket that nobody used, that came too
        late; a link of which nothing has been learned may have had reasons to ask again."""
        link = call.name.link
        if not call.ticket or link in self._limits:
            until = call.delivered_at or self._clock.time()
            self._learn(link, until - call.started_at, cancels=False)

    def _shows_limit(self, call: Call, now: float, timed_out: bool | None) -> bool:
        """Whether a cancellation shows how long its client waits. One without a reason does so if
        the call before it waited as long. A person is not that exact; but one who stops the agent
        stops all calls of that moment."""
        if timed_out is not None:
            return timed_out
        link, waited = call.name.link, now - call.started_at
        before, as_long = self._unexplained.get(link, (math.inf, 0.0))
        if link in self._present:
            self._unexplained[link] = now, waited
        return before <= call.started_at and abs(waited - as_long) <= LIMIT_TOLERANCE_SECONDS

    def _learn(self, link: str, seconds: float, *, cancels: bool) -> None:
        """What is learned includes the time until the client noticed or asked again, so that only
        a shorter one says more."""
        known = self._limits.get(link)
        shorter = known is None or seconds < known.seconds
        if shorter and seconds >= MIN_LEARNED_LIMIT_SECONDS and link in self._present:
            self._limits[link] = LearnedLimit(seconds=seconds, cancels=cancels)
            log.info("link %s: its client gives a call up after %.0f s", link, seconds)

    # ── responses ─────────────────────────────────────────────────────────────────────────────────

    async def ticket(self, name: CallName) -> None:
        """The call's response will be a ticket. Its holder goes on counting as a caller."""

        async def work(tx: Transaction) -> None:
            call = await tx.call(name)
            if call is not None:
                await tx.save_call(replace(call, ticket=True))

        await self._store.write(work)

    async def delivered(self, name: CallName) -> None:
        """The link has written the call's response to its client."""
        now = self._clock.time()

        async def work(tx: Transaction) -> list[Ask]:
            call = await tx.call(name)
            if call is None or call.delivered_at is not None:
                return []
            if self._given_up(call):
                return await self._end(tx, [call])  # the answer waits for the next call
            call = replace(call, delivered_at=now)
            if call.ticket:
                await tx.save_call(call)
                return []
            ask = await tx.ask(call.ask_id)
            if ask is None or ask.open:
                return await self._end(tx, [call])  # it was told of an error
            await tx.save_call(replace(call, ended_at=call.ended_at or now))
            if ask.delivered_at is not None:
                return []
            if ask.late is not None and not call.late:
                return []  # what it carried was the time-out, not the late answer
            newest = await tx.newest_call(ask.id, link=name.link)
            if newest is not None and newest.name != name:
                return []  # its client asked again, and may have given this call up
            after = transitions.mark_delivered(ask, now=now)
            return [after] if await tx.save_ask(after, was=ask.status) else []

        await self._store.write(work, then=self._tell)

    async def count_until(self, name: CallName, until: float) -> None:
        """A response to this call reaches nobody after that time."""

        async def work(tx: Transaction) -> None:
            call = await tx.call(name)
            if call is not None:
                await tx.save_call(replace(call, counts_until=until))

        await self._store.write(work)

    async def carries_no_answer(self, name: CallName) -> None:
        """The call's response will be an error: an answer that was given before it is kept."""
        with suppress(StoreError):
            await self.count_until(name, 0.0)

    def _given_up(self, call: Call) -> bool:
        """Whether its client has given it up without saying so."""
        return call.counts_until is not None and self._clock.time() > call.counts_until
