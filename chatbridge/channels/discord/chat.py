"""One chat: a person's direct messages with the bot, or a channel of a server."""

from __future__ import annotations

from chatbridge.channels.chat.bot import BotChat
from chatbridge.channels.chat.document import Upload
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.channels.discord.api import Api, Rejected, written_at
from chatbridge.channels.discord.render import DISCORD, SILENT, body, with_files
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.ports import Clock


class Chat(BotChat[Text]):
    pace = RateLimit(message=1.0, edit=1.0, burst=4.0)
    """Discord allows five messages in five seconds in a chat."""
    client: Api

    def __init__(
        self, api: Api, place: int, *, private: bool, clock: Clock, pace: RateLimit | None
    ) -> None:
        super().__init__(place, DISCORD, service="Discord", private=private, pace=pace, clock=clock)
        self.client = api

    async def send(self, new: Outgoing[Text]) -> Sent:
        flags = SILENT if new.silent else 0
        files = new.what.files if isinstance(new.what, Upload) else ()
        if isinstance(new.what, Upload):
            drawn = with_files(files, flags=flags)
        else:
            drawn = body(new.what.text, new.what.rows, flags=flags)
        sent = await self.client.send(new.room, drawn, key=new.key, reply_to=new.root, files=files)
        self.passed(sent)
        return Sent(id=sent, at=written_at(sent), topic=new.topic)

    async def edit(
        self, room: str, message: str, drawing: Drawing[Text], *, key: Key, silent: bool
    ) -> Sent:
        try:
            await self.client.edit(room, message, body(drawing.text, drawing.rows))
        except Rejected as error:
            if not error.needs_text_components:
                raise
            await self.client.edit(room, message, body(drawing.text, drawing.rows, long=True))
        return Sent(id=message)
