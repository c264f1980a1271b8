"""Messages to agents in a room: `!agents`, `!tell`, and replies to what is said of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbridge.channels.chat import agents
from chatbridge.channels.chat.document import Message
from chatbridge.channels.chat.inbound import Origin, Said
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.telling import Telling, Told, Written, without_command
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.replies import Replies
from chatbridge.channels.matrix.render.html import Words, write
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock

AGENTS = "!agents"


@dataclass(frozen=True, slots=True)
class AgentCommands:
    telling: Telling
    replies: Replies
    clock: Clock

    async def take(
        self,
        event: RoomEvent,
        text: str,
        files: Sequence[IncomingFile],
        by: Origin,
        *,
        ask: Ask | None,
        old: bool,
    ) -> bool:
        """Whether it was about agents. `ask`: whose card or thread it is for. `old`: it was written
        while no hub was there."""
        to, rest = _replied_to(event), without_command(text)
        thread = relation(event.content).event if _in_thread(event) else None
        at = WrittenAt(room=event.room, message=event.id, root=thread)
        told: Told | None = None
        if rest is not None:
            written = Written(text=rest, files=files, at=at, old=old)
            among = await self.telling.of_ask(ask) if ask is not None else None
            if among is None and to is not None:
                among = await self.telling.at(to, by)
            told = await self.telling.command(written, by, among=among)
        elif text.strip().casefold() == AGENTS:
            told = await self.telling.connected()
        elif ask is None and to is not None and (text or files):
            told = await self.telling.reply(Written(text=text, files=files, at=at), by, to=to)
        if told is None:
            return False
        if not isinstance(told, OwnerMessage):
            self.replies.say(self._drawn(told), to=event)
        elif any(each.voice for each in files):
            self.replies.say(agents.AS_RECORDING, to=event)
        return True

    def _drawn(self, said: Said) -> Words | str:
        if isinstance(said, str):
            return said
        document = said.document if isinstance(said, Message) else said
        return write(document, now=self.clock.time())


def _in_thread(event: RoomEvent) -> bool:
    return relation(event.content).kind == "m.thread"


def _replied_to(event: RoomEvent) -> str | None:
    """What somebody replies to or, in a thread, what that is about."""
    about = relation(event.content)
    if _in_thread(event) and (about.falling_back or about.reply_to is None):
        return about.event
    return about.reply_to
