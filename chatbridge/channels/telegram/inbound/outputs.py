"""The whole output of an operation, sent as a file to the chat where somebody asked for it."""

from __future__ import annotations

import logging

from telegram import CallbackQuery, Message

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.notices import output_file
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.inbound.replies import Spawn, thread_of
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

COMES = "It comes as a file."
ON_ITS_WAY = "It is on its way."
GONE = "This output is no longer kept."
EMPTY = "It printed nothing."
NOT_SENT = "The output could not be sent. It is in the web inbox."


class Outputs:
    def __init__(self, api: Api, inbox: AskActions, *, clock: Clock, spawn: Spawn) -> None:
        self._api = api
        self._inbox = inbox
        self._clock = clock
        self._spawn = spawn
        self._under_way: set[tuple[int, str]] = set()

    async def asked(self, operation_id: str, query: CallbackQuery, chat: Chat) -> str:
        """What the person is told; the file follows."""
        way = (chat.id, operation_id)
        content = await self._inbox.output(operation_id)
        if not content:
            return GONE if content is None else EMPTY
        if way in self._under_way:
            return ON_ITS_WAY
        self._under_way.add(way)
        self._spawn(self._deliver(output_file(operation_id, content), query, way))
        return COMES

    async def _deliver(self, file: File, query: CallbackQuery, way: tuple[int, str]) -> None:
        message, (chat, _) = query.message, way
        # One of more than two days ago is only a number.
        thread = thread_of(message) if isinstance(message, Message) else None
        reply_to = message.message_id if message else None
        try:
            await self._sent(file, chat, thread=thread, reply_to=reply_to)
            return
        except (Rejected, RetryLater) as error:
            log.warning("telegram: %s was not sent: %s", file.name, error)
        finally:
            self._under_way.discard(way)
        # Only now: who reads it may ask again at once.
        await self._api.send(chat, NOT_SENT, silent=True, thread=thread, reply_to=reply_to)

    async def _sent(
        self, file: File, chat: int, *, thread: int | None, reply_to: int | None
    ) -> None:
        try:
            await self._api.send_file(
                chat, file.name, file.content, thread=thread, reply_to=reply_to
            )
        except RetryLater as error:
            if error.after is None:
                raise  # it may have arrived all the same
            await self._clock.sleep(error.after)
            await self._api.send_file(
                chat, file.name, file.content, thread=thread, reply_to=reply_to
            )
