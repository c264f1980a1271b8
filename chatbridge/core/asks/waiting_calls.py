"""The calls that wait for an ask, and whether its answer has reached them.

Tracks when calls start, end and resume, and when a link confirms that it has written a response to
its client. An ask without callers stays open, and its answer is kept.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from chatbridge.core.asks import transitions
from chatbridge.core.errors import CallCancelled, StoreError
from chatbridge.core.model import Ask, AskRequest, Call, CallName, Status
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import STORE_RETRY_SECONDS, race

log = logging.getLogger(__name__)

HTTP_SESSION_PREFIX = "http-"  # Of HTTP sessions, which cannot replay calls to the next hub
MAX_CANCELLED_REQUESTS = 1000  # For each link: invented ids must not fill the memory
MIN_LEARNED_LIMIT_SECONDS = 4.0
"""Clients wait for at least 5 seconds. Calls that follow faster are repeated on purpose."""
LIMIT_TOLERANCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLimit:
    """The time after which a link's client gives a call up, learned from its calls."""

    seconds: float
    cancels: bool  # Whether the client sends a cancellation


@dataclass(slots=True)
class _Link:
    """What is known of a link while it is connected."""

    connections: int = 0  # A new one may open before the old one is seen to close
    leaving: int = 0  # Those of them that have ended, and whose calls are about to
    cancelled: dict[str, None] = field(default_factory=dict)
    """Requests cancelled before they came, the newest last."""
    limit: LearnedLimit | None = None
    last_cancel: tuple[float, float] = (math.inf, 0.0)
    """Time of the last cancellation without a reason, and how long its call had waited."""


class CallObserver(Protocol):
    """Told what becomes of the responses to all calls, whether they wait for an ask or not."""

    async def delivered(self, name: CallName) -> None: ...

    async def cancelled(self, name: CallName) -> None: ...

    async def resumed(self, link: str, *, repeated: Collection[str]) -> None: ...

    async def link_closed(self, link: str) -> None: ...

    async def links_absent(self, connected: Collection[str]) -> None: ...


@dataclass(slots=True)
class WaitingCalls:
    _store: Store
    _clock: Clock
    _policy: Policy
    _committed: Callable[[Ask], None]
    observer: CallObserver | None = None
    _links: dict[str, _Link] = field(default_factory=dict)
    _lost: dict[str, float] = field(default_factory=dict)
    """Until when, in monotonic time, links that were connected have time to come back."""
    _some_lost: asyncio.Event = field(default_factory=asyncio.Event)
    _absent_expired: asyncio.Event = field(default_factory=asyncio.Event)

    def _link(self, link: str) -> _Link:
        """What is put into that of an unconnected link is lost."""
        return self._links.get(link) or _Link()

    def link_opened(self, link: str) -> None:
        self._links.setdefault(link, _Link()).connections += 1

    def link_left(self, link: str) -> None:
        """A connection has ended. `link_closed` follows, once what its calls do has come to its
        end, which a store that is slow may delay."""
        self._link(link).leaving += 1

    async def link_closed(self, link: str) -> None:
        """End the calls of a link. A link that reconnects repeats them. If it has reconnected
        already, `resumed` tells which calls have ended."""
        known = self._link(link)
        known.connections, known.leaving = known.connections - 1, max(known.leaving - 1, 0)
        if known.connections > 0:
            return
        self._links.pop(link, None)
        if self.observer is not None:
            await self.observer.link_closed(link)
        await self._write_until_done(
            lambda tx: self._end_link(tx, link),
            f"link {link}: its calls stay live for now",
            wanted=lambda: link not in self._links,
        )

    def link_lost(self, link: str) -> None:
        """A connection has ended, and most likely the link is still there: its hub has gone, which
        passed it on. It has as much time to come back as links have after a start."""
        known = self._link(link)
        known.connections -= 1
        if known.connections > 0:
            return
        self._links.pop(link, None)
        self._lost.pop(link, None)  # so that they stay in the order of their times
        self._lost[link] = self._clock.monotonic() + self._policy.return_within
        self._absent_expired.clear()
        self._some_lost.set()

    def clear_cancelled(self, name: CallName) -> None:
        """Forget an earlier cancellation under this name: a new request uses it."""
        self._link(name.link).cancelled.pop(name.request, None)

    async def cancel(self, name: CallName, *, timed_out: bool | None = False) -> None:
        """End a call that its client has cancelled. One that has its response, even a ticket, is
        left as it is. One that has not arrived yet will be refused when it does. `timed_out`: the
        client reached its own time limit; None if it does not say."""
        now = self._clock.time()
        # Before the transaction: the call itself may be the next work in the same commit.
        cancelled = self._link(name.link).cancelled
        cancelled[name.request] = None
        if len(cancelled) > MAX_CANCELLED_REQUESTS:
            del cancelled[next(iter(cancelled))]

        async def work(tx: Transaction) -> tuple[Call | None, list[Ask]]:
            call = await tx.call(name)
            ended = [call] if call and call.live and call.delivered_at is None else []
            return call, await self._end_calls(tx, ended, for_good=True)

        def tell(found: tuple[Call | None, list[Ask]]) -> None:
            call, changed = found
            if call is not None and call.delivered_at is not None:
                cancelled.pop(name.request, None)
            elif call is not None and call.live and self._reveals_limit(call, now, timed_out):
                self._learn_limit(name.link, now - call.started_at, cancels=True)
            self._notify(changed)

        if self.observer is not None:  # first: nobody may say again what could not be stored
            await self.observer.cancelled(name)
        await self._store.write(work, then=tell)

    async def resumed(self, link: str, *, repeated: set[str]) -> None:
        """End the calls that a reconnected link has not repeated; their answers are kept.
        `repeated` also holds the calls whose response the link has and will confirm. Tickets stay
        valid, except an approval's that has not reached its client: that was given up."""

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
            return [*back, *await self._end_calls(tx, gone, for_good=True)]

        await self._store.write(work, then=self._notify)
        if self.observer is not None:
            await self.observer.resumed(link, repeated=repeated)

    async def expire_absent_links(self) -> None:
        """End the calls of links that have not come back in time, after a start and after the hub
        that passed them on has gone. Until cancelled."""
        try:
            await self._clock.sleep(self._policy.return_within)
            await self._end_absent()
            if self.observer is not None:
                await self.observer.links_absent(self._links.keys())
            while True:
                if not self._lost:
                    self._absent_expired.set()
                    self._some_lost.clear()
                    await self._some_lost.wait()
                link, until = next(iter(self._lost.items()))
                await self._clock.sleep(max(until - self._clock.monotonic(), 0.0))
                if self._lost[link] == until:  # else it came back, and was lost once more
                    del self._lost[link]
                    await self._end_absent(link)
                    if self.observer is not None and link not in self._links:
                        await self.observer.link_closed(link)
        finally:
            self._absent_expired.set()

    async def _end_absent(self, lost: str | None = None) -> None:
        """End the calls of this link if it is absent, or of all that are."""

        async def work(tx: Transaction) -> list[Ask]:
            here = self._links.keys() | self._lost.keys()
            absent = await tx.live_links() if lost is None else [lost]
            gone = [link for link in absent if link not in here]
            return [ask for link in gone for ask in await self._end_link(tx, link)]

        await self._write_until_done(work, "calls of links that are gone stay live for now")

    async def wait_for_absent_callers(self, request: AskRequest, name: CallName) -> None:
        """Wait until it is known whether earlier callers with the same content come back. After a
        start, an ask may have a caller that ended with its hub. The new call then continues that
        ask instead of asking a second time. Callers over HTTP never come back, and those of a link
        that has just left are not waited for: most often this is their agent with a new link."""

        async def work(tx: Transaction) -> tuple[bool, list[Ask]]:
            wait = False
            changed: list[Ask] = []
            if await tx.call(name) is not None:
                return wait, changed
            for link in await tx.live_links():
                known = self._links.get(link)
                if known is not None and known.connections > known.leaving:
                    continue
                for call in await tx.live_calls_of(link, fingerprint=request.fingerprint):
                    ask = await tx.ask(call.ask_id)
                    if ask is None or ask.project.key != request.project.key:
                        continue
                    if known is None and not link.startswith(HTTP_SESSION_PREFIX):
                        wait = True
                    elif ask.open:  # not abandoned: the new call is about to go on with it
                        await tx.save_call(replace(call, ended_at=self._clock.time()))
                    else:
                        changed += await self._end_calls(tx, [call])
            return wait, changed

        leaving = any(known.leaving for known in self._links.values())
        if leaving or not self._absent_expired.is_set():
            wait, _ = await self._store.write(work, then=lambda found: self._notify(found[1]))
            if wait:  # by then those that are absent now are back, or have ended
                longest = self._clock.sleep(2 * self._policy.return_within)
                await race(self._absent_expired.wait(), longest)

    async def _write_until_done(
        self,
        work: Callable[[Transaction], Awaitable[list[Ask]]],
        problem: str,
        *,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Repeat a write that the store refuses, as long as it is wanted."""
        while wanted():
            try:
                await self._store.write(work, then=self._notify)
                return
            except StoreError as error:
                log.warning("%s: %s", problem, error)
                await self._clock.sleep(STORE_RETRY_SECONDS)

    async def _end_link(self, tx: Transaction, link: str) -> list[Ask]:
        """End the calls of a link that has closed. The ticket of an open approval stays, because
        the link may reconnect: the ask counts as orphaned and is withdrawn after a while."""
        now = self._clock.time()
        ended, orphaned = [], []
        for call in await tx.live_calls_of(link):
            ask = await tx.ask(call.ask_id)
            if ask is None or not (call.ticket and ask.open and ask.approval):
                ended.append(call)
            elif (after := self._without_callers(ask, now, for_good=False)) is not ask:
                await tx.save_ask(after, was=ask.status)
                orphaned.append(after)
        return [*orphaned, *await self._end_calls(tx, ended)]

    async def _end_calls(
        self, tx: Transaction, calls: list[Call], *, for_good: bool = False
    ) -> list[Ask]:
        """End these calls. `for_good`: their client will not repeat them."""
        now = self._clock.time()
        for call in calls:
            await tx.save_call(replace(call, ended_at=call.ended_at or now))
        changed = []
        for ask_id in dict.fromkeys(call.ask_id for call in calls):
            ask = await tx.ask(ask_id)
            if ask is None or await tx.live_calls(ask_id):
                continue
            after = self._without_callers(ask, now, for_good=for_good)
            if after is not ask and await tx.save_ask(after, was=ask.status):
                changed.append(after)
        return changed

    def _without_callers(self, ask: Ask, now: float, *, for_good: bool) -> Ask:
        """Return the ask as it is after its last caller has left. One that needs its caller is
        withdrawn: whoever allowed something would think that it ran."""
        if ask.open and (self._policy.withdraw_on_cancel or (for_good and ask.needs_caller)):
            return transitions.withdraw(ask, now=now)
        if ask.open:
            return transitions.mark_caller_gone(ask, now=now)
        if transitions.is_undelivered(ask):
            return transitions.keep(ask)
        return transitions.mark_lost(ask, now=now)

    def _notify(self, changed: list[Ask]) -> None:
        for ask in changed:
            self._committed(ask)

    def check_not_cancelled(self, name: CallName) -> None:
        """:raises CallCancelled: the client has cancelled this call before it was processed."""
        if self.is_cancelled(name):
            raise CallCancelled

    def is_cancelled(self, name: CallName) -> bool:
        """Whether its client has said that it does not wait for the response."""
        return name.request in self._link(name.link).cancelled

    async def resume(self, tx: Transaction, name: CallName, wanted: Ask) -> tuple[Ask, Call] | None:
        """Return the ask and the call if this call was made before. A link never repeats a
        delivered call, so the same name then means that the client has reused its id. So do other
        words than those of `wanted`.
        :raises CallCancelled: the client has cancelled this call before it was processed."""
        self.check_not_cancelled(name)
        call = await tx.call(name)
        if call is None or call.delivered_at is not None:
            return None
        ask = await tx.ask(call.ask_id)
        if ask is None or not _is_same(ask, wanted) or self._is_expired(ask, call):
            return None
        if self._is_given_up(call):  # while no hub was running
            changed = await self._end_calls(tx, [call])
            return changed[0] if changed else ask, call
        if not call.live:
            call = replace(call, ended_at=None)
            await tx.save_call(call)
        return await self.rejoin(tx, ask), call

    async def asked_before(self, name: CallName) -> Ask | None:
        """The ask of this call, if it was made before and may be repeated."""

        async def work(tx: Transaction) -> Ask | None:
            call = await tx.call(name)
            return None if call is None or call.delivered_at else await tx.ask(call.ask_id)

        return await self._store.write(work)

    def _is_expired(self, ask: Ask, call: Call) -> bool:
        """Whether it was answered while this call had ended, or too long ago, and needs its caller.
        Such answers are not kept, so a call of the same name asks again."""
        if not ask.needs_caller or ask.status is not Status.ANSWERED or ask.settled_at is None:
            return False
        gone = call.ended_at is not None and call.ended_at <= ask.settled_at
        return gone or self._clock.time() - ask.settled_at > transitions.APPROVAL_FETCH_SECONDS

    async def rejoin(self, tx: Transaction, ask: Ask) -> Ask:
        """Return the ask as it is with a caller again."""
        after = transitions.clear_orphaned(ask)
        if after is not ask:
            await tx.save_ask(after, was=ask.status)
        return after

    async def take_over(
        self, tx: Transaction, name: CallName, fingerprint: str, *, shared: bool
    ) -> tuple[Ask, Call] | None:
        """Return the open ask with the same content that this link already waits for, and the last
        call for it. The new call replaces tickets and calls that were given up silently. `shared`:
        several agents use this link, so a waiting call may be another agent's."""
        found = None
        for call in await tx.live_calls_of(name.link, fingerprint=fingerprint):
            ask = await tx.ask(call.ask_id)
            if ask is not None and ask.open and not shared:
                found = ask, call
            if call.ticket or self._is_given_up(call):
                await tx.save_call(replace(call, ended_at=self._clock.time()))
        return found

    def learned_limit(self, link: str) -> LearnedLimit | None:
        return self._link(link).limit

    def note_superseded(self, call: Call) -> None:
        """Learn from a call that its link has repeated: the client gave it up silently, at the
        latest now. An unused ticket came too late for it. A link of which nothing has been learned
        may have had other reasons to ask again."""
        if not call.ticket or self.learned_limit(call.name.link):
            until = call.delivered_at or self._clock.time()
            self._learn_limit(call.name.link, until - call.started_at, cancels=False)

    def _reveals_limit(self, call: Call, now: float, timed_out: bool | None) -> bool:
        """Whether a cancellation shows how long its client waits. One without a reason does if the
        call before it waited as long: a person is not that exact. Calls that overlap do not count,
        because a person who stops the agent cancels them all at once."""
        if timed_out is not None:
            return timed_out
        link, waited = self._link(call.name.link), now - call.started_at
        (before, as_long), link.last_cancel = link.last_cancel, (now, waited)
        return before <= call.started_at and abs(waited - as_long) <= LIMIT_TOLERANCE_SECONDS

    def _learn_limit(self, link: str, seconds: float, *, cancels: bool) -> None:
        """Remember the shortest time seen: each one includes the time until the client asked
        again."""
        known = self.learned_limit(link)
        shorter = known is None or seconds < known.seconds
        if shorter and seconds >= MIN_LEARNED_LIMIT_SECONDS and link in self._links:
            self._links[link].limit = LearnedLimit(seconds=seconds, cancels=cancels)
            log.info("link %s: its client gives a call up after %.0f s", link, seconds)

    async def ticket(self, name: CallName) -> None:
        """Record that the call's response is a ticket. Its holder still counts as a caller."""
        await self._update(name, ticket=True)

    async def delivered(self, name: CallName, *, waited: float | None = None) -> None:
        """Record that the link has written the call's response to its client. `waited`: how long
        the call had waited then, if an earlier hub was to hear of it: its clock may have been
        another one."""
        now = self._clock.time()

        async def work(tx: Transaction) -> list[Ask]:
            call = await tx.call(name)
            if call is None or call.delivered_at is not None:
                return []
            if self._is_given_up(call, waited):
                return await self._end_calls(tx, [call])  # the answer waits for the next call
            call = replace(call, delivered_at=now)
            if call.ticket:
                await tx.save_call(call)
                return []
            ask = await tx.ask(call.ask_id)
            if ask is None or ask.open:
                return await self._end_calls(tx, [call])  # it was told of an error
            await tx.save_call(replace(call, ended_at=call.ended_at or now))
            if ask.delivered_at is not None or (ask.late is not None and not call.late):
                return []  # what it carried was the time-out, not the late answer
            if await tx.newest_call(ask.id, link=name.link) not in (name, None):
                return []  # its client asked again, and may have given this call up
            after = transitions.mark_delivered(ask, now=now)
            return [after] if await tx.save_ask(after, was=ask.status) else []

        try:
            await self._store.write(work, then=self._notify)
        finally:
            if self.observer is not None:
                await self.observer.delivered(name)

    async def set_counts_until(self, name: CallName, until: float, *, began: float) -> None:
        """Record that a response to this call, which began then, reaches nobody after that time."""
        await self._update(name, started_at=began, counts_until=until)

    async def _update(self, name: CallName, **changes: Any) -> None:
        async def work(tx: Transaction) -> None:
            call = await tx.call(name)
            if call is not None:
                await tx.save_call(replace(call, **changes))

        await self._store.write(work)

    async def mark_failed(self, name: CallName) -> None:
        """Record that the call's response is an error, so that an earlier answer is kept."""
        with suppress(StoreError):
            await self._update(name, counts_until=0.0)

    def _is_given_up(self, call: Call, waited: float | None = None) -> bool:
        """Whether the client has given the call up silently, or had once it had `waited`."""
        if call.counts_until is None:
            return False
        if waited is not None:
            return waited > call.counts_until - call.started_at
        return self._clock.time() > call.counts_until


def _is_same(ask: Ask, wanted: Ask) -> bool:
    """Whether both ask the same. What goes into the fingerprint of an approval has changed since
    0.1.0, so what would be allowed decides there."""
    return ask.fingerprint == wanted.fingerprint or (
        ask.approval and _allowed_by(ask) == _allowed_by(wanted)
    )


def _allowed_by(ask: Ask) -> tuple[object, ...]:
    subjects = [(q.subject.code, q.subject.file) for q in ask.questions if q.subject]
    return ask.project.key, ask.tool, ask.dialect, subjects
