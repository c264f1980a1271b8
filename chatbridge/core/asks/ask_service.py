"""The ask service: what channels may read and change. Implements `ports.AskActions`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from chatbridge.core.asks import transitions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.cards.operation_summary import strip_escapes
from chatbridge.core.cards.phrases import NOWHERE
from chatbridge.core.cards.row import Past, Row, Rows
from chatbridge.core.delivery.delivery import REPAIR_SECONDS
from chatbridge.core.errors import AskEnded, NotHere, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, ChannelState, Notice, Person, Post
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction

Outputs = Callable[[str], Awaitable[bytes | None]]
"""Reads the output of an operation by its id, which may be any text; None if there is none."""


async def _no_output(_operation_id: str) -> None:
    return None


class AskService:
    def __init__(
        self, broker: Broker, *, store: Store, clock: Clock, outputs: Outputs = _no_output
    ) -> None:
        self._broker = broker
        self._store = store
        self._clock = clock
        self._policy = broker.policy
        self._outputs = outputs

    async def ask(self, ask_id: str) -> Ask:
        ask = await self._store.ask(ask_id)
        if ask is None:
            raise UnknownAsk(ask_id)
        return ask

    async def open_asks(self) -> Sequence[Ask]:
        return await self._store.open_asks()

    async def open_rows(self, *, limit: int, skip: int = 0) -> Rows:
        return await self._store.open_rows(limit=limit, skip=skip)

    async def history(self, *, limit: int, search: str | None = None) -> Sequence[Ask]:
        return await self._store.history(limit=limit, search=search)

    async def past_rows(
        self, *, limit: int, before: Past | None = None, search: str | None = None
    ) -> Sequence[Row]:
        return await self._store.past_rows(limit=limit, before=before, search=search)

    async def put(
        self,
        ask_id: str,
        *events: form.Event,
        person: Person,
        cursor: ChannelState | None = None,
        beside: Sequence[ChannelState] = (),
    ) -> form.Step:
        led_to: list[form.Step] = []

        def change(ask: Ask) -> Ask:
            self._check_place(ask, person)
            for event in events:
                step = transitions.apply_event(ask, event)
                led_to.append(step)
                ask = self._after(ask, step, person)
                if isinstance(step, form.Refused):
                    break
            return ask

        await self._broker.change(ask_id, change, notes=_noted(cursor, *beside))
        return led_to[-1]

    def _after(self, ask: Ask, step: form.Step, person: Person) -> Ask:
        now = self._clock.time()
        match step:
            case form.Refused():
                return ask
            case form.Moved(draft=draft):
                return replace(ask, draft=replace(draft, by=person), revision=ask.revision + 1)
            case form.Answered(draft=draft, answers=answers):
                filled = replace(ask, draft=draft)
                return transitions.answer(filled, answers, by=person, now=now, policy=self._policy)
            case form.Cancelled() if not ask.open:
                return transitions.close_late_form(ask)
            case form.Cancelled(reason=reason):
                return transitions.cancel(ask, reason=reason, by=person, now=now)

    async def answer(self, ask_id: str, answers: tuple[Answer, ...], *, person: Person) -> Ask:
        now = self._clock.time()

        def change(ask: Ask) -> Ask:
            self._check_place(ask, person)
            return transitions.answer(ask, answers, by=person, now=now, policy=self._policy)

        return await self._broker.change(ask_id, change)

    async def cancel(self, ask_id: str, *, reason: str | None, person: Person) -> Ask:
        now = self._clock.time()

        def change(ask: Ask) -> Ask:
            self._check_place(ask, person)
            return transitions.cancel(ask, reason=reason, by=person, now=now)

        return await self._broker.change(ask_id, change)

    async def extend(
        self, ask_id: str, *, person: Person, cursor: ChannelState | None = None
    ) -> Ask:
        def change(ask: Ask) -> Ask:
            self._check_place(ask, person)
            return transitions.extend(ask, latest=self.latest_deadline(ask), policy=self._policy)

        return await self._broker.change(ask_id, change, notes=_noted(cursor))

    async def discard(self, ask_id: str, *, cursor: ChannelState | None = None) -> Ask:
        return await self._broker.change(ask_id, transitions.discard, notes=_noted(cursor))

    async def redraw(self, ask_id: str) -> None:
        with suppress(UnknownAsk, AskEnded):
            await self._broker.change(ask_id, transitions.bump_revision)

    async def show_again(self, ask_id: str) -> None:
        await self._broker.show_again(ask_id)

    async def behind(self, *, surface: str) -> Sequence[Ask]:
        since = self._clock.time() - REPAIR_SECONDS
        return await self._store.behind(surface=surface, since=since)

    async def post(self, ask_id: str, *, surface: str) -> Post | None:
        return await self._store.post(ask_id=ask_id, surface=surface)

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        return await self._store.post_at(surface=surface, handle=handle)

    async def adopt(self, post: Post, *, over: Post | None, handles: Sequence[str]) -> bool:
        async def work(tx: Transaction) -> bool:
            if await tx.post(ask_id=post.ask_id, surface=post.surface) != over:
                return False
            await tx.save_post(post, handles=handles)
            return True

        return await self._store.write(work)

    async def note(self, channel: str, key: str) -> ChannelState | None:
        return await self._store.note(channel=channel, key=key)

    async def remember(self, note: ChannelState) -> None:
        async def work(tx: Transaction) -> None:
            await tx.save_note(note)

        await self._store.write(work)

    async def forget(self, channel: str, key: str) -> None:
        async def work(tx: Transaction) -> None:
            await tx.drop_note(channel=channel, key=key)

        if await self._store.note(channel=channel, key=key) is not None:
            await self._store.write(work)

    def only_on(self, ask: Ask | Row, channel: str) -> tuple[str, ...]:
        channels = self._channels(ask)
        return () if not ask.approval or channel in channels else channels or NOWHERE

    def _check_place(self, ask: Ask, person: Person) -> None:
        channels = self._channels(ask)
        if ask.approval and person.channel not in channels:
            raise NotHere(ask.id, channels=channels)

    def _channels(self, ask: Ask | Row) -> tuple[str, ...]:
        """Channels that may settle an approval, by the settings both then and now. Changed
        settings cannot add a channel to an approval that was asked before."""
        now = self._policy.approval_channels
        return tuple(sorted(now.intersection(ask.approval_channels or now)))

    async def notices(self, *, since: float, limit: int) -> Sequence[Notice]:
        return await self._store.notices(since=since, limit=limit)

    async def output(self, operation_id: str) -> bytes | None:
        content = await self._outputs(operation_id)
        return None if content is None else await asyncio.to_thread(strip_escapes, content)

    def latest_deadline(self, ask: Ask) -> float:
        longest = ask.created_at + self._policy.max_timeout
        subject = ask.questions[0].subject
        latest = subject.latest if subject else None
        return longest if latest is None else min(longest, latest)


def _noted(*notes: ChannelState | None) -> list[ChannelState]:
    return [note for note in notes if note is not None]
