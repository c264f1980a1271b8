"""Discord as a channel: one bot, and the chats that it brings cards to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, nullcontext

from chatbridge.channels.chat.channel import ChatChannel, Hold
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.receiver import COMMANDS
from chatbridge.channels.discord.api import ANSWERED_WITHIN, Api, Me
from chatbridge.channels.discord.chat import Chat
from chatbridge.channels.discord.gateway import Gateway
from chatbridge.channels.discord.receiver import Receiver
from chatbridge.channels.discord.settings import Discord
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line

log = logging.getLogger(__name__)

PAUSE = 60.0
NOBODY = "discord.allowed_users is empty, so nobody can answer there. Run: chatbridge setup"


class DiscordChannel(ChatChannel[Chat]):
    name = "discord"

    def __init__(
        self,
        table: Discord,
        *,
        clock: Clock,
        hint: str,
        hold: Hold = nullcontext,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`hint` says where the token is set; `hold` keeps the bot for this process; `pace` and
        `patience` are for tests."""
        assert table.token is not None
        token = table.token.get_secret_value()
        self._api = api = Api(
            token,
            base=table.api_base,
            hint=hint,
            patience=patience,
            monotonic=clock.monotonic,
        )
        private = not table.channel_id
        chats = [
            Chat(api, each, private=private, clock=clock, pace=pace)
            for each in table.channel_id or sorted(table.allowed_users)
        ]
        super().__init__(chats, clock=clock, hold=hold)
        self._allowed = table.allowed_users

    def troubles(self) -> Iterable[str | None]:
        if not self._allowed:
            yield NOBODY  # after what keeps anybody from being paired

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hold())
            stack.push_async_callback(self._api.close)
            me = await self._api.me()
            stack.push_async_callback(self._beside.end)
            if not self._allowed:
                log.warning("%s", NOBODY)
            log.info("discord: %s, chats: %d", one_line(me.name), len(self._chats))
            for chat in self._chats:
                chat.attach(inbox)
                await chat.open()
            receiver = Receiver(
                self._api,
                inbox,
                me=me,
                chats=self._chats,
                people=Allowlist("discord", self._allowed, clock=self._clock),
                clock=self._clock,
                spawn=self._beside.spawn,
            )
            self._poll = gateway = Gateway(
                self._api,
                inbox,
                bot=me.id,
                clock=self._clock,
                take=receiver.take,
                rooms=lambda: [chat.current_room() for chat in self._chats if chat.is_there],
            )
            stack.push_async_callback(gateway.end)
            await gateway.begin()
            self._beside.spawn(self._set_commands(me))
            for chat in self._chats:
                if chat.is_there:
                    self._beside.spawn(chat.redraw_elsewhere())
            ready()
            await gateway.run()

    async def _set_commands(self, me: Me) -> None:
        while True:
            try:
                await self._api.set_commands(me.application, COMMANDS)
            except RetryLater as error:
                await self._clock.sleep(error.after or PAUSE)
            else:
                return


def build(table: Discord, context: ChannelContext) -> DiscordChannel:
    return DiscordChannel(
        table,
        clock=context.clock,
        hint=context.place_of("token"),
        hold=context.hold,
    )
