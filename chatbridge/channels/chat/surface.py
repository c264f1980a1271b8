"""What the surfaces of all chats do alike: note what is wrong with the chat, explain a gap, and
build the card of an ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.document import Document
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock, Remark

GAP_WORTH_EXPLAINING_SECONDS = 5 * 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRequest:
    """What a person wants of a card beside answering. It is not stored: they can tap again."""

    typing: tuple[int, str] | None = None
    """Who wants a prompt: id and name."""
    anew: bool = False
    """Post the card at the bottom and take the old one away."""
    again: bool = False
    """The same, because taps on the old card may have been lost."""


NO_WISH = CardRequest()


class CardRequests:
    """The last wish for each ask, until it is granted."""

    def __init__(self) -> None:
        self._open: dict[str, CardRequest] = {}

    def add(self, ask_id: str, wish: CardRequest) -> None:
        self._open[ask_id] = wish

    def of(self, ask_id: str) -> CardRequest:
        return self._open.get(ask_id, NO_WISH)

    def granted(self, ask_id: str, wish: CardRequest, *, left: CardRequest = NO_WISH) -> None:
        """This one, and not one that came meanwhile."""
        if self._open.get(ask_id) is wish:
            del self._open[ask_id]
            if left != NO_WISH:
                self._open[ask_id] = left


class ChatSurface(ABC):
    """One chat of a service that keeps messages."""

    persistent = True

    def __init__(self, name: str, *, service: str, clock: Clock) -> None:
        """`name` begins with the channel's; `service` is what people call it."""
        self.name = name
        self.channel = name.partition(":")[0]
        self.trouble: str | None = None
        self.requests = CardRequests()
        self._service = service
        self._clock = clock
        self._down_since: float | None = None

    @property
    def is_there(self) -> bool:
        """Whether messages can be sent."""
        return True

    @abstractmethod
    async def tell(self, remark: Remark) -> None:
        """Tell the owner something about chatbridge itself."""

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
