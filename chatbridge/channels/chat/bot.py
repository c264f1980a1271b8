"""A bot with an account of its own: the chats that it has with people, and the channel around them.

Owns the order of a start, what is said to who is paired, and which messages came after another. A
channel of such a service adds its client, its messages and its loop.
"""

from __future__ import annotations

import logging
import socket
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.capabilities import Capabilities, T
from chatbridge.channels.chat.channel import ChatChannel
from chatbridge.channels.chat.document import Message
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.surface import FAR_ABOVE, ChatSurface
from chatbridge.channels.chat.writer import MessageRejected, Outgoing
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, NotPaired, PostGone, RetryLater
from chatbridge.core.pairing import Bot
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line

log = logging.getLogger(__name__)

MENU_PAUSE = 60.0
RESTART = "chatbridge restart"
NOBODY = "{name}.allowed_users is empty, so nobody can answer there. Run: chatbridge pair {name}"


class ChatClient(Protocol):
    """What a chat asks of the service's client by itself."""

    async def direct(self, person: Any) -> str:
        """The room of the bot's chat with this person. :raises ChatRefused:"""

    async def delete(self, room: str, message: str) -> None: ...


class BotChat(ChatSurface[T]):
    """A person's own chat with the bot, or a channel where several people are. Messages have
    numbers for names, which rise."""

    idempotent = True
    client: ChatClient

    def __init__(
        self,
        place: int | str,
        can: Capabilities[T],
        *,
        service: str,
        private: bool,
        pace: RateLimit | None,
        clock: Clock,
    ) -> None:
        """`place` is a person or a channel, as the settings name it; `pace` is for tests."""
        super().__init__(f"{can.channel}:{place}", can, service=service, clock=clock)
        self.place = place
        self.private = private
        self.pace = pace or self.pace
        self._room = "" if private else str(place)
        self._newest: deque[str] = deque(maxlen=8 * FAR_ABOVE)

    async def find(self) -> str:
        """The room of the person's own chat. :raises ChatRefused: there is none."""
        return await self.client.direct(self.place)

    async def open(self) -> None:
        if not self._room:
            try:
                self._room = await self.find()
            except ChatRefused as error:
                self.trouble = f"{str(error).partition(', then run:')[0]}, then run: {RESTART}"
                log.warning("%s", self.trouble)

    @property
    def is_there(self) -> bool:
        return bool(self._room)

    def current_room(self) -> str:
        if not self._room:
            raise ChatRefused(self.trouble or f"{self.channel}: no chat with {self.place} yet")
        return self._room

    @property
    def viewer(self) -> str | None:
        return self._room if self.private else None

    def handle(self, room: str, message: str) -> str:
        return f"{room}:{message}"

    def passed(self, message: str) -> None:
        """A message is in this chat."""
        if message not in self._newest:
            self._newest.append(message)

    def messages_after(self, message: str) -> int:
        return sum((len(each), each) > (len(message), message) for each in self._newest)

    async def remove(self, room: str, message: str) -> None:
        if message:
            try:
                await self.client.delete(room, message)
            except (MessageRejected, PostGone) as error:
                log.debug("%s: message %s stays: %s", self.name, message, error)


class Account(Protocol):
    @property
    def name(self) -> str: ...


class BotClient(Protocol):
    """The service's client. An async context manager."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *ended: object) -> None: ...

    async def me(self) -> Account:
        """The bot's. :raises TokenRejected: :raises RetryLater:"""

    async def direct(self, person: Any) -> str:
        """The room of the bot's chat with this person. :raises ChatRefused:"""


C = TypeVar("C", bound=ChatSurface[Any])


class BotChannel(ChatChannel[C]):
    setting = "channel_id"
    """Lists the chats."""
    typed = True
    """A link cannot bring a code to the bot: people send it as a message."""

    def __init__(
        self,
        client: BotClient,
        chats: Sequence[C],
        people: Collection[Any],
        context: ChannelContext,
    ) -> None:
        """`people` may answer."""
        super().__init__(chats, clock=context.clock, hold=context.hold)
        self._client = client
        self._allowed = people
        self._pairing = context.pairing
        self._greeted = set[Any]()
        self._nobody = NOBODY.format(name=self.name)
        self._lacking = ""

    @abstractmethod
    async def loop(self, me: Any, reception: Reception) -> PollLoop[Any]:
        """The one that reads."""

    @abstractmethod
    def link(self, me: Any, payload: str) -> str:
        """Leads a person to the bot, with this payload if the service can."""

    def lacking(self, me: Any) -> str:
        """What the bot's account lacks, and what to do; else empty."""
        return ""

    def troubles(self) -> Iterable[str | None]:
        yield self._lacking
        if not self._allowed:
            yield self._nobody  # after what keeps anybody from being paired

    def reception(self, inbox: AskActions) -> Reception:
        return Reception(
            inbox=inbox,
            channel=self.name,
            chats=self._chats,
            people=Allowlist(self.name, self._allowed, clock=self._clock),
            clock=self._clock,
            spawn=self._beside.spawn,
            pairing=self._pairing,
            setting=f"{self.name}.{self.setting}",
        )

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hold())
            await stack.enter_async_context(self._client)
            me = await self._client.me()
            self._lacking = self.lacking(me)
            stack.push_async_callback(self._beside.end)
            if not self._allowed:
                log.warning("%s", self._nobody)
            log.info("%s: %s, chats: %d", self.name, one_line(me.name), len(self._chats))
            for chat in self._chats:
                chat.attach(inbox)
                await chat.open()
            self._poll = loop = await self.loop(me, self.reception(inbox))
            stack.push_async_callback(loop.end)
            await loop.begin()
            for chat in self._chats:
                if chat.is_there:
                    self._beside.spawn(chat.redraw_elsewhere())
            bot = Bot(
                channel=self.name,
                typed=self.typed,
                address=lambda payload: self.link(me, payload),
                greet=self._greet,
            )
            stack.enter_context(self._pairing.works_with(bot))
            ready()
            await loop.run()

    async def until_taken(self, work: Callable[[], Awaitable[object]]) -> None:
        """Until the service takes it: its menu, for instance."""
        while True:
            try:
                await work()
            except RetryLater as error:
                await self._clock.sleep(error.after or MENU_PAUSE)
            else:
                return

    async def _greet(self, person: Any) -> None:
        """Once in a hub's life: whoever runs as the owner can ask for it."""
        if person not in self._allowed:
            raise NotPaired(
                f"{person} is not in the settings that the hub uses. Look for "
                f"CHATBRIDGE_{self.name.upper()}__ variables, which count over config.toml"
            )
        if person in self._greeted:
            return
        self._greeted.add(person)
        try:
            chat, room = self._chats[0], await self._client.direct(person)
            here = any(each.is_there and each.current_room() == room for each in self._chats)
            said = Message(document=notices.paired(socket.gethostname(), here=here))
            await chat.send(Outgoing(room=room, what=chat.drawn(said), key=()))
        except ChatRefused:  # there may be such a chat later
            self._greeted.discard(person)
            raise
