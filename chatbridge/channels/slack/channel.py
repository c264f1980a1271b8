"""Slack as a channel: one app's bot, and the conversations that it brings cards to."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat.bot import BotChannel
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.slack.api import ANSWERED_WITHIN, Api, Me
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.slack.receiver import Receiver
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.slack.socket_mode import PING_SECONDS, SocketMode
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.delivery.queue import RateLimit

SHARED = (
    "Another program is connected with this Slack app and gets some of the taps. Stop it, or make "
    "another app: chatbridge setup"
)


class SlackChannel(BotChannel[Chat]):
    name = "slack"

    def __init__(
        self,
        table: Slack,
        context: ChannelContext,
        *,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
        ping: float = PING_SECONDS,
    ) -> None:
        """`pace`, `patience` and `ping` are for tests."""
        (bot, app), clock = table.tokens, context.clock
        hint = context.place_of("bot_token", "app_token")
        self._api = api = Api(bot, app, base=table.api_base, hint=hint, patience=patience)
        people = sorted(table.allowed_users)
        places = table.channel_id or people
        chats = [Chat(api, each, people=people, clock=clock, pace=pace) for each in places]
        super().__init__(api, chats, people, context)
        self._app, self._ping = table.app, ping

    def lacking(self, me: Me) -> str:
        return f"slack: {me.lacking}, then run: chatbridge restart" if me.lacking else ""

    @property
    def remarks(self) -> Sequence[str]:
        return (SHARED,) if isinstance(self._poll, SocketMode) and self._poll.others else ()

    def link(self, me: Me, payload: str) -> str:
        return f"https://slack.com/app_redirect?app={self._app}&team={me.team}"

    async def loop(self, me: Me, reception: Reception) -> SocketMode:
        receiver = Receiver(reception, api=self._api, me=me.id)
        account, take = f"{me.team}:{me.id}", receiver.take
        await receiver.names.learn(self._allowed)
        return SocketMode(self._api, reception, account=account, take=take, ping=self._ping)
