"""A service's REST interface: JSON over HTTP, and the pauses that the service asks for.

Plain aiohttp: a library would wait out rate limits by itself, where delivery should rather send
something else meanwhile, and would send a message again that may have arrived. No error keeps its
cause or an address, which may have a token in it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from chatbridge import safe_json
from chatbridge.channels.sockets.errors import Pauses, unreachable
from chatbridge.channels.sockets.session import SessionClient
from chatbridge.core.errors import ChatbridgeError, RetryLater

V = TypeVar("V")

EVERYWHERE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    found: Any
    """None: nothing, or with an error something that is no JSON."""


class RestClient(SessionClient, ABC):
    service: str
    """The channel's name."""

    def __init__(
        self,
        *,
        base: str,
        authorization: str,
        agent: str,
        patience: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`agent` is what the client calls itself."""
        super().__init__(patience=patience, headers={"User-Agent": agent})
        self._base = base
        self._authorized = {"Authorization": authorization}
        self._pauses = Pauses(self.service, monotonic)

    # ── what a service implements ─────────────────────────────────────────────────────────────────

    @abstractmethod
    def route(self, method: str, path: str) -> str:
        """What the service counts this request by."""

    @abstractmethod
    def limits(self, answer: Answer, route: str) -> Iterable[tuple[str, object]]:
        """The routes, or everywhere, where no request is taken for so many seconds."""

    @abstractmethod
    def meaning(self, answer: Answer, place: object) -> ChatbridgeError:
        """Of an error. `place` is where something was to be done."""

    # ── one request ───────────────────────────────────────────────────────────────────────────────

    async def call(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        place: object = None,
        authorized: bool = True,
        **more: Any,
    ) -> Any:
        """What the service answers. A path with a token of its own is not `authorized`, and not
        counted."""
        route, headers = self.route(method, path), dict[str, str]()
        if authorized:
            self._pauses.check(route, EVERYWHERE)
            headers = self._authorized
        answer = await self._answer(method, path, json=json, headers=headers, **more)
        for counted, seconds in self.limits(answer, route):
            self._pauses.begin(counted, seconds)
        if 200 <= answer.status < 300:
            return answer.found
        if answer.status == 429:
            self._pauses.check(route, EVERYWHERE)
        raise self.meaning(answer, place)

    async def _answer(self, method: str, path: str, **sent: Any) -> Answer:
        url = self._base + path
        try:
            async with self.session.request(method, url, allow_redirects=False, **sent) as response:
                text, status, headers = await response.read(), response.status, response.headers
            found = safe_json.loads(text) if text else None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(error, self.service) from None
        except ValueError:
            if status < 300:
                raise self._unreadable() from None
            found = None
        return Answer(status=status, headers=headers, found=found)

    def checked(self, found: object, kind: type[V]) -> V:
        """:raises RetryLater: it is of another kind."""
        if not isinstance(found, kind):
            raise self._unreadable()
        return found

    def text(self, found: object, name: str) -> str:
        """Of this name. :raises RetryLater: there is none."""
        return self.checked(safe_json.value_at(found, name), str)

    def _unreadable(self) -> RetryLater:
        return RetryLater(f"{self.service}'s answer cannot be read")
