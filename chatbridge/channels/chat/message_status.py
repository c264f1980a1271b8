"""A message to an agent in the chat in which it was written: where that was, and what the chat says
there about what has become of it.

A silent reply, which is edited. Only that it has expired is a reply of its own, which may ring.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Generic

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.callback_data import TakeBack, encode
from chatbridge.channels.chat.capabilities import Capabilities, T
from chatbridge.channels.chat.notices import TYPED_LENGTH
from chatbridge.channels.chat.writer import ChatWriter, MessageRejected, Outgoing
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import PostGone
from chatbridge.core.messages.message import MessageState, OwnerMessage, state_sentence
from chatbridge.core.ports import Clock, Shown
from chatbridge.core.stored_json import reader
from chatbridge.core.text import clipped, visible

TAKE_BACK = "Take back"
HOW_TO_TAKE_BACK = "Reply “take back” to take it back."


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAt:
    """A place in a chat: what says what becomes of the message replies to it."""

    room: str
    message: str = ""
    """Empty: it was typed into a form of the service, or is a command that leaves no message."""
    topic: str | None = None
    root: str | None = None
    """What an answer belongs to: it replies to that, or is in its thread."""

    def to_text(self) -> str:
        return json.dumps([self.room, self.message, self.topic, self.root])

    @classmethod
    def from_text(cls, text: str) -> WrittenAt | None:
        """None: nothing that `to_text` has made."""
        try:
            room, message, topic, root = json.loads(text)
        except (ValueError, TypeError):
            return None
        return cls(room=room, message=message, topic=topic, root=root)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMessage:
    """The message of the chat that says what has become of it."""

    room: str
    message: str  # Empty if the service has not said it
    old: str = ""  # The one that it replaces, if that is still to be removed
    expired: bool = False


read_status = reader(StatusMessage)


def draw_status(message: OwnerMessage, chat: Capabilities[T]) -> doc.Message:
    said, at = doc.line(*state_sentence(message)), WrittenAt.from_text(message.reply_to)
    about: doc.Document = ()
    if at is not None and not at.message and message.text:  # else nobody sees what it was
        about = (doc.Quote(clipped(visible(message.text), TYPED_LENGTH)),)
    if not message.open:
        return doc.Message(document=(*about, said))
    if chat.buttons is None:
        said = doc.line(*state_sentence(message), " ", HOW_TO_TAKE_BACK)
        return doc.Message(document=(*about, said))
    key = doc.Key(text=TAKE_BACK, data=encode(TakeBack(message_id=message.id)))
    return doc.Message(document=(*about, said), rows=((key,),))


@dataclass(frozen=True, slots=True)
class StatusWriter(Generic[T]):
    """Writes what has become of messages into one chat."""

    chat: ChatWriter[T]
    can: Capabilities[T]
    inbox: AskActions
    clock: Clock

    async def write(self, message: OwnerMessage) -> Shown:
        """:raises PostGone: it is nowhere, or in what this chat was before."""
        room, expired = self.chat.current_room(), message.state is MessageState.EXPIRED
        known = read_status(message.place) if message.place else None
        if known is not None and known.room != room:
            known = None
        if message.place and known is None and not expired:
            raise PostGone
        if known is None or (expired and not known.expired):
            return await self._send(message, room, old=known.message if known else "")
        if known.old:
            await self.chat.remove(room, known.old)
            return self._shown(replace(known, old=""))
        if not known.message:
            return self._shown(known)
        drawing = self.chat.drawn(draw_status(message, self.can))
        key = ("status", message.id, str(message.revision))
        try:
            await self.chat.edit(room, known.message, drawing, key=key, silent=True)
        except MessageRejected as error:
            raise PostGone from error
        return self._shown(known)

    async def _send(self, message: OwnerMessage, room: str, *, old: str) -> Shown:
        at, expired = WrittenAt.from_text(message.reply_to), message.state is MessageState.EXPIRED
        if at is None or at.room != room:
            at = WrittenAt(room=room)
        sent = await self.chat.send(
            Outgoing(
                room=room,
                what=self.chat.drawn(draw_status(message, self.can)),
                key=("expired" if expired else "status", self.chat.name, message.id),
                project=message.project,
                topic=at.topic,
                root=at.root,
                answers=at.message,
                silent=not expired
                or self.inbox.nights.is_quiet_on(self.chat.name, self.clock.time()),
            )
        )
        status = StatusMessage(room=room, message=sent.id, old=old, expired=expired)
        return self._shown(status, messages=1)

    def _shown(self, status: StatusMessage, *, messages: int = 0) -> Shown:
        handle = self.chat.handle(status.room, status.message)
        return Shown(
            place=json.dumps(asdict(status)),
            handles=(handle,) if status.message else (),
            messages=messages,
            complete=not status.old,
        )
