"""Why a service cannot be reached: aiohttp's errors as ours. And until when none may be asked."""

from __future__ import annotations

from collections.abc import Callable

import aiohttp

from chatbridge.channels.errors import asks_for_pause, pause, untrusted
from chatbridge.core.errors import RetryLater


def unreachable(error: BaseException, service: str) -> RetryLater:
    """`service` is the channel's name."""
    if why := untrusted(error, service, setting=f"{service}.api_base"):
        return RetryLater(why, unsent=True)
    unsent = isinstance(error, aiohttp.ClientConnectorError)
    if isinstance(error, TimeoutError) and not unsent:
        return RetryLater(f"{service} did not answer in time")
    return RetryLater(f"{service} cannot be reached ({type(error).__name__})", unsent=unsent)


class Pauses:
    """Until when a service takes no more requests, by what it counts them. Who asks all the same
    may be shut out."""

    def __init__(self, service: str, monotonic: Callable[[], float]) -> None:
        self._service = service
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def begin(self, counted: str, said: object) -> None:
        self._until[counted] = self._monotonic() + pause(said)

    def check(self, *counted: str) -> None:
        """:raises RetryLater: it is too early."""
        now = self._monotonic()
        self._until = {each: until for each, until in self._until.items() if until > now}
        until = max((self._until.get(each, now) for each in counted), default=now)
        if until > now:
            raise asks_for_pause(self._service, until - now)
