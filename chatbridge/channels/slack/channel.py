"""Slack as a channel: one app's bot, and the conversations that it brings cards to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack

from chatbridge.channels.chat.bot import BotChannel
from chatbridge.channels.slack.api import ANSWERED_WITHIN, Api, Me
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.slack.receiver import Receiver
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.slack.socket_mode import PING_SECONDS, SocketMode
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit

REINSTALL = "Add them at api.slack.com/apps, reinstall the app, then run: chatbridge restart"
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
        hint = f"{context.place_of('bot_token')} and {context.place_of('app_token')}"
        self._api = api = Api(bot, app, base=table.api_base, hint=hint, patience=patience)
        people = sorted(table.allowed_users)
        chats = [
            Chat(api, place, people=people, clock=clock, pace=pace)
            for place in table.channel_id or people
        ]
        super().__init__(api, chats, people, context)
        self._people, self._app = people, table.app
        self._ping = ping
        self._lacking = ""

    def troubles(self) -> Iterable[str | None]:
        yield self._lacking
        yield from super().troubles()

    @property
    def remarks(self) -> Sequence[str]:
        return (SHARED,) if isinstance(self._poll, SocketMode) and self._poll.others else ()

    def link(self, me: Me, payload: str) -> str:
        return f"https://slack.com/app_redirect?app={self._app}&team={me.team}"

    async def connect(self, me: Me, inbox: AskActions, stack: AsyncExitStack) -> SocketMode:
        if me.missing:
            self._lacking = f"slack: the app lacks scopes: {', '.join(me.missing)}. {REINSTALL}"
        for chat in self._chats:
            chat.attach(inbox)
            await chat.open()
        receiver = Receiver(self.reception(inbox), api=self._api, me=me.id)
        loop = SocketMode(
            self._api,
            inbox,
            clock=self._clock,
            account=f"{me.team}:{me.id}",
            chats=self._chats,
            take=receiver.take,
            ping=self._ping,
        )
        stack.push_async_callback(loop.end)
        await receiver.learn_names(self._people)
        await loop.begin()
        await loop.connect()  # before a card is out: a tap that nobody hears does not come again
        return loop
