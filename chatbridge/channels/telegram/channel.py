"""Telegram as a channel: one bot, and the chats that it brings cards to."""

from __future__ import annotations

import logging
from functools import partial

from chatbridge.channels.chat.bot import BotChannel
from chatbridge.channels.chat.commands import COMMANDS
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.spec import ChannelContext
from chatbridge.channels.telegram.client.api import ANSWERED_WITHIN, Api, Me
from chatbridge.channels.telegram.inbound.dispatch import Receiver
from chatbridge.channels.telegram.inbound.poll import FORGOTTEN_AFTER, Poll
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.stored_json import number

log = logging.getLogger(__name__)


class TelegramChannel(BotChannel[Chat]):
    name, setting, typed = "telegram", "chat_id", False

    def __init__(
        self,
        table: Telegram,
        context: ChannelContext,
        *,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`pace` and `patience` are for tests."""
        assert table.token is not None
        token, hint = table.token.get_secret_value(), context.place_of("token")
        self._api = api = Api(token, base=table.api_base, hint=hint, patience=patience)
        chats = [
            Chat(api, number, clock=context.clock, topics=table.topics, pace=pace)
            for number in table.chat_id or sorted(table.allowed_users)
        ]
        super().__init__(api, chats, table.allowed_users, context)

    def link(self, me: Me, payload: str) -> str:
        return f"https://t.me/{me.name}?start={payload}"

    async def loop(self, me: Me, reception: Reception) -> Poll:
        inbox = reception.inbox

        def migrated(chat: Chat, moved: int) -> None:
            if chat.id != moved:
                chat.id = moved
                self._beside.spawn(self._follow(chat, inbox))

        for chat in self._chats:
            if (moved := number(await chat.recall(f"chat:{chat.name}") or "")) is not None:
                chat.id = moved  # a group that became a supergroup, which the settings do not say
            chat.start(private_topics=me.topics, migrated=migrated)
        receiver = Receiver(
            reception,
            api=self._api,
            username=me.name,
            migrated=migrated,
            caught_up=lambda: poll.caught_up,
        )
        poll = Poll(
            self._api,
            inbox,
            clock=self._clock,
            take=receiver.take,
            gap=lambda: self._post_again(inbox),
        )
        self._beside.spawn(self.until_taken(partial(self._api.set_commands, COMMANDS)))
        return poll

    # ── chats that move, taps that were lost ──────────────────────────────────────────────────────

    async def _follow(self, chat: Chat, inbox: AskActions) -> None:
        log.warning("%s is a supergroup now: put %d into telegram.chat_id", chat.name, chat.id)
        await chat.remember(f"chat:{chat.name}", str(chat.id))
        for ask in await inbox.open_asks():
            await inbox.redraw(ask.id)

    async def _post_again(self, inbox: AskActions) -> None:
        """Telegram keeps what people tapped for a day; what came before that is lost. A new card
        that has come since, or is about to, is enough."""
        lost_before = self._clock.time() - FORGOTTEN_AFTER
        for ask in await inbox.open_asks():
            for chat in self._chats:
                post = await inbox.post(ask.id, surface=chat.name)
                place = chat.from_text(post.place) if post is not None else None
                newest = place and place.raised == inbox.nights.raised_on(chat.name, ask)
                if place and newest and place.since < lost_before:
                    chat.requests[ask.id] = CardRequest(again=True)
            await inbox.redraw(ask.id, remind=True)
