"""What the surfaces of all chats do alike: note what is wrong with the chat, explain a gap, and
build the card of an ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.card_requests import Wishes
from chatbridge.channels.chat.document import Document
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import Ask
from chatbridge.core.ports import AskActions, Clock

GAP_WORTH_EXPLAINING_SECONDS = 5 * 60.0


class ChatSurface(ABC):
    """One chat of a service that keeps messages."""

    persistent = True

    def __init__(self, name: str, *, service: str, clock: Clock) -> None:
        """`name` begins with the channel's; `service` is what people call it."""
        self.name = name
        self.channel = name.partition(":")[0]
        self.trouble: str | None = None
        self.wishes = Wishes()
        self._service = service
        self._clock = clock
        self._down_since: float | None = None

    def attach(self, inbox: AskActions) -> None:
        """Call it before anything is shown."""
        self._inbox = inbox

    @abstractmethod
    async def lacks(self, ask: Ask) -> bool:
        """Whether something that has to be read before this approval is allowed may be missing."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note what is wrong with the chat, and that nothing is once something got there."""
        try:
            yield
        except ChatRefused as error:
            self.trouble = str(error)
            raise
        except RetryLater as error:
            if error.after is None:  # a pause that the service asks for is no trouble
                self.trouble = str(error)
                self._down_since = self._down_since or self._clock.time()
            raise
        self.trouble = self._down_since = None

    async def explain_gap(self, send: Callable[[Document, float], Awaitable[None]]) -> None:
        """Say why the first messages after a long time without network come late. `send` is given
        the notice and the time since when."""
        since, now = self._down_since, self._clock.time()
        if since is not None and now - since >= GAP_WORTH_EXPLAINING_SECONDS:
            await send(notices.unreachable(self._service, since=since, now=now), since)
            self._down_since = None

    async def card_of(self, ask: Ask) -> Card:
        build = partial(
            build_card,
            ask,
            channel=self.channel,
            latest_deadline=self._inbox.latest_deadline(ask),
            only_on=self._inbox.only_on(ask, self.channel),
        )
        return await off_loop(build, weight=weight_of(ask))
