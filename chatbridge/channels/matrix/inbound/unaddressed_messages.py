"""A message that is neither a reply nor in a thread, in a room that is one person's alone: an
answer if only one question can be meant, else a question back, which one tap answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbridge.channels.chat.card_messages import CardMessages
from chatbridge.channels.chat.card_visibility import any_unseen, shown_on
from chatbridge.channels.chat.inbound import ChatInput, reply_to
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.replies import Replies, from_content, offer, person_of
from chatbridge.channels.matrix.inbound.texts import text_of
from chatbridge.channels.matrix.outbound.card_messages import from_text
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.channels.matrix.render import notices
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import Clock

HELP = ("!help", "help")
GONE = "Your message is no longer there. Reply to the question you mean."


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCard:
    """An ask that takes answers and has a card in this room."""

    ask: Ask
    place: CardMessages | None
    """None: what is stored of it cannot be read."""


class UnaddressedMessages:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        input: ChatInput,
        own_events: OwnEvents,
        clock: Clock,
        replies: Replies,
        reactions: bool,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._input = input
        self._own_events = own_events
        self._clock = clock
        self._replies = replies
        self._reactions = reactions
        self._began = clock.time()
        self._old: dict[str, tuple[RoomEvent, Chat]] = {}
        """The last message in each room that was written while no hub was there."""

    async def take(self, event: RoomEvent, chat: Chat, cursor: ChannelState | None) -> None:
        """:raises StoreError: nothing was put in."""
        text = text_of(event)
        if text is None or not self._is_for_us(event, chat):
            return  # people talk to each other
        if event.at < self._began:
            self._old[event.room] = (event, chat)
        elif text.strip().casefold() in HELP:
            self._replies.say(notices.help_text(reactions=self._reactions), to=event)
        elif only := await self._clearly_meant(chat):
            self._replies.say(await self._put(event, text, only, cursor), to=event)
        else:
            await self._ask_back(event, chat)

    async def take_late(self, event: RoomEvent, chat: Chat) -> None:
        """One that could not be read when it was written: other questions may have come since."""
        if self._is_for_us(event, chat):
            await self._ask_back(event, chat)

    def _is_for_us(self, event: RoomEvent, chat: Chat) -> bool:
        about = relation(event.content)
        plain = about.kind is None and about.reply_to is None
        return plain and chat.viewer is not None and text_of(event) is not None

    async def settle(self) -> None:
        """After each batch. Of many messages from a time without a hub, only the last is asked
        about, and only if something waits."""
        for event, chat in self._old.values():
            if _questions(await self._open_in(chat)):
                await self._ask_back(event, chat)
        self._old.clear()

    async def use(
        self, tap: RoomEvent, emoji: str, asked: RoomEvent, cursor: ChannelState | None
    ) -> None:
        """A tap on the bot's question which ask a message is for."""
        made = from_content(asked.content)
        chosen = made.chosen(emoji) if made is not None else None
        if made is None or chosen is None:
            return
        written = await self._api.event(tap.room, made.text)
        text = text_of(written) if written is not None and written.sender == tap.sender else None
        if written is None or not text:
            self._replies.say(GONE, to=tap)
            return
        ask = await self._input.find(chosen[0])
        if ask is None:
            return
        told = await self._used(written, text, ask, chosen[1], cursor)
        self._replies.spawn(self._replies.take_away(asked))
        self._replies.say(told, to=written)

    async def _used(
        self, written: RoomEvent, text: str, ask: Ask, step: int, cursor: ChannelState | None
    ) -> str | None:
        if not (ask.open or (takes_late_answer(ask) and ask.draft.late)):
            return self._input.ended(ask)
        if step != ask.draft.step:
            return form.STALE.why
        return await self._put(written, text, ask, cursor)

    async def _put(
        self, event: RoomEvent, text: str, ask: Ask, cursor: ChannelState | None
    ) -> str | None:
        person = person_of(event, self._api)
        return reply_to(await self._input.put_text(ask, text, person=person, cursor=cursor))

    async def _ask_back(self, event: RoomEvent, chat: Chat) -> None:
        here = await self._open_in(chat)
        questions = _questions(here)
        if not questions:
            told = notices.on_its_card() if here else notices.nothing_waits()
            self._replies.say(told, to=event)
            return
        asks = [ask for ask in questions if takes_text(ask)] or questions
        drawing = notices.which_one(asks, now=self._clock.time(), reactions=self._reactions)
        made = offer(event, asks)
        self._replies.ask_back(drawing, made, to=event, reactions=self._reactions)

    async def _open_in(self, chat: Chat) -> list[OpenCard]:
        found = await shown_on(self._inbox, chat.name)
        return [OpenCard(ask=ask, place=from_text(post.place)) for ask, post in found]

    async def _clearly_meant(self, chat: Chat) -> Ask | None:
        """The one question that waits for text now, if it was the only one when the message was
        written: nothing here has moved on or ended since, or just before without the person."""
        if await any_unseen(self._inbox, chat.name, chat.visibility.shown_cards):
            return None
        here = await self._open_in(chat)
        waiting = [ask for ask in _questions(here) if takes_text(ask)]
        if len(waiting) != 1:
            return None
        for each in here:
            if each.place is None:
                return None
            newest = each.place.newest
            if newest.step != each.ask.draft.step or self._own_events.is_ahead(newest.event):
                return None
        return None if chat.visibility.is_ambiguous(than=waiting[0]) else waiting[0]


def _questions(here: Sequence[OpenCard]) -> list[Ask]:
    """What a message beside the cards can be for. It allows nothing, and denies nothing."""
    return [each.ask for each in here if not each.ask.approval]
