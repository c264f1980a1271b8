"""What a bot with buttons and replies says to what somebody did."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from chatbridge.channels.chat.document import File, Message, Upload, paragraph
from chatbridge.channels.chat.inbound import Said, Spawn
from chatbridge.channels.chat.incoming import Incoming
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Outgoing, patiently
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Clock


class Answering(ABC):
    threaded = False
    """A reply is in the thread below what it replies to."""

    def __init__(self, chats: Sequence[ChatSurface[Any]], clock: Clock, spawn: Spawn) -> None:
        self._chats, self._clock, self._spawn = chats, clock, spawn

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    @abstractmethod
    async def take_buttons(self, message: Incoming) -> None: ...

    async def mark_taken(self, message: Incoming) -> None:  # noqa: B027 - not every service can
        """Show the person that their message has arrived."""

    def root_of(self, message: Incoming) -> str | None:
        """What an answer to it belongs to: it replies to that, or is in its thread. In a chat of
        two, what begins no thread is answered right below."""
        if not self.threaded:
            return message.id
        if message.replied is not None:
            return message.replied.id
        chat = self.chat_at(message.room)
        return None if chat is None or chat.private else message.id or None

    def written_at(self, message: Incoming) -> WrittenAt:
        """Where to say what becomes of a message to an agent."""
        root = self.root_of(message) if message.id else None
        return WrittenAt(room=message.room, message=message.id, topic=message.topic, root=root)

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    def chat_at(self, room: str) -> ChatSurface[Any] | None:
        there = (chat for chat in self._chats if chat.is_there)
        return next((chat for chat in there if chat.current_room() == room), None)

    async def answer(self, said: Said, *, to: Incoming, reply: bool = True) -> None:
        """:raises RetryLater: the service cannot be reached."""
        if isinstance(said, str):
            said = paragraph(said)
        if isinstance(said, tuple):
            said = Message(document=said)
        await self.say(said, to=to, reply=reply)

    async def say(self, said: Message, *, to: Incoming, reply: bool = True) -> None:
        """Send it without a sound; after the pause that the service asks for, if it does: nobody's
        tap has to wait for it. :raises RetryLater: the service cannot be reached."""
        chat = self._writer(to)
        send = partial(chat.send, self._outgoing(chat.drawn(said), to, reply=reply))
        try:
            await send()
        except RetryLater as error:
            if error.after is None:
                raise
            self._spawn(patiently(send, self._clock, pause=error.after))

    async def send_file(self, file: File, *, to: Incoming) -> None:
        await patiently(
            partial(self._writer(to).send, self._outgoing(Upload.of(file), to)), self._clock
        )

    async def rewrite(self, message: Incoming, said: Message) -> None:
        chat = self._writer(message)
        await chat.edit(message.room, message.id, chat.drawn(said), key=(), silent=True)

    def _writer(self, to: Incoming) -> ChatSurface[Any]:
        return self.chat_at(to.room) or self._chats[0]  # which can write elsewhere, too

    def _outgoing(
        self, what: Drawing[Any] | Upload, to: Incoming, *, reply: bool = True
    ) -> Outgoing[Any]:
        root, answers = (self.root_of(to), to.id) if reply else (None, "")
        return Outgoing(room=to.room, what=what, key=(), topic=to.topic, root=root, answers=answers)
