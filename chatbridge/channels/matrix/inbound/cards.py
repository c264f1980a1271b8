"""Which ask a person points at: by a reaction to one of our messages, a reply, or a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatbridge.channels.chat.card_messages import OVER, CardMessages, Part, from_text, to_text
from chatbridge.channels.chat.inbound import ChatInput
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, mark, relation
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
    place: CardMessages | None
    """None while it has not been noted where the card is."""


@dataclass(frozen=True, slots=True)
class Cards:
    api: Api
    inbox: AskActions
    input: ChatInput

    async def at(self, event: str, chat: Chat) -> Target | None:
        """The ask that this message of ours shows, or showed, a step of."""
        post = await self.inbox.post_at(event, surface=chat.name)
        ask = await self.input.find(post.ask_id) if post is not None else None
        if post is not None and ask is not None and (found := _noted(event, ask, post)):
            return found
        ours = await self.our_event(event, chat)
        return await self._note(ours, chat) if ours is not None else None

    async def _beside(self, event: str, chat: Chat) -> Target | None:
        """The ask that this message of ours goes with, such as a picture above its card."""
        post = await self.inbox.post_at(event, surface=chat.name)
        ask = await self.input.find(post.ask_id) if post is not None else None
        place = from_text(post.place) if post is not None else None
        if ask is None or place is None:
            return None
        return Target(ask=ask, step=None, root=place.root.event, place=place)

    async def meant_by(self, message: RoomEvent, chat: Chat) -> Target | None:
        """The ask that somebody's message is for: a reply says so, else its thread does. People who
        reply to one another talk to one another."""
        about = relation(message.content)
        thread = about.event if about.kind == "m.thread" else None
        if about.reply_to is not None and not (thread and about.falling_back):
            found = await self.at(about.reply_to, chat) or await self._beside(about.reply_to, chat)
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
        place = found.place
        if found.step == OVER and not (place.newest is place.root and thread == place.before):
            return found  # it goes on in another thread, and that has moved on since
        return replace(found, step=None)

    async def returned(self, event: RoomEvent, chat: Chat) -> None:
        """A message of ours has come back in the timeline. A card is noted by whoever sent it; if
        they did not live, or get an answer, to do so, it is noted here."""
        if await self.inbox.post_at(event.id, surface=chat.name) is None:
            await self._note(event, chat)

    async def our_event(self, event: str, chat: Chat) -> RoomEvent | None:
        """Only what the bot itself has sent is believed."""
        assert chat.room is not None
        found = await self.api.event(chat.room, event)
        return found if found is not None and found.sender == self.api.user_id else None

    async def _note(self, event: RoomEvent, chat: Chat) -> Target | None:
        """Note a card that was sent, while the hub did not live to note it: it says itself what it
        is. An ask that ends before it is sent again is not posted any more, and its card would stay
        a question for ever. One that was noted since somebody looked is as it was noted."""
        made, about = mark(event.content), relation(event.content)
        if made is None or about.kind == "m.replace" or event.redacted:
            return None
        ask = await self.input.find(made.ask_id)
        if ask is None:
            return None
        post = await self.inbox.post(ask.id, surface=chat.name)
        if post is not None and (found := _noted(event.id, ask, post)):
            return found
        root = about.event if about.kind == "m.thread" and about.event else event.id
        place = from_text(post.place) if post is not None else None
        is_root, is_current = event.id == root, made.step == ask.draft.step
        if (place is None) is is_root and (is_root or is_current or not ask.open):
            old = is_root and not is_current
            part = Part(
                event=event.id,
                step=made.step,
                view=View.QUESTION if old else ask.draft.view,
                at=0 if old else min(ask.draft.at, len(ask.questions) - 1),
                shows=_digest(event),
            )
            place = place.having(part) if place else CardMessages(room=event.room, parts=(part,))
            adopted = Post(ask_id=ask.id, surface=chat.name, place=to_text(place), revision=0)
            if await self.inbox.adopt(adopted, over=post, handles=(event.id,)):
                # If it has ended meanwhile it was not shown: there was no card to change.
                await self.inbox.show_again(ask.id)
        return Target(ask=ask, step=made.step, root=root, place=place)


def _noted(event: str, ask: Ask, post: Post) -> Target | None:
    place = from_text(post.place)
    part = place.part(event) if place is not None else None
    if place is None or part is None:
        return None
    return Target(ask=ask, step=part.step, root=place.root.event, place=place)


def _digest(event: RoomEvent) -> str:
    """Of what a message of ours says, as whoever sent it would have noted it."""
    body, html = event.content.get("body"), event.content.get("formatted_body")
    if not isinstance(body, str) or not isinstance(html, str):
        return ""
    return digest(Words(body=body, html=html))
