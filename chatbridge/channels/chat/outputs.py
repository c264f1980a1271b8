"""The whole output of an operation, sent as a file to the chat where somebody asked for it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.inbound import Spawn
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError

log = logging.getLogger(__name__)

COMES = "It comes as a file."
ON_ITS_WAY = "It is on its way."
OUTPUT_GONE = "This output is no longer kept."
EMPTY = "It printed nothing."
NOT_SENT = "The output could not be sent. It is in the web inbox."


@dataclass(frozen=True, slots=True)
class Outputs:
    inbox: AskActions
    spawn: Spawn
    _under_way: set[tuple[str, str]] = field(default_factory=set)

    async def asked(
        self,
        operation_id: str,
        chat: ChatSurface[Any],
        *,
        send: Callable[[File], Awaitable[object]],
        say: Callable[[str], Awaitable[object]],
    ) -> str:
        """What the person is told; the file follows."""
        content = await self.inbox.output(operation_id)
        if not content:
            return OUTPUT_GONE if content is None else EMPTY
        if (chat.name, operation_id) in self._under_way:
            return ON_ITS_WAY
        self._under_way.add((chat.name, operation_id))

        async def deliver() -> None:
            file = notices.output_file(operation_id, content)
            try:
                await send(file)
                return
            except ChatbridgeError as error:
                log.warning("%s: %s was not sent: %s", chat.channel, file.name, error)
            finally:
                self._under_way.discard((chat.name, operation_id))
            await say(NOT_SENT)  # only now: who reads it may ask again at once

        self.spawn(deliver())
        return COMES
