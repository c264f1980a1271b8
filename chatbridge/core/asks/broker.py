"""The broker: opens asks for calls, applies every change to them, and wakes the waiting calls.

Each change is decided inside one store transaction. Its effects follow the commit. The broker knows
no tool and no channel.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from chatbridge.core.asks import transitions
from chatbridge.core.asks.deadlines import Due, all_due, apply_due, is_redraw_due
from chatbridge.core.asks.scheduler import Scheduler
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.audit import Auditor, Entry
from chatbridge.core.bounds import bound_request, sliced
from chatbridge.core.errors import (
    AskEnded,
    ChatbridgeError,
    StoreError,
    TooManyOpenAsks,
    UnknownAsk,
)
from chatbridge.core.model import Ask, AskRequest, Call, CallName, ChannelState, Priority
from chatbridge.core.nights.hours import Switch
from chatbridge.core.nights.switching import CHANNEL, KEY, from_text, to_note
from chatbridge.core.people.team import is_at
from chatbridge.core.policy import APPROVAL_FACTOR, PARTY_FACTOR, TOTAL_FACTOR, Policy
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import STORE_RETRY_SECONDS, BackgroundTasks, race
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

_Found = tuple[Ask, Call, Call | None]
"""An ask, the call that waits for it, and the call of the same link that this one supersedes."""


class Broker:
    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        policy: Policy,
        changed: Callable[[Ask], None],
        drained: Callable[[], Awaitable[None]],
    ) -> None:
        """`changed` is called after every change. `drained` returns once each reachable channel has
        processed the backlog of its service."""
        self.policy = policy
        self.waiting_calls = WaitingCalls(store, clock, policy, self._notify)
        self.switched: Callable[[], None] = lambda: None
        """Called when quiet hours were switched by hand."""
        self._store = store
        self._clock = clock
        self._drained = drained
        self._changed = changed
        self._scheduler = Scheduler(clock)
        self._waiting: dict[str, set[asyncio.Future[Ask]]] = {}

    async def ask(
        self,
        request: AskRequest,
        name: CallName,
        *,
        counts_for: float | None = None,
        shared_link: bool = False,
    ) -> tuple[Ask, Call]:
        """Return the ask that this call waits for, and the call.

        A repeated call gets its ask of before. Otherwise the call gets a kept answer, or an open
        ask with the same content that its link waits for or that has no caller, or a new ask. An
        ask that needs its caller is always new: nobody allows more than they saw.

        A response that is written more than `counts_for` seconds from now reaches nobody.
        `shared_link`: several agents use the link.

        :raises ToolInputError: its texts are too long.
        :raises TooManyOpenAsks:
        """
        request = await bound_request(request)
        now = self._clock.time()
        timeout = self.policy.default_timeout if request.timeout is None else request.timeout
        ends_at = now + max(timeout, self.policy.min_timeout)
        subject = request.questions[0].subject
        if subject and subject.latest is not None:  # an approval ends with its call
            ends_at = min(ends_at, subject.latest)
        fresh = transitions.open_ask(
            request,
            now=now,
            deadline=None if math.isinf(ends_at) else ends_at,
            approval_channels=self.policy.approval_channels,
        )
        first = Call(
            name=name,
            ask_id=fresh.id,
            question_ids=tuple(q.id for q in request.questions),
            started_at=now,
            counts_until=None if counts_for is None else now + counts_for,
        )

        async def work(tx: Transaction) -> _Found:
            self.waiting_calls.check_not_cancelled(name)
            if not await tx.is_new(name, fingerprint=request.fingerprint):
                earlier = await self._find_earlier(tx, fresh, first, shared_link=shared_link)
                if earlier is not None:
                    return earlier
            await self._check_flood(tx, request, link=None if shared_link else name.link)
            new = await self._within_urgent_budget(tx, fresh)
            moved = transitions.leave_quiet_hours(new, policy=self.policy)
            new = replace(new, deadline=moved.deadline)
            await tx.add_ask(new)
            await tx.save_call(first)
            return new, first, None

        ask, call, _ = await self._store.write(work, then=self._notify_found)
        return ask, call

    async def _find_earlier(
        self, tx: Transaction, fresh: Ask, call: Call, *, shared_link: bool
    ) -> _Found | None:
        """Return the earlier ask that this call continues instead of opening `fresh`."""
        known = await self.waiting_calls.resume(tx, call.name, fresh)
        if known is not None:
            return (*known, None)
        if fresh.needs_caller:
            return None  # no call continues what another one has asked
        mine = await self.waiting_calls.take_over(
            tx, call.name, fresh.fingerprint, shared=shared_link
        )
        content = {"project": fresh.project.key, "fingerprint": fresh.fingerprint}
        if kept := await tx.kept_twin(**content, now=call.started_at):
            ask, call = kept, replace(call, ask_id=kept.id, late=True)
        elif twin := mine[0] if mine else await tx.open_twin(**content):
            # It is as loud as it was: its fingerprint does not know the priority.
            again = replace(fresh, attention=twin.attention)
            again = transitions.leave_quiet_hours(again, policy=self.policy)
            ask = transitions.extend_to(transitions.clear_orphaned(twin), again.deadline)
            if ask.revision == twin.revision and not mine:
                ask = transitions.bump_revision(ask)
            call = replace(call, ask_id=twin.id)
            await tx.save_ask(ask, was=twin.status)
        else:
            return None
        await tx.save_call(call)
        return ask, call, mine[1] if mine else None

    async def _within_urgent_budget(self, tx: Transaction, fresh: Ask) -> Ask:
        """Only so many urgent asks of one party ring in a night. The others count as normal."""
        since = self.policy.nights.urgent_since(fresh)
        if since is None:
            return fresh
        rang = await tx.count_urgent_asks(party=fresh.project.party, since=since)
        if rang < self.policy.nights.policy.max_urgent:
            return fresh
        attention = replace(fresh.attention, priority=Priority.NORMAL, over_budget=rang)
        return replace(fresh, attention=attention)

    async def follow(
        self,
        ask_id: str,
        name: CallName,
        *,
        project: str,
        tools: Collection[str] | None = None,
        counts_for: float | None = None,
    ) -> tuple[Ask, Call]:
        """Add a caller to an ask, by its id. One that needs its caller takes no further ones.
        :raises UnknownAsk: no ask of this project and these tools has this id."""
        now = self._clock.time()

        def fits(ask: Ask) -> bool:
            mine = ask.project.key == project and not ask.needs_caller
            return mine and (tools is None or ask.tool in tools)

        async def work(tx: Transaction) -> _Found:
            ask = await tx.ask(ask_id)
            if ask is None or not fits(ask):
                raise UnknownAsk(ask_id)
            known = await self.waiting_calls.resume(tx, name, ask)
            if known is not None:
                return (*known, None)
            mine = [c for c in await tx.live_calls(ask_id) if c.name.link == name.link]
            ids = mine[-1].question_ids if mine else tuple(q.id for q in ask.questions)
            for used in (c for c in mine if c.ticket and c.delivered_at is not None):
                await tx.save_call(replace(used, ended_at=now))  # this call continues it
            call = Call(
                name=name,
                ask_id=ask.id,
                question_ids=ids,
                started_at=now,
                late=ask.late is not None,
                counts_until=None if counts_for is None else now + counts_for,
            )
            await tx.save_call(call)
            waited = [c for c in mine if ask.open and not c.ticket]
            return await self.waiting_calls.rejoin(tx, ask), call, waited[-1] if waited else None

        try:
            ask, call, _ = await self._store.write(work, then=self._notify_found)
            return ask, call
        except UnknownAsk:
            here = [ask.id for ask in await self._store.open_asks() if fits(ask)]
            raise UnknownAsk(ask_id, known=tuple(here)) from None

    def _notify_found(self, found: _Found) -> None:
        ask, _, superseded = found
        if superseded is not None:
            self.waiting_calls.note_superseded(superseded)
        self._notify(ask)

    async def ended(self, ask_id: str) -> Ask:
        """Wait until this ask has ended, however long that takes."""
        future: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(ask_id, set())
        waiting.add(future)
        try:
            ask = await self._store.ask(ask_id)
            if ask is None:
                raise UnknownAsk(ask_id)
            return await future if ask.open else ask
        finally:
            waiting.discard(future)
            if not waiting and self._waiting.get(ask_id) is waiting:
                del self._waiting[ask_id]

    async def time_out(self, ask_id: str) -> Ask:
        """End it now as if its deadline had passed, if it is still open: an answer that could still
        be undone is sent."""
        now = self._clock.time()

        def time_out(ask: Ask) -> Ask:
            if not ask.open:
                return ask
            if ask.deadline is not None:  # cards must not show a deadline in the future
                ask = replace(ask, deadline=min(ask.deadline, now))
            return transitions.time_out(ask, now=now, policy=self.policy)

        return await self.change(ask_id, time_out)

    async def find_grant(
        self, request: AskRequest, name: CallName, *, file: str | None = None
    ) -> str | None:
        """The id of the ask whose grant covers this, if one does. `file`: the real path of the file
        that would be changed, if a grant for edits can cover it."""
        standing = await self._store.standing_grants(
            project=request.project.key, link=name.link, now=self._clock.time()
        )
        for ask_id, fingerprint, folder in standing:
            if folder is None:
                if fingerprint == request.fingerprint:
                    return ask_id
            elif file is not None and PurePosixPath(folder) in PurePosixPath(file).parents:
                return ask_id
        return None

    async def record(self, entry: Callable[[Auditor], Entry]) -> None:
        """Add a line to the audit trail about what was decided without an ask.
        :raises StoreError:"""
        await self._store.record(entry)

    async def _check_flood(self, tx: Transaction, request: AskRequest, *, link: str | None) -> None:
        """`link`: None if several agents share it. Then only the limits of their party count."""
        limit, project = self.policy.max_open_asks, request.project
        favoured = request.approval and not project.outsider
        of_party = await tx.count_open_asks(party=project.party)
        if link is not None and of_party >= limit:
            mine = [it for it in await tx.open_asks_of(link) if it.approval or not favoured]
            if len(mine) >= limit:
                texts = ((ask.id, one_line(ask.questions[0].text[:200])) for ask in mine)
                listed = tuple(f"{ask_id}: {shortened(text, 60)}" for ask_id, text in texts)
                raise TooManyOpenAsks(limit=limit, open_asks=listed)
        if favoured:
            limit *= APPROVAL_FACTOR
        if of_party >= PARTY_FACTOR * limit:
            raise TooManyOpenAsks(limit=PARTY_FACTOR * limit)
        if not project.outsider and await tx.count_open_asks() >= TOTAL_FACTOR * limit:
            raise TooManyOpenAsks(limit=TOTAL_FACTOR * limit)

    async def change(
        self, ask_id: str, change: Callable[[Ask], Ask], *notes: ChannelState | None
    ) -> Ask:
        """Apply `change` to an ask in one transaction. Notes are saved even if the change is
        refused, because the input was processed. :raises UnknownAsk: :raises AskEnded: another
        change came first."""

        async def work(tx: Transaction) -> tuple[Ask, bool] | ChatbridgeError:
            for note in filter(None, notes):
                await tx.save_note(note)
            before = await tx.ask(ask_id)
            if before is None:
                return UnknownAsk(ask_id)
            try:
                after = change(before)
            except ChatbridgeError as error:
                return error
            if after is before:
                return after, False
            if (
                before.open and transitions.is_undelivered(after) and ask_id not in self._waiting
            ):  # a caller may hold a ticket, or reconnect after a start
                after = replace(after, kept=not await tx.live_calls(ask_id))
            if not await tx.save_ask(after, was=before.status):
                return AskEnded(ask_id, status="by another")
            return after, True

        def tell(result: tuple[Ask, bool] | ChatbridgeError) -> None:
            if not isinstance(result, ChatbridgeError) and result[1]:
                self._notify(result[0])

        result = await self._store.write(work, then=tell)
        if isinstance(result, ChatbridgeError):
            raise result
        return result[0]

    async def switch_quiet(self, switch: Switch, *notes: ChannelState | None) -> None:
        """Switch quiet hours on or off by hand, and move the deadlines that fall into them now.
        What was held may be shown."""
        nights = replace(self.policy.nights, switch=switch)
        move = partial(transitions.leave_quiet_hours, policy=replace(self.policy, nights=nights))
        known = [ask.id for ask in await self._store.open_asks()]

        async def work(tx: Transaction) -> None:
            for note in filter(None, (*notes, to_note(switch, at=self._clock.time()))):
                await tx.save_note(note)
            for ask_id in known:
                ask = await tx.ask(ask_id)
                if ask is not None and ask.open and (moved := move(ask)) is not ask:
                    await tx.save_ask(moved, was=ask.status)

        def then(_: None) -> None:
            self.policy.nights.switch = switch
            self.switched()

        await self._store.write(work, then=then)
        async for ask in sliced(await self._store.open_asks()):
            if move(ask) is ask:
                self._notify(ask)
                continue
            with suppress(UnknownAsk, AskEnded):  # it was asked meanwhile, and may have ended
                await self.change(ask.id, move)

    async def recall_switch(self) -> None:
        """Go on with quiet hours that were switched before the start."""
        try:
            note = await self._store.note(CHANNEL, KEY)
        except StoreError as error:
            log.warning("quiet hours by hand are not known: %s", error)
            return
        self.policy.nights.switch = from_text(note.value) if note is not None else None

    async def show_again(self, ask_id: str) -> None:
        """Let every surface check whether it shows the current revision."""
        ask = await self._store.ask(ask_id)
        if ask is not None:
            self._changed(ask)

    def _notify(self, ask: Ask) -> None:
        self._schedule(ask)
        self._changed(ask)
        if not ask.open:
            for future in self._waiting.pop(ask.id, ()):
                if not future.done():
                    future.set_result(ask)

    async def run(self) -> None:
        """Apply what is due until cancelled, also to asks of before the start."""
        while not await self._load_schedule():
            await self._clock.sleep(STORE_RETRY_SECONDS)
        tasks = BackgroundTasks("links that are absent")
        tasks.spawn(self.waiting_calls.expire_absent_links())
        try:
            await self._scheduler.run(
                self._apply_due, on_clock_step=self._wait_for_channels, on_wake=self._store.look
            )
        finally:
            await tasks.end()

    async def _load_schedule(self) -> bool:
        """Schedule what is due for stored asks. Return whether the store could be read."""
        try:
            async for ask in sliced(await self._store.open_asks()):
                # Added, not replaced: the ask may have changed since it was read.
                now = self._clock.time()
                for when, due in all_due(ask, now=now, policy=self.policy):
                    self._scheduler.add(when, due, ask.id)
                if is_redraw_due(ask, now=now):  # perhaps while no hub was running
                    self._scheduler.add(now, Due.REDRAW, ask.id)
            for ask in await self._store.unsettled_delivery():
                self._schedule(ask, extra_seconds=self.policy.return_within)
        except StoreError as error:
            log.warning("deadlines are not known yet, trying again: %s", error)
            return False
        return True

    async def sweep(self) -> int:
        """Remove asks that ended long ago and return their number. A failure is only logged."""
        now, age = self._clock.time(), max(self.policy.retention, self.policy.late_answer_ttl)
        try:
            count = await self._store.sweep(before=now - age)
            await self._store.sweep_audit(before=now - self.policy.audit_retention)
        except StoreError as error:
            log.warning("sweep failed: %s", error)
            return 0
        log.info("swept %d ended asks", count)
        return count

    async def _wait_for_channels(self) -> None:
        """Wait for the channels' backlog: it may hold answers from before the deadline."""
        await race(self._clock.sleep(self.policy.drain_within), self._drained())

    async def _apply_due(self, due: Due, ask_id: str) -> None:
        now = self._clock.time()
        change = partial(apply_due, due, now=now, policy=self.policy)
        try:
            ask = await self._store.ask(ask_id)
            if due is Due.SPREAD and ask is not None and await self._is_where_it_should(ask):
                return
            if ask is not None and change(ask) is not ask:  # mostly it has ended and was delivered
                await self.change(ask_id, change)
            elif ask is not None and ask.open and due in (Due.SHOW, Due.REMIND):
                self._schedule(ask)  # quiet hours have changed, or begun, meanwhile
        except (UnknownAsk, AskEnded):
            pass
        except StoreError as error:
            log.warning("ask %s: %s not applied, trying again: %s", ask_id, due, error)
            self._scheduler.add(now + STORE_RETRY_SECONDS, due, ask_id)
        except Exception:
            # A bug: a retry would fail again, and other asks are due.
            log.exception("ask %s: %s not applied", ask_id, due)

    async def _is_where_it_should(self, ask: Ask) -> bool:
        """Whether its route has led somewhere."""
        places = self.policy.nights.team.places_for(ask)
        return any(is_at(each, places) for each in await self._store.surfaces_of(ask.id))

    def _schedule(self, ask: Ask, *, extra_seconds: float = 0.0) -> None:
        """Replace what is scheduled for this ask. A handover that is scheduled already keeps its
        time, which counts from the moment of the answer."""
        if not (transitions.is_undelivered(ask) and self._scheduler.has(ask.id, Due.HANDOVER)):
            now = self._clock.time()
            due = all_due(ask, now=now, policy=self.policy, extra_seconds=extra_seconds)
            self._scheduler.replace(ask.id, due)
