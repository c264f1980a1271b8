"""Which ask a person points at: by a reaction to one of our messages, a reply, or a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatbridge.channels.chat.card_messages import CardMessages, Part
from chatbridge.channels.chat.inbound import ChatInput
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, mark, relation
from chatbridge.channels.matrix.outbound.card_messages import from_text, to_text
from chatbridge.channels.matrix.outbound.chat import Chat, digest
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import Ask, Post, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    ask: Ask
    step: int | None
    """The step that the message was drawn for; None for the thread as a whole."""
    root: str
    post: Post | None
    """None while it has not been noted where the card is."""
    unnoted: str | None = None
    """The message, if it has not been noted."""

    @property
    def place(self) -> CardMessages | None:
        return from_text(self.post.place) if self.post is not None else None


class Cards:
    def __init__(self, api: Api, inbox: AskActions, *, input: ChatInput) -> None:
        self._api = api
        self._inbox = inbox
        self._input = input

    async def at(self, event: str, chat: Chat) -> Target | None:
        """The ask that this message of ours shows, or showed, a step of."""
        post = await self._inbox.post_at(event, surface=chat.name)
        ask = await self._input.find(post.ask_id) if post is not None else None
        if post is not None and ask is not None and (found := _noted(event, ask, post)):
            return found
        trusted = await self.our_event(event, chat)
        return await self._unnoted(trusted, chat) if trusted is not None else None

    async def meant_by(self, message: RoomEvent, chat: Chat) -> Target | None:
        """The ask that somebody's message is for: a reply says so, else its thread does. People who
        reply to one another talk to one another."""
        about = relation(message.content)
        thread = about.event if about.kind == "m.thread" else None
        if about.reply_to is not None and not (thread and about.falling_back):
            found = await self.at(about.reply_to, chat)
            if found is not None:
                return found
            trusted = await self.our_event(about.reply_to, chat)
            if trusted is None:
                return None
            beside = relation(trusted.content)  # a reminder, or something that the bot said
            thread = beside.event if beside.kind == "m.thread" else None
        found = await self.at(thread, chat) if thread is not None else None
        if found is None or found.place is None:  # there is only the root
            return found
        return replace(found, step=None)

    async def _unnoted(self, event: RoomEvent, chat: Chat) -> Target | None:
        """A card that was sent, while the hub did not live to note it: it says itself what it
        is. One that was noted since somebody looked is as it was noted."""
        made, about = mark(event.content), relation(event.content)
        if made is None or about.kind == "m.replace":
            return None
        ask = await self._input.find(made.ask_id)
        if ask is None:
            return None
        root = about.event if about.kind == "m.thread" and about.event else event.id
        post = await self._inbox.post(ask.id, surface=chat.name)
        found = _noted(event.id, ask, post) if post is not None else None
        return found or Target(ask=ask, step=made.step, root=root, post=post, unnoted=event.id)

    async def adopt(self, found: Target, chat: Chat) -> None:
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
        place = place.having(part) if place else CardMessages(room=chat.room, parts=(part,))
        revision = found.post.revision if found.post is not None else 0
        adopted = Post(ask_id=ask.id, surface=chat.name, place=to_text(place), revision=revision)
        await self._inbox.adopt(adopted, over=found.post, handles=(event,))

    async def returned(self, event: RoomEvent, chat: Chat) -> None:
        """A message of ours has come back in the timeline. A card is noted by whoever sent it; if
        they did not live, or get an answer, to do so, it is noted here. An ask that ends before it
        is sent again is not posted any more, and its card would stay a question for ever."""
        about = relation(event.content)
        if mark(event.content) is None or about.kind == "m.replace" or event.redacted:
            return
        if await self._inbox.post_at(event.id, surface=chat.name) is not None:
            return
        found = await self._unnoted(event, chat)
        if found is None or found.unnoted is None or chat.room is None or found.step is None:
            return
        ask, place = found.ask, found.place
        root = event.id == found.root
        if (place is None) is not root or (ask.open and not root and found.step != ask.draft.step):
            return
        at = 0 if root else min(ask.draft.at, len(ask.questions) - 1)
        view = View.QUESTION if root else ask.draft.view
        part = Part(event=event.id, step=found.step, view=view, at=at, shows=_digest(event))
        place = place.having(part) if place else CardMessages(room=chat.room, parts=(part,))
        adopted = Post(ask_id=ask.id, surface=chat.name, place=to_text(place), revision=0)
        noted = await self._inbox.adopt(adopted, over=found.post, handles=(event.id,))
        if noted:  # an ask that has ended meanwhile was not shown: there was no card to change
            await self._inbox.show_again(ask.id)

    async def our_event(self, event: str, chat: Chat) -> RoomEvent | None:
        """Only what the bot itself has sent is believed."""
        assert chat.room is not None
        found = await self._api.event(chat.room, event)
        return found if found is not None and found.sender == self._api.user_id else None


def _noted(event: str, ask: Ask, post: Post) -> Target | None:
    place = from_text(post.place)
    part = place.part(event) if place is not None else None
    if place is None or part is None:
        return None
    return Target(ask=ask, step=part.step, root=place.root.event, post=post)


def _digest(event: RoomEvent) -> str:
    """Of what a message of ours says, as whoever sent it would have noted it."""
    body, html = event.content.get("body"), event.content.get("formatted_body")
    if not isinstance(body, str) or not isinstance(html, str):
        return ""
    return digest(Words(body=body, html=html))
