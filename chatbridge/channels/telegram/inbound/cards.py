"""Which ask a message shows, and which step of it: by what was noted, else by its buttons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from telegram import Message

from chatbridge.channels.chat.callback_data import Tap, decode
from chatbridge.channels.chat.card_messages import CardMessages
from chatbridge.channels.telegram.outbound.card_messages import from_text, handle
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, View


@dataclass(frozen=True, slots=True)
class Cards:
    inbox: AskActions

    async def ask_at(self, message: Message, chat: Chat, *, ours: bool) -> str | None:
        """The id of the ask whose card this message is, or belongs to."""
        post = await self.inbox.post_at(handle(chat.id, message.message_id), surface=chat.name)
        if post is not None:
            return post.ask_id
        # A card whose number is not known, because a connection was cut or nobody said it.
        for tap in _buttons(message) if ours else ():
            if tap.is_on_card:
                chat.touched(tap.ask_id, str(message.message_id))
                return tap.ask_id
        return None

    async def is_stale(self, message: Message, replied: Message, ask: Ask, chat: Chat) -> bool:
        """Whether the message was written for a step that is over."""
        place, step = await self._place(ask, chat), ask.draft.step
        meant = str(replied.message_id)
        # All buttons are of one drawing.
        drawn = {getattr(tap.action, "step", None) for tap in _buttons(replied)} - {None}
        if place is None or (not place.root.event and drawn):
            return step not in drawn
        if place.prompt is not None and meant == place.prompt.id:
            return place.prompt.step != step
        if meant not in (place.root.event, place.reminder):
            return step != 0  # a part of the question, or what is no longer there
        if place.root.step != step:
            return True
        written = message.date.timestamp()
        # Dates are whole seconds: in the one in which a question came nobody can have read it.
        unread = place.root.step > 0 and ask.draft.view is View.QUESTION
        return written < place.since or (unread and written == int(place.since))

    async def is_early(self, ask: Ask, *, message: int, chat: Chat) -> bool:
        """Whether a tap came too soon after the button appeared: a moment, or so soon that Telegram
        has not even said that the card is there."""
        if chat.just_shown(ask):
            return True
        if chat.has_posted(ask, str(message)):
            return False
        return await self.inbox.post(ask.id, surface=chat.name) is None

    async def is_stray(self, ask: Ask, message: int, chat: Chat) -> bool:
        """Whether this is a card that was sent twice because a connection was cut: both work, the
        one that is not known goes as soon as somebody touches it."""
        place = await self._place(ask, chat)
        if place is None or not place.root.event or chat.has_posted(ask, str(message)):
            return False
        return str(message) not in (place.root.event, place.reminder)

    async def _place(self, ask: Ask, chat: Chat) -> CardMessages | None:
        post = await self.inbox.post(ask.id, surface=chat.name)
        return from_text(post.place) if post is not None else None


def is_current(ask: Ask, place: str, *, written: float, thread: int | None) -> bool:
    """Whether the card showed the ask as it is now when a message was written beside it, in the
    same topic if it is for text."""
    card = from_text(place)
    if card is None or card.root.step != ask.draft.step or card.since >= written:
        return False
    return card.topic == (str(thread) if thread else None) or not takes_text(ask)


def _buttons(message: Message) -> Iterator[Tap]:
    for row in message.reply_markup.inline_keyboard if message.reply_markup else ():
        for button in row:
            tap = decode(button.callback_data) if isinstance(button.callback_data, str) else None
            if isinstance(tap, Tap):
                yield tap
