"""A reaction to a card: a tap on a button. Taking it back is one, too, where several are picked."""

from __future__ import annotations

from functools import partial

from chatbridge.channels.chat.card_visibility import answerable
from chatbridge.channels.chat.keyboard import reaction_for
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.cards import Cards, Found
from chatbridge.channels.matrix.inbound.people import person_of
from chatbridge.channels.matrix.inbound.replies import Voice
from chatbridge.channels.matrix.inbound.unaddressed_messages import Plain
from chatbridge.channels.matrix.outbound.card_messages import from_text
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.render import notices
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT, format_only_on
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import allows
from chatbridge.core.forms.emoji_shortcuts import is_shortcut
from chatbridge.core.forms.typed_input import format_approval_help
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.ports import AskActions, Clock

ONCE_MORE = "To react with the same again, take your reaction back first."
"""No server takes a person's reaction twice: a tap on one's own takes it back."""


class Taps:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        cards: Cards,
        plain: Plain,
        clock: Clock,
        voice: Voice,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._cards = cards
        self._plain = plain
        self._clock = clock
        self._voice = voice

    async def take(self, event: RoomEvent, chat: Chat, cursor: ChannelState | None) -> None:
        """:raises StoreError: nothing was put in. :raises RetryLater: likewise."""
        about = relation(event.content)
        if about.kind != "m.annotation" or about.event is None or not is_shortcut(about.key or ""):
            return  # people react to everything with anything
        found = await self._cards.at(about.event, chat)
        if found is None:
            asked = await self._cards.our_event(about.event, chat)
            if asked is not None:
                await self._plain.use(event, about.key or "", asked, cursor)
            return
        ask = found.ask
        try:
            told = await self._put(event, about.event, about.key or "", found, chat, cursor)
        except AskEnded:
            ask = await self._inbox.ask(ask.id)
            self._voice.say(notices.ended(ask, now=self._clock.time()), to=event, root=found.root)
        except NotHere as error:
            self._voice.say(notices.said(format_only_on(error.channels)), to=event, root=found.root)
        else:
            if told:
                self._voice.say(notices.said(told), to=event, root=found.root)

    async def _put(
        self,
        event: RoomEvent,
        at: str,
        emoji: str,
        found: Found,
        chat: Chat,
        cursor: ChannelState | None,
    ) -> str:
        """What the person is told, if anything."""
        ask = found.ask
        if not (ask.open or (takes_late_answer(ask) and ask.draft.late)):
            raise AskEnded(ask.id, status=ask.status)
        if found.step != ask.draft.step:
            return form.STALE.why
        card = await off_loop(partial(build_card, ask, channel="matrix"), weight=weight_of(ask))
        key = reaction_for(card, emoji)
        if key is None or isinstance(key.action, AskAction):
            # Nobody should think that something was allowed, or denied.
            return format_approval_help(card) if ask.approval else ""
        if ask.approval and allows(key.action) and await chat.lacks(ask):
            return f"{UNSENT} {ONCE_MORE}"
        await self._cards.adopt(found, chat)
        beside: tuple[ChannelState, ...] = ()
        if isinstance(key.action, form.Toggle):
            beside = (await chat.picks.with_one(ask, at, event.id, key.action.option),)
        step = await self._inbox.put(
            ask.id, key.action, person=self._who(event), cursor=cursor, beside=beside
        )
        if not isinstance(step, form.Refused):
            return ""
        return step.why if step == form.STALE else f"{step.why} {ONCE_MORE}"

    # ── taking back ───────────────────────────────────────────────────────────────────────────────

    async def take_back(self, event: RoomEvent, chat: Chat, cursor: ChannelState | None) -> None:
        """A person removes something: a reaction of theirs, or a message of ours."""
        if event.redacts is None:
            return
        for ask in await answerable(self._inbox):
            post = await self._inbox.post(ask.id, surface=chat.name)
            place = from_text(post.place) if post is not None else None
            if place is None:
                continue
            if place.part(event.redacts) is not None:
                await chat.lost(ask, event.redacts)
                await self._inbox.redraw(ask.id)
                return
            picks = await chat.picks.of(ask, place.newest.event)
            if event.redacts in picks:
                await self._unpick(ask, place.newest.event, event, chat, cursor)
                return

    async def _unpick(
        self, ask: Ask, card: str, event: RoomEvent, chat: Chat, cursor: ChannelState | None
    ) -> None:
        assert event.redacts is not None
        picks = dict(await chat.picks.of(ask, card))
        option = picks.pop(event.redacts)
        left = await chat.picks.without(ask, card, event.redacts)
        if option in picks.values():
            await self._inbox.remember(left)  # somebody else has picked it, too
            return
        off = form.Toggle(step=ask.draft.step, option=option, on=False)
        try:
            await self._inbox.put(
                ask.id, off, person=self._who(event), cursor=cursor, beside=(left,)
            )
        except AskEnded:
            pass  # it was on when the answer was sent

    def _who(self, event: RoomEvent) -> Person:
        return person_of(event.sender, name=self._api.name_of(event.room, event.sender))
