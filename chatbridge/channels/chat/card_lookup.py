"""Which ask a message of a chat with buttons shows, and which step of it: by what was noted, else
by its buttons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from chatbridge.channels.chat.callback_data import Tap
from chatbridge.channels.chat.card_messages import CardMessages, Part
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, Post, View

Chat = ChatSurface[Any]


@dataclass(frozen=True, slots=True)
class CardLookup:
    inbox: AskActions

    async def ask_at(self, message: str, chat: Chat, *, buttons: Iterable[Tap]) -> str | None:
        """The id of the ask whose card this message is, or belongs to. `buttons` are those of a
        message of the bot's own."""
        handle = chat.handle(chat.current_room(), message)
        post = await self.inbox.post_at(handle, surface=chat.name)
        if post is not None:
            return post.ask_id
        # A card whose number is not known, because a connection was cut or nobody said it.
        for tap in buttons:
            if tap.is_on_card:
                chat.memory.touched(tap.ask_id, message)
                return tap.ask_id
        return None

    async def is_stale(
        self, ask: Ask, chat: Chat, *, message: str, buttons: Iterable[Tap], written: float
    ) -> bool:
        """Whether a reply to this message was written for a step that is over."""
        place, step = await self._place(ask, chat), ask.draft.step
        # All buttons are of one drawing.
        drawn = {getattr(tap.action, "step", None) for tap in buttons} - {None}
        if place is None or (not place.root.event and drawn):
            return step not in drawn
        if place.prompt is not None and message == place.prompt.id:
            return place.prompt.step != step
        if message != place.root.event:
            return step != 0  # a part of the question, or what is no longer there
        if place.root.step != step:
            return True
        # Dates are whole seconds: in the one in which a question came nobody can have read it.
        unread = place.root.step > 0 and ask.draft.view is View.QUESTION
        return written < place.since or (unread and written == int(place.since))

    async def is_early(self, ask: Ask, *, message: str, chat: Chat) -> bool:
        """Whether a tap came too soon after the button appeared: a moment, or so soon that the
        service has not even said that the card is there."""
        if chat.memory.just_shown(ask):
            return True
        if chat.has_posted(ask, message):
            return False
        return await self.inbox.post(ask.id, surface=chat.name) is None

    async def is_stray(self, ask: Ask, message: str, chat: Chat) -> bool:
        """Whether this is a card that was sent twice because a connection was cut: both work, the
        one that is not known goes as soon as somebody touches it."""
        if chat.memory.is_coming(ask) or chat.has_posted(ask, message):
            return False
        place = await self._place(ask, chat)
        if place is None or not place.root.event:
            return False
        return message != place.root.event

    async def found(self, ask_id: str, message: str, chat: Chat) -> None:
        """Somebody has touched a card of this ask. If the ask has ended, and nobody lived, or got
        an answer, to note where its card is, this one is noted, so that it says how: an ended ask
        is not posted again, and its buttons would stay for ever."""
        ask = await self.inbox.ask(ask_id)
        if not ask.open:
            since = ask.settled_at or ask.created_at
            await self.note(ask, message, chat, step=ask.draft.step, since=since)

    async def note(
        self,
        ask: Ask,
        message: str,
        chat: Chat,
        *,
        step: int,
        since: float,
        came_back: bool = False,
    ) -> None:
        """This message is the ask's card, and shows this step, unless another is known. One that
        `came_back`, as the bot has sent it, goes on from an earlier one."""
        if chat.has_posted(ask, message):
            return
        over, room = await self.inbox.post(ask.id, surface=chat.name), chat.current_room()
        known = chat.from_text(over.place) if over is not None else None
        card = Part(event=message, step=step)
        place = CardMessages(room=room, parts=(card,), since=since)
        if known is not None and known.root.event:
            if not came_back or not _is_after(message, known.root.event):
                return
            place = replace(known.continued(card, since=since), room=room)
            chat.came_back(ask)
        elif over is not None and known is None:
            return
        place = replace(place, raised=self.inbox.nights.raised_on(chat.name, ask))
        post = Post(ask_id=ask.id, surface=chat.name, place=chat.to_text(place), revision=0)
        await self.inbox.adopt(post, over=over, handles=(chat.handle(room, message),))
        await self.inbox.show_again(ask.id)

    async def _place(self, ask: Ask, chat: Chat) -> CardMessages | None:
        post = await self.inbox.post(ask.id, surface=chat.name)
        return chat.from_text(post.place) if post is not None else None


def _is_after(message: str, other: str) -> bool:
    """The services whose chats have buttons count their messages up."""
    return (len(message), message) > (len(other), other)


def is_current(ask: Ask, place: str, *, chat: Chat, written: float, topic: str | None) -> bool:
    """Whether the card showed the ask as it is now when a message was written beside it, in the
    same topic if it is for text."""
    card = chat.from_text(place)
    if card is None or card.root.step != ask.draft.step or card.since >= written:
        return False
    return card.topic == topic or not takes_text(ask)
