"""Telegram as a channel: one bot, and the chats that it brings cards to."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, nullcontext

from chatbridge.channels.chat.channel import ChatChannel, Hold
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.receiver import COMMANDS
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.spec import ChannelContext
from chatbridge.channels.telegram.client.api import ANSWERED_WITHIN, Api
from chatbridge.channels.telegram.inbound.dispatch import Receiver
from chatbridge.channels.telegram.inbound.poll import FORGOTTEN_AFTER, Poll
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.render import notices
from chatbridge.channels.telegram.render.html import write
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import NotPaired, RetryLater
from chatbridge.core.model import ChannelState
from chatbridge.core.pairing import Bot, Pairing
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import number

log = logging.getLogger(__name__)

MENU_PAUSE = 60.0
NOBODY = (
    "telegram.allowed_users is empty, so nobody can answer there. Run: chatbridge pair, and press "
    "Start in Telegram"
)


class TelegramChannel(ChatChannel[Chat]):
    name = "telegram"

    def __init__(
        self,
        table: Telegram,
        *,
        clock: Clock,
        hint: str,
        pairing: Pairing | None = None,
        hold: Hold = nullcontext,
        pace: RateLimit | None = None,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`hint` says where the token is set; `pairing` is told who brings a code; `hold` keeps the
        bot for this process; `pace` and `patience` are for tests."""
        assert table.token is not None
        token = table.token.get_secret_value()
        self._api = api = Api(token, base=table.api_base, hint=hint, patience=patience)
        chats = [
            Chat(api, number, clock=clock, topics=table.topics, pace=pace)
            for number in table.chat_id or sorted(table.allowed_users)
        ]
        super().__init__(chats, clock=clock, hold=hold)
        self._allowed = table.allowed_users
        self._pairing = pairing
        self._greeted: set[int] = set()

    def troubles(self) -> Iterable[str | None]:
        if not self._allowed:
            yield NOBODY  # after what keeps anybody from being paired

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hold())
            stack.push_async_callback(self._api.close)
            me = await self._api.open()
            stack.push_async_callback(self._beside.end)
            if not self._allowed:
                log.warning("%s", NOBODY)
            log.info("telegram: @%s, chats: %d", me.username, len(self._chats))

            def migrated(chat: Chat, number: int) -> None:
                if chat.id != number:
                    chat.id = number
                    self._beside.spawn(self._follow(chat, inbox))

            for chat in self._chats:
                await self._recall(chat, inbox)
                chat.start(inbox, private_topics=me.topics, migrated=migrated)
            receiver = Receiver(
                self._api,
                inbox,
                chats=self._chats,
                people=Allowlist("telegram", self._allowed, clock=self._clock),
                username=me.username,
                clock=self._clock,
                spawn=self._beside.spawn,
                migrated=migrated,
                caught_up=lambda: poll.caught_up,
                pairing=self._pairing,
            )
            self._poll = poll = Poll(
                self._api,
                inbox,
                clock=self._clock,
                take=receiver.take,
                gap=lambda: self._post_again(inbox),
            )
            await poll.begin()
            self._beside.spawn(self._set_menu())
            for chat in self._chats:
                self._beside.spawn(chat.redraw_elsewhere())
            if self._pairing is not None:
                bot = Bot(
                    address=lambda payload: f"https://t.me/{me.username}?start={payload}",
                    greet=self._greet,
                )
                stack.enter_context(self._pairing.works_with(bot))
            ready()
            await poll.run()

    async def _greet(self, number: int) -> None:
        """Once in a hub's life: whoever runs as the owner can ask for it."""
        if all(chat.id != number for chat in self._chats):
            raise NotPaired(
                f"the chat {number} is not in the settings that the hub uses. Look for "
                "CHATBRIDGE_TELEGRAM__ variables, which count over config.toml"
            )
        if number not in self._greeted:
            self._greeted.add(number)
            html = write(notices.paired(socket.gethostname()), now=self._clock.time())
            await self._api.send(number, html, silent=True)

    async def _set_menu(self) -> None:
        while True:
            try:
                await self._api.set_commands(COMMANDS)
            except RetryLater as error:
                await self._clock.sleep(error.after or MENU_PAUSE)
            else:
                return

    # ── chats that move, taps that were lost ──────────────────────────────────────────────────────

    async def _recall(self, chat: Chat, inbox: AskActions) -> None:
        """A group that became a supergroup has another id than the settings say."""
        note = await inbox.note(self.name, f"chat:{chat.name}")
        if note is not None and (moved := number(note.value)) is not None:
            chat.id = moved

    async def _follow(self, chat: Chat, inbox: AskActions) -> None:
        log.warning("%s is a supergroup now: put %d into telegram.chat_id", chat.name, chat.id)
        key, now = f"chat:{chat.name}", self._clock.time()
        await inbox.remember(ChannelState(channel=self.name, key=key, value=str(chat.id), at=now))
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
                if place and place.raised == ask.attention.raised and place.since < lost_before:
                    chat.requests[ask.id] = CardRequest(again=True)
            await inbox.redraw(ask.id, remind=True)


def build(table: Telegram, context: ChannelContext) -> TelegramChannel:
    return TelegramChannel(
        table,
        clock=context.clock,
        hint=context.place_of("token"),
        pairing=context.pairing,
        hold=context.hold,
    )
