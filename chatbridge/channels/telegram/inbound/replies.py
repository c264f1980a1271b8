"""Who wrote a message and what it replies to, and what the bot says to it beside cards."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from telegram import Message, User

from chatbridge.channels.chat.document import Document, paragraph
from chatbridge.channels.chat.document import Message as Note
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.render.card import draw
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import Person
from chatbridge.core.pairing import Claim
from chatbridge.core.ports import Clock

Spawn = Callable[[Coroutine[Any, Any, None]], None]


def thread_of(message: Message) -> int | None:
    """The topic that a message stands in."""
    return message.message_thread_id if message.is_topic_message else None


def replied_to(message: Message) -> Message | None:
    """The message that a person chose to reply to. In a topic every plain message replies to the
    one that opened the topic."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def person_of(user: User, *, chat: int) -> Person:
    return Person(name=display_name(user.full_name), channel="telegram", place=str(chat))


def claim_of(user: User) -> Claim:
    """Somebody who brings a code in their own chat with the bot, which has their number."""
    return Claim(
        channel="telegram",
        person=user.id,
        chat=user.id,
        name=display_name(user.full_name),
        username=display_name(user.username) if user.username else None,
    )


class Replies:
    def __init__(self, api: Api, *, clock: Clock, spawn: Spawn) -> None:
        """`spawn` runs what nobody has to wait for."""
        self.spawn = spawn
        self._api = api
        self._clock = clock

    async def say(self, said: str | Document | Note, *, to: Message, reply: bool = True) -> None:
        """:raises RetryLater: telegram cannot be reached."""
        if isinstance(said, str):
            said = paragraph(said)
        if isinstance(said, tuple):
            said = Note(document=said)
        drawing = draw(said, now=self._clock.time())

        async def send(pause: float) -> None:
            await self._clock.sleep(pause)
            await self._api.send(
                to.chat.id,
                drawing.html,
                drawing.rows,
                silent=True,
                thread=thread_of(to),
                reply_to=to.message_id if reply else None,
            )

        try:
            await send(0.0)
        except RetryLater as error:
            if error.after is None:
                raise
            self.spawn(send(error.after))  # nobody's tap has to wait for it
