"""A reaction to a card: a tap on a button. Taking it back is one, too, where several are picked."""

from __future__ import annotations

from functools import partial

from chatbridge.channels.chat.card_visibility import answerable
from chatbridge.channels.chat.inbound import ChatInput, reply_to
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.cards import Cards, Target
from chatbridge.channels.matrix.inbound.replies import Replies, person_of
from chatbridge.channels.matrix.inbound.unaddressed_messages import UnaddressedMessages
from chatbridge.channels.matrix.outbound.card_messages import from_text
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT
from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import is_shortcut, reaction_for
from chatbridge.core.forms.typed_input import format_approval_help
from chatbridge.core.model import Ask, ChannelState

ONCE_MORE = "To react with the same again, take your reaction back first."
"""No server takes a person's reaction twice: a tap on one's own takes it back."""


class Taps:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        input: ChatInput,
        cards: Cards,
        plain: UnaddressedMessages,
        replies: Replies,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._input = input
        self._cards = cards
        self._plain = plain
        self._replies = replies

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
        told = await self._put(event, about.event, about.key or "", found, chat, cursor)
        self._replies.say(told, to=event, root=found.root)

    async def _put(
        self,
        event: RoomEvent,
        at: str,
        emoji: str,
        found: Target,
        chat: Chat,
        cursor: ChannelState | None,
    ) -> str:
        """What the person is told, if anything."""
        ask = found.ask
        if not (ask.open or (takes_late_answer(ask) and ask.draft.late)):
            return self._input.ended(ask)
        if found.step != ask.draft.step:
            return form.STALE.why
        card = await off_loop(partial(build_card, ask, channel="matrix"), weight=weight_of(ask))
        key = reaction_for(card, emoji)
        if key is None or isinstance(key.action, AskAction):
            # Nobody should think that something was allowed, or denied.
            return format_approval_help(card) if ask.approval else ""
        if await self._input.is_unsent(ask, (key.action,), chat):
            return f"{UNSENT} {ONCE_MORE}"
        await self._cards.adopt(found, chat)
        beside: tuple[ChannelState, ...] = ()
        if isinstance(key.action, form.Toggle):
            beside = (await chat.picks.with_one(ask, at, event.id, key.action.option),)
        person = person_of(event, self._api)
        step = await self._input.put(ask, key.action, person=person, cursor=cursor, beside=beside)
        if isinstance(step, form.Refused) and step != form.STALE:
            return f"{step.why} {ONCE_MORE}"
        return reply_to(step) or ""

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
                ask.id, off, person=person_of(event, self._api), cursor=cursor, beside=(left,)
            )
        except AskEnded:
            pass  # it was on when the answer was sent
