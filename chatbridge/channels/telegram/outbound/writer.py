"""Writes into one chat: each project into its topic, where the chat has topics.

A topic that somebody deleted, or that was made without its number being known, is not made again:
its project's messages go to the main chat.
"""

from __future__ import annotations

import logging

from telegram import ForceReply

from chatbridge.channels.chat.document import File, Rows
from chatbridge.channels.telegram.client.api import Api, Sent
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState, Project
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import number
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

MAX_TOPIC_NAME = 128
NO_TOPIC = ""


class Writer:
    def __init__(self, api: Api, chat: int, *, surface: str, clock: Clock) -> None:
        self.chat = chat
        self._api = api
        self._surface = surface
        self._clock = clock
        self._inbox: AskActions | None = None
        self._refused_in: int | None = None

    def use_topics(self, inbox: AskActions) -> None:
        self._inbox = inbox

    async def topic_of(self, project: Project) -> int | None:
        """The project's topic, created if there is none yet; None: the main chat."""
        if self._inbox is None:
            return None
        known = await self._inbox.note("telegram", self._key(project))
        if known is not None:
            return number(known.value)
        if self._refused_in == self.chat:
            return None
        name = shortened(one_line(project.name), MAX_TOPIC_NAME)
        try:
            topic = await self._api.new_topic(self.chat, name)
        except Rejected as error:
            log.warning("%s has no topics, cards go to the main chat: %s", self._surface, error)
            self._refused_in = self.chat
            return None
        await self._remember(project, NO_TOPIC if topic == NO_NUMBER else str(topic))
        return topic or None

    async def send(
        self,
        project: Project,
        thread: int | None,
        what: str | File,
        rows: Rows = (),
        *,
        silent: bool = False,
        reply_to: int | None = None,
        prompt: ForceReply | None = None,
    ) -> tuple[Sent, int | None]:
        """Send to the project's topic or, if that is gone, to the main chat. Return also the topic
        that the message is in."""

        async def send(thread: int | None) -> Sent:
            if isinstance(what, File):
                return await self._api.send_file(
                    self.chat, what.name, what.content, thread=thread, reply_to=reply_to
                )
            return await self._api.send(
                self.chat,
                what,
                rows,
                silent=silent,
                thread=thread,
                reply_to=reply_to,
                prompt=prompt,
            )

        try:
            return await send(thread), thread
        except Rejected as error:
            if thread is None or not error.topic_gone:
                raise
        log.warning("%s: the topic of %s is gone", self._surface, one_line(project.name))
        await self._remember(project, NO_TOPIC)
        return await send(None), None

    async def edit(self, message: int, html: str, rows: Rows = ()) -> float | None:
        """Return when it was edited; None if there was nothing new in it."""
        return await self._api.edit(self.chat, message, html, rows)

    async def remove(self, message: int) -> None:
        """Delete a message, or take its buttons: after two days Telegram lets nobody delete it."""
        if message == NO_NUMBER:
            return
        try:
            await self._api.delete(self.chat, message)
        except Rejected:
            try:
                await self._api.take_buttons(self.chat, message)
            except Rejected as error:
                log.debug("%s: message %d stays: %s", self._surface, message, error)

    async def _remember(self, project: Project, value: str) -> None:
        if self._inbox is not None:
            key, now = self._key(project), self._clock.time()
            note = ChannelState(channel="telegram", key=key, value=value, at=now)
            await self._inbox.remember(note)

    def _key(self, project: Project) -> str:
        return f"topic:{self._surface}:{project.key}"
