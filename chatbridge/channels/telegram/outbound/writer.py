"""Writing into one chat: in which topic, what is wrong there, and the line that explains a gap."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from telegram import ForceReply

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.document import File, Rows
from chatbridge.channels.telegram.client.api import Api, Sent
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound.topics import Topics
from chatbridge.channels.telegram.render.html import write
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import Project
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

WORTH_TELLING = 5 * 60.0


class Writer:
    def __init__(self, api: Api, chat: int, *, surface: str, clock: Clock) -> None:
        self.chat = chat
        self.topics: Topics | None = None
        self.trouble: str | None = None
        self._api = api
        self._surface = surface
        self._clock = clock
        self._down_since: float | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes what is wrong with the chat, and that nothing is once something got there."""
        try:
            yield
        except ChatRefused as error:
            self.trouble = str(error)
            raise
        except RetryLater as error:
            if error.after is None:  # a pause that Telegram asks for is no trouble
                self.trouble = str(error)
                self._down_since = self._down_since or self._clock.time()
            raise
        self.trouble = self._down_since = None

    async def open(self, project: Project) -> int | None:
        """The project's topic, for new messages in it. The first ones after a long time without
        network come with a line that says why they are late."""
        thread = await self.topics.of(project, chat=self.chat) if self.topics else None
        since, now = self._down_since, self._clock.time()
        if since is not None and now - since >= WORTH_TELLING:
            why = write(notices.unreachable("Telegram", since=since, now=now), now=now)
            _, thread = await self.send(project, thread, why, silent=True)
            self._down_since = None
        return thread

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
        """Send something into the project's topic or, where that is gone, into the main chat; the
        topic it is in."""

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
        if self.topics is not None:
            await self.topics.lost(project)
        return await send(None), None

    async def edit(self, message: int, html: str, rows: Rows = ()) -> float | None:
        """When it was edited; None if there was nothing new in it."""
        return await self._api.edit(self.chat, message, html, rows)

    async def remove(self, message: int) -> None:
        """Telegram lets nobody delete what is older than two days: then it loses its buttons."""
        if message == NO_NUMBER:
            return
        try:
            await self._api.delete(self.chat, message)
        except Rejected:
            try:
                await self._api.take_buttons(self.chat, message)
            except Rejected as error:
                log.debug("%s: message %d stays: %s", self._surface, message, error)
