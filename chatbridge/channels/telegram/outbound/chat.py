"""One chat: sends, edits and removes messages there, those of each project in its topic, where the
chat has topics.

A topic that somebody deleted, or that was made without its number being known, is not made again:
its project's messages go to the main chat.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from telegram import ForceReply

from chatbridge.channels.chat.document import Upload
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Migrated, Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound import card_messages
from chatbridge.channels.telegram.outbound.card_messages import message_id
from chatbridge.channels.telegram.render.card import TELEGRAM, draw_prompt
from chatbridge.channels.telegram.render.html import to_html
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Notice, Project
from chatbridge.core.nights.summary import Summary
from chatbridge.core.ports import Clock, Remark, Shown
from chatbridge.core.stored_json import number
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

PRIVATE = RateLimit(message=1.0, edit=0.4, burst=4.0)
GROUP = RateLimit(message=3.6, edit=3.6, burst=7.2)
"""Telegram allows about one message a second in a chat, and twenty a minute in a group."""
MAX_TOPIC_NAME = 128
NO_TOPIC = ""

R = TypeVar("R")


class Chat(ChatSurface[Text]):
    prompts = True
    to_text = staticmethod(card_messages.to_text)
    from_text = staticmethod(card_messages.from_text)

    def __init__(
        self, api: Api, chat: int, *, clock: Clock, topics: bool, pace: RateLimit | None = None
    ) -> None:
        super().__init__(f"telegram:{chat}", TELEGRAM, service="Telegram", clock=clock)
        self.id = chat
        """Another one once the group has become a supergroup. What is being shown then stays where
        it began."""
        self.private = chat > 0
        self.pace = pace or (PRIVATE if self.private else GROUP)
        self._api = api
        self._with_topics = topics
        self._newest = 0
        self._topics = False
        self._without_topics: str | None = None
        """The room that refuses them."""

    def start(self, *, private_topics: bool, migrated: Callable[[Chat, int], None]) -> None:
        """Call it before anything is shown. `migrated` is told of this chat's new id."""
        self._migrated = migrated
        self._topics |= self._with_topics and (private_topics or not self.private)

    @property
    def viewer(self) -> str | None:
        return str(self.id) if self.private else None

    def current_room(self) -> str:
        return str(self.id)

    def handle(self, room: str, message: str) -> str:
        return f"{room}:{message}"

    def passed(self, message: int) -> None:
        """A message is in this chat."""
        self._newest = max(self._newest, message)

    def messages_after(self, message: str) -> int:
        # Numbers rise by one; those of private chats are shared by all of the bot's.
        return self._newest - int(message)

    def prompt(self, card: Card, *, mention: tuple[int, str] | None) -> Text:
        return draw_prompt(card, mention=mention)

    # ── a group that becomes a supergroup ─────────────────────────────────────────────────────────

    async def announce(self, notice: Notice) -> Shown:
        return await self._following(partial(super().announce, notice))

    async def report(self, message: OwnerMessage) -> Shown:
        return await self._following(partial(super().report, message))

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        write = partial(super().summarize, summary, place=place, again=again)
        return await self._following(write)

    async def tell(self, remark: Remark) -> None:
        await self._following(partial(super().tell, remark))

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        try:
            return await super().show(ask, place=place)
        except Migrated as error:
            self._migrated(self, error.chat)
            self.visibility.shown_cards.gone(ask)
            raise PostGone from None

    async def _following(self, write: Callable[[], Awaitable[R]]) -> R:
        try:
            return await write()
        except Migrated as error:
            self._migrated(self, error.chat)
            return await write()

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def send(self, new: Outgoing[Text]) -> Sent:
        """Send to the project's topic or, if that is gone, to the main chat."""
        try:
            return await self._send(new)
        except Rejected as error:
            if new.topic is None or new.project is None or not error.topic_gone:
                raise
        log.warning("%s: the topic of %s is gone", self.name, one_line(new.project.name))
        if self._topics:
            await self.remember(self._topic_key(new.project), NO_TOPIC)
        return await self._send(replace(new, topic=None))

    async def _send(self, new: Outgoing[Text]) -> Sent:
        chat, thread = int(new.room), int(new.topic) if new.topic else None
        reply_to = int(new.root) if new.root else None
        if isinstance(new.what, Upload):
            files = new.what.files
            sent = await self._api.send_files(chat, files, thread=thread, reply_to=reply_to)
            last = sent.id + len(files) - 1
        else:
            prompt = None
            if new.placeholder is not None:
                prompt = ForceReply(
                    selective=not self.private, input_field_placeholder=new.placeholder
                )
            sent = await self._api.send(
                chat,
                to_html(new.what.text),
                new.what.rows,
                silent=new.silent,
                thread=thread,
                reply_to=reply_to,
                prompt=prompt,
            )
            last = sent.id
        if chat == self.id:
            self.passed(last)
        return Sent(id=message_id(sent.id), at=sent.at, topic=new.topic)

    async def edit(
        self, room: str, message: str, drawing: Drawing[Text], *, key: Key, silent: bool
    ) -> Sent:
        try:
            text = to_html(drawing.text)
            at = await self._api.edit(int(room), int(message), text, drawing.rows)
        except Rejected as error:
            if error.message_gone:
                raise PostGone from None
            raise
        return Sent(id=message, at=at)

    async def remove(self, room: str, message: str) -> None:
        """Delete a message, or take its buttons: after two days Telegram lets nobody delete it."""
        if not message:
            return
        try:
            await self._api.delete(int(room), int(message))
        except Rejected:
            try:
                await self._api.take_buttons(int(room), int(message))
            except Rejected as error:
                log.debug("%s: message %s stays: %s", self.name, message, error)

    # ── topics ────────────────────────────────────────────────────────────────────────────────────

    async def topic_of(self, room: str, project: Project) -> str | None:
        """The project's topic, created if there is none yet; None: the main chat."""
        if not self._topics:
            return None
        known = await self.recall(self._topic_key(project))
        if known is not None:
            return known if number(known) is not None else None
        if self._without_topics == room:
            return None
        name = shortened(one_line(project.name), MAX_TOPIC_NAME)
        try:
            topic = await self._api.new_topic(int(room), name)
        except Rejected as error:
            log.warning("%s has no topics, cards go to the main chat: %s", self.name, error)
            self._without_topics = room
            return None
        await self.remember(
            self._topic_key(project), NO_TOPIC if topic == NO_NUMBER else str(topic)
        )
        return message_id(topic) or None

    def _topic_key(self, project: Project) -> str:
        return f"topic:{self.name}:{project.key}"
