"""A channel whose service needs no account and tells everything in one row of events: the whole of
it but the service, its chats and what an event means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Generic, TypeVar

from chatbridge.channels.chat.channel import ChatChannel
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.poll_loop import Events, FeedLoop
from chatbridge.channels.chat.receiver import ButtonReceiver, Reception
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock

E = TypeVar("E")


class EventReceiver(ButtonReceiver, Generic[E]):
    @abstractmethod
    async def take(self, event: E, cursor: ChannelState) -> None:
        """Say who did what: `tap` or `written`. Hand the cursor on."""


class SimpleChannel(ChatChannel[ChatSurface[Any]], Generic[E]):
    def __init__(
        self, chats: Sequence[ChatSurface[Any]], people: Collection[Any], *, clock: Clock
    ) -> None:
        """`people` may answer."""
        super().__init__(chats, clock=clock, hold=nullcontext)
        self._people = Allowlist(self.name, people, clock=clock)

    @abstractmethod
    def receiver(self, reception: Reception) -> EventReceiver[E]: ...

    @abstractmethod
    async def events(self, after: str | None, *, wait: bool) -> Events[E]:
        """Those after this place, or all; with `wait`, once there is one."""

    def troubles(self) -> Iterable[str | None]:
        return ()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        for chat in self._chats:
            chat.attach(inbox)
        reception = Reception(
            inbox=inbox,
            channel=self.name,
            chats=self._chats,
            people=self._people,
            clock=self._clock,
            spawn=self._beside.spawn,
        )
        self._poll = FeedLoop(
            inbox,
            channel=self.name,
            clock=self._clock,
            events=self.events,
            take=self.receiver(reception).take,
        )
        ready()
        try:
            await self._poll.run()
        finally:
            await self._beside.end()
