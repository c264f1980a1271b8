"""What the channels of all chats do alike: their surfaces, what is wrong, and telling the owner
something in each chat."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected
from chatbridge.core.ports import Clock, Remark
from chatbridge.core.tasks import BackgroundTasks

log = logging.getLogger(__name__)

Hold = Callable[[], AbstractContextManager[object]]
"""Keeps the account of a channel for this process."""
S = TypeVar("S", bound=ChatSurface[Any])


class ChatChannel(ABC, Generic[S]):
    name: str

    def __init__(self, chats: Sequence[S], *, clock: Clock, hold: Hold) -> None:
        self._chats = chats
        self._clock = clock
        self._hold = hold
        self._poll: PollLoop[Any] | None = None
        self._beside = BackgroundTasks(self.name)

    @abstractmethod
    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None: ...

    @abstractmethod
    def troubles(self) -> Iterable[str | None]:
        """What else can be wrong than reading and the chats."""

    @property
    def surfaces(self) -> Sequence[S]:
        return self._chats

    @property
    def trouble(self) -> str | None:
        reading = self._poll.trouble if self._poll else None
        found = (reading, *(chat.trouble for chat in self._chats), *self.troubles())
        return next(filter(None, found), None)

    @property
    def remarks(self) -> Sequence[str]:
        return ()

    async def tell(self, remark: Remark) -> None:
        await tell_each(remark, [(chat.name, chat.tell) for chat in self._chats if chat.is_there])

    async def drain(self) -> None:
        if self._poll is not None:
            await self._poll.drain()


async def tell_each(
    remark: Remark, chats: Sequence[tuple[str, Callable[[Remark], Awaitable[None]]]]
) -> None:
    """Chats by the names of their surfaces, and how each is told.

    :raises RetryLater: some have not been told; the others are noted in the remark.
    :raises TokenRejected: likewise.
    """
    later: RetryLater | None = None
    for name, tell in chats:
        if name in remark.told:
            continue
        try:
            await tell(remark)
        except RetryLater as error:
            later = error if later is None else min(later, error, key=_pause)
            continue
        except TokenRejected:
            raise
        except ChatbridgeError as error:
            log.info("%s was not told: %s", name, error)
        except Exception:
            log.exception("%s could not be told", name)  # and it would fail again
        remark.told.add(name)
    if later is not None:
        raise later


def _pause(error: RetryLater) -> float:
    return float("inf") if error.after is None else error.after
