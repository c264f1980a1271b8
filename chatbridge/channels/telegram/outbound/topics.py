"""One topic for each project, in chats that can have them. A topic that somebody deleted,
or that was made without its number being known, is not made again: its project's cards go to the
main chat."""

from __future__ import annotations

import logging

from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.core.model import ChannelState, Project
from chatbridge.core.ports import AskActions, Clock
from chatbridge.core.stored_json import number
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

LONGEST_NAME = 128
NONE = ""


class Topics:
    def __init__(self, api: Api, *, surface: str, inbox: AskActions, clock: Clock) -> None:
        self._api = api
        self._surface = surface
        self._inbox = inbox
        self._clock = clock
        self._refused_in: int | None = None

    async def of(self, project: Project, *, chat: int) -> int | None:
        """The project's topic, made if it has none yet; None: the main chat."""
        known = await self._inbox.note("telegram", self._key(project))
        if known is not None:
            return number(known.value)
        if self._refused_in == chat:
            return None
        try:
            topic = await self._api.new_topic(chat, shortened(one_line(project.name), LONGEST_NAME))
        except Rejected as error:
            log.warning("%s has no topics, cards go to the main chat: %s", self._surface, error)
            self._refused_in = chat
            return None
        await self._remember(project, NONE if topic == NO_NUMBER else str(topic))
        return topic or None

    async def lost(self, project: Project) -> None:
        log.warning("%s: the topic of %s is gone", self._surface, one_line(project.name))
        await self._remember(project, NONE)

    async def _remember(self, project: Project, value: str) -> None:
        key, now = self._key(project), self._clock.time()
        await self._inbox.remember(ChannelState(channel="telegram", key=key, value=value, at=now))

    def _key(self, project: Project) -> str:
        return f"topic:{self._surface}:{project.key}"
