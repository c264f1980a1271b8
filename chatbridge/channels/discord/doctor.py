"""Discord: the token, and each chat. Opens no connection for events: that is the hub's alone."""

from __future__ import annotations

from chatbridge.channels.bot_checks import ANSWER_SECONDS, BotCheck
from chatbridge.channels.discord.api import Api
from chatbridge.channels.discord.settings import Discord
from chatbridge.channels.discord.spec import DISCORD


class DiscordCheck(BotCheck[Discord]):
    def open(self, table: Discord) -> Api:
        assert table.token is not None
        token = table.token.get_secret_value()
        return Api(token, base=table.api_base, hint="discord.token", patience=ANSWER_SECONDS)


CHECK = DiscordCheck(DISCORD)
check, names = CHECK.check, CHECK.names
