"""One chat: a person's direct messages with the bot, or a channel of a server."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress

from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.channels.discord.api import Api, Rejected, written_at
from chatbridge.channels.discord.render import DISCORD, NO_MENTIONS, SILENT, body
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, PostGone
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

PACE = RateLimit(message=1.0, edit=1.0, burst=4.0)
"""Discord allows five messages in five seconds in a chat."""
REMEMBERED = 64


class Chat(ChatSurface[Text]):
    idempotent = True

    def __init__(
        self, api: Api, id: int, *, private: bool, clock: Clock, pace: RateLimit | None = None
    ) -> None:
        """`id` is the channel's or, in private, the person's."""
        super().__init__(f"discord:{id}", DISCORD, service="Discord", clock=clock)
        self.id = id
        self.private = private
        self.pace = pace or PACE
        self.visibility = Visibility("discord", clock=clock)
        self._api = api
        self._room = "" if private else str(id)
        self._newest: deque[int] = deque(maxlen=REMEMBERED)

    async def open(self) -> None:
        """Find the room of direct messages. :raises RetryLater: :raises TokenRejected:"""
        if not self._room:
            try:
                self._room = await self._api.direct(self.id)
            except ChatRefused as error:
                self.trouble = str(error)
                log.warning("%s", error)

    @property
    def is_there(self) -> bool:
        return bool(self._room)

    @property
    def viewer(self) -> str | None:
        return self._room if self.private else None

    def current_room(self) -> str:
        if not self._room:
            raise ChatRefused(self.trouble or f"discord: {self.id} has no direct messages yet")
        return self._room

    def passed(self, message: str) -> None:
        """A message is in this chat."""
        if int(message) not in self._newest:
            self._newest.append(int(message))

    def messages_after(self, message: str) -> int:
        return sum(each > int(message) for each in self._newest) if message else 0

    async def send(self, new: Outgoing[Text]) -> Sent:
        flags = SILENT if new.silent else 0
        if isinstance(new.what, File):
            plain = {"flags": flags, "allowed_mentions": NO_MENTIONS}
            sent = await self._api.send(
                new.room, plain, key=new.key, reply_to=new.root, file=new.what
            )
        else:
            drawn = body(new.what.text, new.what.rows, flags=flags)
            sent = await self._api.send(new.room, drawn, key=new.key, reply_to=new.root)
        self.passed(sent)
        return Sent(id=sent, at=written_at(sent), topic=new.topic)

    async def edit(
        self, room: str, message: str, drawing: Drawing[Text], *, key: Key, silent: bool
    ) -> Sent:
        try:
            await self._api.edit(room, message, body(drawing.text, drawing.rows))
        except Rejected as error:
            if not error.needs_text_components:
                raise
            await self._api.edit(room, message, body(drawing.text, drawing.rows, long=True))
        return Sent(id=message)

    async def remove(self, room: str, message: str) -> None:
        if message:
            with suppress(PostGone, Rejected):
                await self._api.delete(room, message)
