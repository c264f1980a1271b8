"""Discord as a channel: one bot, and the chats that it brings cards to."""

from __future__ import annotations

from functools import partial

from chatbridge.channels.chat.bot import BotChannel
from chatbridge.channels.chat.commands import COMMANDS
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.discord.api import ANSWERED_WITHIN, Api, Me
from chatbridge.channels.discord.chat import Chat
from chatbridge.channels.discord.gateway import Gateway
from chatbridge.channels.discord.receiver import Receiver
from chatbridge.channels.discord.settings import Discord
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.delivery.queue import RateLimit


class DiscordChannel(BotChannel[Chat]):
    name = "discord"

    def __init__(
        self,
        table: Discord,
        context: ChannelContext,
        *,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`pace` and `patience` are for tests."""
        assert table.token is not None
        token, clock = table.token.get_secret_value(), context.clock
        self._api = api = Api(
            token,
            base=table.api_base,
            hint=context.place_of("token"),
            patience=patience,
            monotonic=clock.monotonic,
        )
        private, people = not table.channel_id, sorted(table.allowed_users)
        chats = [
            Chat(api, each, private=private, clock=clock, pace=pace)
            for each in table.channel_id or people
        ]
        super().__init__(api, chats, people, context)

    def link(self, me: Me, payload: str) -> str:
        return f"https://discord.com/users/{me.id}"

    async def loop(self, me: Me, reception: Reception) -> Gateway:
        receiver = Receiver(reception, api=self._api, me=me)
        set_commands = partial(self._api.set_commands, me.application, COMMANDS)
        self._beside.spawn(self.until_taken(set_commands))
        return Gateway(self._api, reception, bot=me.id, take=receiver.take)
