"""What channels may do with asks: read them, and apply a person's input."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from chatbridge.core.asks import transitions
from chatbridge.core.asks.deadlines import Due, apply_due
from chatbridge.core.cards.operation_summary import strip_escapes
from chatbridge.core.cards.phrases import NOWHERE
from chatbridge.core.cards.row import Row
from chatbridge.core.errors import AskEnded, NotHere, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Answer, Ask, ChannelState, Person, Post, View
from chatbridge.core.nights import later
from chatbridge.core.nights.hours import Switch
from chatbridge.core.nights.later import LaterOption
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.switching import read_switch
from chatbridge.core.people import sharing
from chatbridge.core.people.sharing import Colleague
from chatbridge.core.people.team import Role, Team
from chatbridge.core.policy import DAY, Policy
from chatbridge.core.ports import AttachmentStore, Clock
from chatbridge.core.statistics import Statistics, statistics_of
from chatbridge.core.store_port import Store, Transaction

REPAIR_SECONDS = 2 * DAY  # Cards of asks that ended since are updated after a start


class _Broker(Protocol):
    """The part of the broker that applies what people do."""

    @property
    def policy(self) -> Policy: ...

    async def change(
        self, ask_id: str, change: Callable[[Ask], Ask], *notes: ChannelState | None
    ) -> Ask: ...

    async def switch_quiet(self, switch: Switch, *notes: ChannelState | None) -> None: ...

    async def show_again(self, ask_id: str) -> None:
        """Let every surface check whether it shows the current revision, and send it if not."""


Outputs = Callable[[str], Awaitable[bytes | None]]  # By the id of an operation; None if none


class AskActions:
    """What a channel may do: read asks, and apply a person's input. A cursor is committed in the
    same transaction as the effect. All methods that change an ask :raises UnknownAsk:
    :raises AskEnded: :raises NotHere: it is an approval that this channel may not settle.
    :raises RoleMissing: the person may not do that."""

    def __init__(
        self,
        broker: _Broker,
        *,
        store: Store,
        clock: Clock,
        outputs: Outputs | None = None,
        attachments: AttachmentStore | None = None,
        transcribes: bool = False,
        messages: OwnerMessages | None = None,
    ) -> None:
        self._broker = broker
        self._store = store
        self._clock = clock
        self._policy = broker.policy
        self._outputs = outputs
        self.attachments = attachments
        """None: no files are taken."""
        self.transcribes = transcribes
        """Whether voice messages are turned into text."""
        self.messages = messages or OwnerMessages(store, clock=clock, agents=Agents(clock))
        self.sent_messages, self.message_at = store.messages, store.message_at
        self.sent_message, self.newest_link = store.message, store.newest_link
        self.notice_at, self.open_asks_by_link = store.notice_at, store.open_asks_by_link
        self.open_asks, self.history, self.notices = store.open_asks, store.history, store.notices
        self.open_rows, self.past_rows = store.open_rows, store.past_rows
        self.notice = store.notice
        self.post, self.post_at, self.note = store.post, store.post_at, store.note
        self.tally = store.tally
        self.show_again = broker.show_again

    async def ask(self, ask_id: str) -> Ask:
        """:raises UnknownAsk:"""
        ask = await self._store.ask(ask_id)
        if ask is None:
            raise UnknownAsk(ask_id)
        return ask

    async def statistics(self, *, seconds: float) -> Statistics:
        """Of the asks of the last so many seconds."""
        until = self._clock.time()
        since = until - seconds
        found = await self._store.ask_times(since=since, until=until)
        return await asyncio.to_thread(statistics_of, found, since=since, until=until)

    async def put(
        self,
        ask_id: str,
        *events: form.Event,
        person: Person,
        cursor: ChannelState | None = None,
        beside: Sequence[ChannelState] = (),
    ) -> form.Step:
        """Apply a person's input to the form, as one or more events. Return the step of the last
        event, or of the first that was refused; the events after it are dropped. `beside` is
        committed like the cursor."""
        person, led_to = self.team.known(person), list[form.Step]()

        def change(ask: Ask) -> Ask:
            now = self._clock.time()
            for event in events:
                step = transitions.apply_event(ask, event)
                step = transitions.delay_sending(ask, step, now=now, policy=self._policy)
                step = self._postponed(ask, event, step)
                step = self._shared(ask, event, step, person)
                led_to.append(step)
                ask = self._after(ask, step, person)
                if isinstance(step, form.Refused):
                    break
            return ask

        await self._change(ask_id, change, person, cursor, *beside)
        return led_to[-1]

    def _postponed(self, ask: Ask, event: form.Event, step: form.Step) -> form.Step:
        """The step, held to the clock and the limits if it is about more time."""
        if isinstance(event, form.AskLater) and isinstance(step, form.Moved):
            return step if self.later(ask) else later.NO_MORE_TIME
        latest = transitions.latest_deadline(ask, self._policy)
        step = later.settle(ask, step, now=self._clock.time(), latest=latest)
        if isinstance(step, form.Postponed) and step.snoozed_until is not None:
            # Nobody has chosen this deadline. It must not end unseen what comes back at night.
            back = replace(ask, deadline=step.deadline)
            moved = transitions.leave_quiet_hours(back, policy=self._policy)
            return replace(step, deadline=moved.deadline)
        return step

    def _shared(self, ask: Ask, event: form.Event, step: form.Step, person: Person) -> form.Step:
        """The step, as the team allows it if it is about who is on it."""
        if isinstance(event, form.AskHandOver) and isinstance(step, form.Moved):
            return step if self.colleagues(ask) else sharing.NOBODY_ELSE
        return sharing.settle(ask, step, by=person, now=self._clock.time(), team=self.team)

    def _after(self, ask: Ask, step: form.Step, person: Person) -> Ask:
        now = self._clock.time()
        match step:
            case form.Refused():
                return ask
            case form.Moved(draft=draft):
                until = draft.until if draft.view is View.SENDING else None
                if draft.view is View.CONFIRM_GRANT and draft.lasting is not None:
                    until = now + draft.lasting  # as its screen says, however late it is tapped
                draft = replace(draft, by=person, until=until)
                attention = replace(ask.attention, touched_at=now, snoozed_until=None)
                return replace(ask, draft=draft, attention=attention, revision=ask.revision + 1)
            case form.Postponed():
                return transitions.postpone(ask, step, now=now)
            case form.Shared():
                return transitions.share(ask, step, now=now)
            case form.Answered(draft=draft, answers=answers):
                filled = replace(ask, draft=draft)
                return transitions.answer(filled, answers, by=person, now=now, policy=self._policy)
            case form.Cancelled() if not ask.open:
                return transitions.close_late_form(ask)
            case form.Cancelled(reason=reason):
                return transitions.cancel(ask, reason=reason, by=person, now=now)

    async def answer(self, ask_id: str, answers: tuple[Answer, ...], *, person: Person) -> Ask:
        """Answer all questions at once, in their order. `answers.check_answers` has checked
        them."""
        now, policy, person = self._clock.time(), self._policy, self.team.known(person)
        give = partial(transitions.answer, answers=answers, by=person, now=now, policy=policy)
        return await self._change(ask_id, give, person)

    async def cancel(self, ask_id: str, *, reason: str | None, person: Person) -> Ask:
        now, person = self._clock.time(), self.team.known(person)
        cancel = partial(transitions.cancel, reason=reason, by=person, now=now)
        return await self._change(ask_id, cancel, person)

    async def _change(
        self, ask_id: str, change: Callable[[Ask], Ask], person: Person, *notes: ChannelState | None
    ) -> Ask:
        def checked(ask: Ask) -> Ask:
            channels = self._channels(ask)
            if ask.approval and person.channel not in channels:
                raise NotHere(ask.id, channels=channels)
            self.check(ask, person)
            return change(ask)

        return await self._broker.change(ask_id, checked, *notes)

    def check(self, ask: Ask, person: Person) -> None:
        """:raises RoleMissing: this person may not do anything with it."""
        self.team.check(person, sharing.role_for(ask))

    async def discard(
        self, ask_id: str, *, person: Person, cursor: ChannelState | None = None
    ) -> Ask:
        """Discard a kept answer. Approvals have none."""
        return await self._change(ask_id, transitions.discard, person, cursor)

    async def take_back(
        self, ask_id: str, *, person: Person, cursor: ChannelState | None = None
    ) -> Ask:
        """End what was allowed beyond one use, at once."""
        take_back = partial(transitions.take_back, now=self._clock.time())
        return await self._change(ask_id, take_back, person, cursor)

    async def redraw(self, ask_id: str, *, remind: bool = False) -> None:
        """Show an ask again with a new revision. An unknown one is ignored. `remind`: if it is time
        for a reminder, that is it."""

        def change(ask: Ask) -> Ask:
            now = self._clock.time()
            due = apply_due(Due.REMIND, ask, now=now, policy=self._policy) if remind else ask
            return transitions.bump_revision(due)

        with suppress(UnknownAsk, AskEnded):
            await self._broker.change(ask_id, change)

    async def behind(self, *, surface: str) -> Sequence[Ask]:
        """Asks that this surface may show in an old revision: open ones, and recently ended ones
        with a post there."""
        since = self._clock.time() - REPAIR_SECONDS
        return await self._store.behind(surface=surface, since=since)

    async def adopt(self, post: Post, *, over: Post | None, handles: Sequence[str]) -> bool:
        """Record a card that was posted before a crash. Return False without a change if the
        recorded post is no longer `over`: then it was recorded after all."""

        async def work(tx: Transaction) -> bool:
            if await tx.post(ask_id=post.ask_id, surface=post.surface) != over:
                return False
            await tx.save_post(post, handles=handles)
            return True

        return await self._store.write(work)

    async def dismiss(self, notice_id: str, *, and_older: bool = False) -> None:
        """Dismiss this notice, and those before it if `and_older`."""
        await self._store.write(lambda tx: tx.dismiss_notice(notice_id, and_older=and_older))

    async def remember(self, note: ChannelState) -> None:
        await self._store.write(lambda tx: tx.save_note(note))

    async def forget(self, channel: str, key: str) -> None:
        """Delete a stored value, if there is one."""
        if await self._store.note(channel, key) is not None:
            await self._store.write(lambda tx: tx.drop_note(channel, key))

    async def switch_quiet(
        self, words: str, *, person: Person, cursor: ChannelState | None = None
    ) -> None:
        """Switch quiet hours as these words say. :raises ChatbridgeError: they mean nothing, or the
        person may not do that."""
        self.team.check(person, Role.ANSWER)
        switch = read_switch(words, nights=self.nights, now=self._clock.time())
        if switch is not None:
            await self._broker.switch_quiet(switch, cursor)

    async def output(self, operation_id: str) -> bytes | None:
        """The stored output of an operation without escape sequences; it may be long. None: there
        is no such operation, or its output has been removed."""
        content = await self._outputs(operation_id) if self._outputs else None
        return None if content is None else await asyncio.to_thread(strip_escapes, content)

    def only_on(self, ask: Ask | Row, channel: str) -> tuple[str, ...]:
        """The channels that can settle this approval, if `channel` cannot; for `build_card`."""
        channels = self._channels(ask)
        return () if not ask.approval or channel in channels else channels or NOWHERE

    def _channels(self, ask: Ask | Row) -> tuple[str, ...]:
        """Channels that may settle an approval, by the settings both then and now. Changed
        settings cannot add a channel to an approval that was asked before."""
        now = self._policy.approval_channels
        return tuple(sorted(now.intersection(ask.approval_channels or now)))

    @property
    def replies(self) -> tuple[str, ...]:
        """The owner's quick answers; for `build_card`."""
        return self._policy.replies

    def later(self, ask: Ask) -> tuple[LaterOption, ...]:
        """The ways to postpone this ask now; for `build_card`."""
        now, latest = self._clock.time(), transitions.latest_deadline(ask, self._policy)
        return later.options(ask, now=now, latest=latest, morning=self.nights.morning(now))

    def colleagues(self, ask: Ask, *, surface: str = "") -> tuple[Colleague, ...] | None:
        """To whom it can be handed from this surface; for `build_card`."""
        return sharing.colleagues(ask, self.team, surface=surface)

    def is_hidden(self, ask: Ask, *, surface: str) -> bool:
        """Whether this surface does not show the ask yet, on purpose."""
        return self.nights.is_hidden(ask, surface=surface, now=self._clock.time())

    @property
    def team(self) -> Team:
        return self.nights.team

    @property
    def nights(self) -> Nights:
        return self._policy.nights
