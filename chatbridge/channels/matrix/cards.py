"""Which ask a person points at: by a reaction to one of our messages, a reply, or a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatbridge.channels.matrix.api import Api
from chatbridge.channels.matrix.chat import Chat
from chatbridge.channels.matrix.place import Part, Place, from_text, to_text
from chatbridge.channels.matrix.wire import RoomEvent, mark, relation
from chatbridge.core.errors import UnknownAsk
from chatbridge.core.model import Ask, Post
from chatbridge.core.ports import Inbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    ask: Ask
    step: int | None
    """The step that the message was drawn for; None for the thread as a whole."""
    root: str
    place: Place | None = None
    """None while it has not been noted where the card is."""
    unnoted: str | None = None
    """The message, if it has not been noted."""


class Cards:
    def __init__(self, api: Api, inbox: Inbox) -> None:
        self._api = api
        self._inbox = inbox

    async def at(self, event: str, chat: Chat) -> Found | None:
        """The ask that this message of ours shows, or showed, a step of."""
        post = await self._inbox.post_at(event, surface=chat.name)
        if post is not None:
            place = from_text(post.place)
            part = place.part(event)
            ask = await self._known(post.ask_id)
            if part is not None and ask is not None:
                return Found(ask=ask, step=part.step, root=place.root.event, place=place)
        ours = await self.our_event(event, chat)
        return await self._unnoted(ours, chat) if ours is not None else None

    async def meant_by(self, message: RoomEvent, chat: Chat) -> Found | None:
        """The ask that somebody's message is for: a reply says so, else its thread does. People who
        reply to one another talk to one another."""
        about = relation(message.content)
        thread = about.event if about.kind == "m.thread" else None
        if about.reply_to is not None and not (thread and about.falling_back):
            found = await self.at(about.reply_to, chat)
            if found is not None:
                return found
            ours = await self.our_event(about.reply_to, chat)
            if ours is None:
                return None
            beside = relation(ours.content)  # a reminder, or something that the bot said
            thread = beside.event if beside.kind == "m.thread" else None
        found = await self.at(thread, chat) if thread is not None else None
        if found is None or found.place is None:  # there is only the root
            return found
        return replace(found, step=None)

    async def _unnoted(self, event: RoomEvent, chat: Chat) -> Found | None:
        """A card that was sent, while the hub did not live to note it: it says itself what it
        is."""
        made, about = mark(event.content), relation(event.content)
        if made is None or about.kind == "m.replace":
            return None
        ask = await self._known(made.ask_id)
        if ask is None:
            return None
        root = about.event if about.kind == "m.thread" and about.event else event.id
        post = await self._inbox.post(ask.id, surface=chat.name)
        place = from_text(post.place) if post is not None else None
        return Found(ask=ask, step=made.step, root=root, place=place, unnoted=event.id)

    async def adopt(self, found: Found, chat: Chat) -> None:
        """Before somebody's tap or words count: a card that has never been noted would otherwise
        stay as it is for ever, because an ended ask is not posted again."""
        ask, event = found.ask, found.unnoted
        if event is None or chat.room is None or found.step != ask.draft.step:
            return
        at = min(ask.draft.at, len(ask.questions) - 1)
        part = Part(event=event, step=ask.draft.step, view=ask.draft.view, at=at, shows="")
        place = found.place
        if place is None and event != found.root:
            return
        place = place.having(part) if place else Place(room=chat.room, parts=(part,))
        post = await self._inbox.post(ask.id, surface=chat.name)
        revision = post.revision if post is not None else 0
        adopted = Post(ask_id=ask.id, surface=chat.name, place=to_text(place), revision=revision)
        await self._inbox.adopt(adopted, handles=(event,))

    async def our_event(self, event: str, chat: Chat) -> RoomEvent | None:
        """Only what the bot itself has sent is believed."""
        assert chat.room is not None
        found = await self._api.event(chat.room, event)
        return found if found is not None and found.sender == self._api.user_id else None

    async def _known(self, ask_id: str) -> Ask | None:
        try:
            return await self._inbox.ask(ask_id)
        except UnknownAsk:
            return None
