"""Matrix as a channel: one account, and the rooms that it brings cards to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path

from chatbridge.channels.chat.channel import ChatChannel, Hold
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.matrix.account.identity import Identity
from chatbridge.channels.matrix.account.log_in import Session, log_in
from chatbridge.channels.matrix.client.api import ANSWERED_WITHIN, Api
from chatbridge.channels.matrix.client.events import Batch
from chatbridge.channels.matrix.inbound.dispatch import Receiver
from chatbridge.channels.matrix.inbound.poll import Poll
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.rooms import Rooms
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.channels.matrix.settings import Matrix
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

SIGN_AGAIN = 60.0
NOBODY = (
    "matrix.allowed_users is empty, so nobody can answer there. Write to the bot: the hub's log "
    "then shows your user id"
)


class MatrixChannel(ChatChannel[Chat]):
    name = "matrix"

    def __init__(
        self,
        table: Matrix,
        *,
        folder: Path,
        clock: Clock,
        hint: str = "matrix.access_token",
        hold: Hold = nullcontext,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`folder` is for the log-in and the keys; `hint` says where the log-in is set; `hold`
        keeps the account for this process; `patience` is for tests."""
        assert table.homeserver is not None
        assert table.user_id is not None
        self._table = table
        self._folder = folder
        self._allowed = sorted({*table.allowed_users} - {table.user_id})
        self._api = Api(table.homeserver, table.user_id, hint=hint, patience=patience)
        self._people = Allowlist("matrix", self._allowed, bot=table.user_id, clock=clock)
        self._own_events = OwnEvents()
        chats = [
            Chat(
                self._api,
                home,
                people=self._people,
                own_events=self._own_events,
                clock=clock,
                reactions=table.reactions,
            )
            for home in table.room_id or self._allowed
        ]
        super().__init__(chats, clock=clock, hold=hold)
        self._unsigned: str | None = None
        self._signing = False

    @property
    def trouble(self) -> str | None:
        return super().trouble if self._allowed else NOBODY

    def troubles(self) -> Iterable[str | None]:
        if any(self._api.is_encrypted(chat.room or "") for chat in self._chats):
            yield self._api.keys_trouble
        if not any(chat.room for chat in self._chats):
            yield (
                f"matrix: nobody has invited the bot yet. Start a chat with {self._api.user_id} "
                "in your Matrix app, or set matrix.room_id"
            )

    @property
    def remarks(self) -> Sequence[str]:
        strangers = [
            f"Strangers are in the Matrix room {chat.room}: {chat.strangers}. They cannot answer, "
            "but they can read. Use a private room."
            for chat in self._chats
            if chat.strangers
        ]
        return [*strangers, *([self._unsigned] if self._unsigned else [])]

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hold())
            stack.push_async_callback(self._api.close)
            session = await log_in(self._api, self._table, self._folder)
            stack.push_async_callback(self._beside.end)
            if not self._allowed:
                log.warning("%s", NOBODY)
            for chat in self._chats:
                chat.attach(inbox)
            rooms = Rooms(self._api, inbox, chats=self._chats, people=self._people)
            receiver = Receiver(
                self._api,
                inbox,
                chats=self._chats,
                people=self._people,
                own_events=self._own_events,
                clock=self._clock,
                spawn=self._beside.spawn,
                reactions=self._table.reactions,
                replaced=rooms.replaced,
            )

            async def after(batch: Batch) -> None:
                await rooms.heard()
                await receiver.after(keys=batch.keys)
                self._sign_once(session)

            self._poll = poll = Poll(
                self._api,
                inbox,
                clock=self._clock,
                take=receiver.take,
                coming=receiver.coming,
                invited=rooms.invited,
                after=after,
                given_up=receiver.given_up,
            )
            await rooms.recall()
            await poll.begin()
            await rooms.enter()
            for chat in self._chats:
                if chat.room is not None:
                    await receiver.unreadable.recall(chat.room)
            log.info("matrix: %s, rooms: %d", self._api.user_id, len(self._chats))
            ready()
            await poll.run()

    def _sign_once(self, session: Session) -> None:
        """Only where it counts: an identity is something that an account has for good."""
        key = self._api.signing_key
        rooms = [chat.room for chat in self._chats if chat.room is not None]
        if self._signing or key is None or not any(map(self._api.is_encrypted, rooms)):
            return
        self._signing = True
        self._beside.spawn(self._sign(session, key))

    async def _sign(self, session: Session, key: str) -> None:
        identity = Identity(self._folder, session.user_id, self._api.request)
        try:
            why = await identity.sign(session.device_id, key)
        except RetryLater as error:
            log.info("%s", error)
            await self._clock.sleep(error.after or SIGN_AGAIN)
            self._signing = False
            return
        if why is not None:
            self._unsigned = f"Matrix marks what the bot says as not verified: {why}"
            log.warning("%s", self._unsigned)


def build(table: Matrix, context: ChannelContext) -> MatrixChannel:
    return MatrixChannel(
        table,
        folder=context.state / "matrix",
        clock=context.clock,
        hint=context.place_of("access_token" if table.access_token else "password"),
        hold=context.hold,
    )
