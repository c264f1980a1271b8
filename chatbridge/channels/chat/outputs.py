"""What is sent as files to the chat where somebody asked for it: the whole output of an operation,
and pictures as they are that were shown smaller."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.attachments import not_sent, originals_of
from chatbridge.channels.chat.document import Document, File, line
from chatbridge.channels.chat.inbound import Spawn
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import Ask

log = logging.getLogger(__name__)

COMES = "It comes as a file."
COME = "They come as files."
ON_ITS_WAY = "It is on its way."
OUTPUT_GONE = "This output is no longer kept."
ORIGINALS_GONE = "These pictures are no longer kept."
EMPTY = "It printed nothing."
NOT_SENT = "The output could not be sent. It is in the web inbox."

Send = Callable[[File], Awaitable[object]]
Say = Callable[[str | Document], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Outputs:
    inbox: AskActions
    spawn: Spawn
    _under_way: set[tuple[str, str]] = field(default_factory=set)

    async def asked(
        self, operation_id: str, chat: ChatSurface[Any], *, send: Send, say: Say
    ) -> str:
        """What the person is told; the file follows."""
        content = await self.inbox.output(operation_id)
        if not content:
            return OUTPUT_GONE if content is None else EMPTY

        async def then(failed: Sequence[File]) -> None:
            if failed:
                await say(NOT_SENT)

        files = [notices.output_file(operation_id, content)]
        return COMES if self._begin(operation_id, files, chat, send, then) else ON_ITS_WAY

    async def originals(self, ask: Ask, chat: ChatSurface[Any], *, send: Send, say: Say) -> str:
        """What the person is told; the files follow, and what became of those that do not."""
        found, left = await originals_of(ask, self.inbox.attachments, chat.files)

        async def then(failed: Sequence[File]) -> None:
            missing = [*(each for file, each in found if file in failed), *left]
            if missing:
                await say((line(*not_sent(missing)),))

        files = [file for file, _ in found]
        if not files:
            self.spawn(then(files))
            return "" if left else ORIGINALS_GONE
        return COME if self._begin(ask.id, files, chat, send, then) else ON_ITS_WAY

    def _begin(
        self,
        name: str,
        files: Sequence[File],
        chat: ChatSurface[Any],
        send: Send,
        then: Callable[[Sequence[File]], Awaitable[object]],
    ) -> bool:
        """Whether they are not on their way already. `then` is told which could not be sent."""
        if (chat.name, name) in self._under_way:
            return False
        self._under_way.add((chat.name, name))

        async def deliver() -> None:
            failed = []
            try:
                for file in files:
                    try:
                        await send(file)
                    except ChatbridgeError as error:
                        log.warning("%s: %s was not sent: %s", chat.channel, file.name, error)
                        failed.append(file)
            finally:
                self._under_way.discard((chat.name, name))
            await then(failed)  # only now: who reads it may ask again at once

        self.spawn(deliver())
        return True
