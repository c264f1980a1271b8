"""Slack as a channel: one app's bot, and the conversations that it brings cards to."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, nullcontext

from chatbridge.channels.chat.channel import ChatChannel, Hold
from chatbridge.channels.chat.document import paragraph, strong
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.runs import write
from chatbridge.channels.slack.api import ANSWERED_WITHIN, Api, missing_scopes
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.slack.inbound import Receiver
from chatbridge.channels.slack.poll import Poll
from chatbridge.channels.slack.render import message_blocks, notified
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.slack.socket import PING_SECONDS, Socket
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import NotPaired
from chatbridge.core.pairing import Bot, Pairing
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line

log = logging.getLogger(__name__)

NOBODY = "slack.allowed_users is empty, so nobody can answer there. Run: chatbridge pair"
REINSTALL = "Add them at api.slack.com/apps, reinstall the app, then run: chatbridge restart"
SHARED = (
    "Another program is connected with this Slack app and gets some of the taps. Stop it, or make "
    "another app: chatbridge setup"
)


class SlackChannel(ChatChannel[Chat]):
    name = "slack"

    def __init__(
        self,
        table: Slack,
        *,
        clock: Clock,
        hint: str,
        pairing: Pairing | None = None,
        hold: Hold = nullcontext,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
        ping: float = PING_SECONDS,
    ) -> None:
        """`hint` says where the tokens are set; `pairing` is told who brings a code; `hold` keeps
        the app for this process; `pace`, `patience` and `ping` are for tests."""
        bot, app = table.tokens
        self._api = api = Api(bot, app, base=table.api_base, hint=hint, patience=patience)
        people = sorted(table.allowed_users)
        super().__init__(
            [
                Chat(api, place, people=people, clock=clock, pace=pace)
                for place in table.channel_id or people
            ],
            clock=clock,
            hold=hold,
        )
        self._people, self._app = people, table.app
        self._pairing = pairing
        self._ping = ping
        self._socket: Socket | None = None
        self._lacking = ""
        self._greeted: set[str] = set()

    def troubles(self) -> Iterable[str | None]:
        yield self._lacking
        if not self._people:
            yield NOBODY

    @property
    def remarks(self) -> Sequence[str]:
        return (SHARED,) if self._socket is not None and self._socket.others else ()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hold())
            await stack.enter_async_context(self._api)
            me = await self._api.me()
            if missing := missing_scopes(me.scopes):
                self._lacking = f"slack: the app lacks scopes: {', '.join(missing)}. {REINSTALL}"
            for chat in self._chats:
                await chat.open()
                chat.attach(inbox)
            stack.push_async_callback(self._beside.end)
            log.info("slack: %s, conversations: %d", one_line(me.name), len(self._chats))
            receiver = Receiver(
                self._api,
                inbox,
                chats=self._chats,
                people=Allowlist("slack", self._people, clock=self._clock, bot=me.user),
                me=me.user,
                clock=self._clock,
                spawn=self._beside.spawn,
                pairing=self._pairing,
            )
            self._socket = source = Socket(self._api, ping=self._ping)
            stack.push_async_callback(source.close)
            self._poll = poll = Poll(
                self._api,
                source,
                inbox,
                clock=self._clock,
                account=f"{me.team}:{me.user}",
                chats=self._chats,
                take=receiver.take,
            )
            await receiver.learn_names(self._people)
            await poll.begin()
            for chat in self._chats:
                if chat.is_there:
                    self._beside.spawn(chat.redraw_elsewhere())
            if self._pairing is not None:
                link = f"https://slack.com/app_redirect?app={self._app}&team={me.team}"
                bot = Bot(channel=self.name, typed=True, address=lambda _: link, greet=self._greet)
                stack.enter_context(self._pairing.works_with(bot))
            ready()
            await poll.run()

    async def _greet(self, place: str) -> None:
        """Once in a hub's life: whoever runs as the owner can ask for it."""
        if place not in self._people:
            raise NotPaired(
                f"{place} is not in the settings that the hub uses. Look for CHATBRIDGE_SLACK__ "
                "variables, which count over config.toml"
            )
        if place not in self._greeted:
            self._greeted.add(place)
            name = strong(one_line(socket.gethostname()))
            said = paragraph("You are paired with ", name, ". Agents' questions arrive here.")
            text = write(said, now=self._clock.time())
            room = await self._api.direct(place)
            await self._api.send(room, notified(text), message_blocks(text, ()))


def build(table: Slack, context: ChannelContext) -> SlackChannel:
    return SlackChannel(
        table,
        clock=context.clock,
        hint=f"{context.place_of('bot_token')} and {context.place_of('app_token')}",
        pairing=context.pairing,
        hold=context.hold,
    )
