"""The ntfy server as this channel uses it: the only module that talks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from chatbridge import safe_json
from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.errors import pause, token_rejected, untrusted, words
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.core.errors import ChatRefused, RetryLater

ANSWERED_WITHIN, KEPT_ALIVE_WITHIN = 10.0, 130.0
"""A server sends a sign of life every 45 s, if its owner has not changed that."""
USUAL_PAUSE = 12.0
"""After 60 requests a server takes one in 5 s, and does not say when."""
DAILY_QUOTA = 42908


class Api(httpx.AsyncClient):
    def __init__(self, table: Ntfy, *, patience: float = ANSWERED_WITHIN) -> None:
        key = {"Authorization": f"Bearer {table.token.get_secret_value()}"} if table.token else {}
        super().__init__(base_url=table.server, headers=key, timeout=patience)
        self._server = urlsplit(table.server).hostname

    async def publish(self, **message: Any) -> bool:
        """Whether a later message of the same `sequence_id` takes its place: not before 2.16."""
        return "sequence_id" in _object((await self.post("/", json=message)).text)

    async def clear(self, topic: str, sequence: str) -> None:
        """Take a notification away, if the server can and may."""
        with suppress(ChatRefused):
            await self.put(f"/{topic}/{sequence}/clear")

    async def check(self, topic: str) -> None:
        """That the server takes the token, and lets it read the topic, if there is one."""
        await self.get(f"/{topic}/auth" if topic else "/v1/health")

    async def messages(
        self, topic: str, after: str | None, *, wait: bool, are: Callable[[str], bool]
    ) -> list[tuple[str, str]]:
        """Ids and texts of those after this one that are of a kind; with `wait`, of the next one.
        Whatever else somebody writes to the topic costs no request."""
        found, query = [], {"since": after or "all"} | ({} if wait else {"poll": "1"})
        patience = httpx.Timeout(ANSWERED_WITHIN, read=KEPT_ALIVE_WITHIN)
        with self._reaching():
            async with self.stream("GET", f"/{topic}/json", params=query, timeout=patience) as it:
                async for line in it.aiter_lines():
                    message = _object(line)
                    if are(text := str(message.get("message"))):
                        found.append((str(message.get("id")), text))
                        if wait:
                            return found
        if wait:
            raise RetryLater(f"{self._server} has ended the connection")
        return found

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """All requests. :raises MessageRejected: and what every chat service's client raises."""
        with self._reaching():
            answer = await super().send(request, **options)
            if answer.is_success:
                return answer
            await answer.aread()
        status, said = answer.status_code, _object(answer.text)
        why = f"{self._server}: {words(said.get('error', answer.reason_phrase))} ({status})"
        if status == 401:
            raise token_rejected(f"{self._server} does not accept the token", hint="ntfy.token")
        if status == 403:
            raise ChatRefused(f"{why}. Let the token use the topic there: ntfy access")
        if status == 429 and said.get("code") != DAILY_QUOTA:
            after = pause(answer.headers.get("Retry-After"), usual=USUAL_PAUSE)
            raise RetryLater(why, after=after)
        if status in (400, 413):
            raise MessageRejected(why)
        raise RetryLater(why) if status >= 500 else ChatRefused(f"{why}. Check ntfy.server")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            why = untrusted(error, str(self._server), setting="ntfy.server")
            said = words(error) or type(error).__name__
            raise RetryLater(why or f"{self._server} cannot be reached: {said}") from None


def _object(line: str) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(found := safe_json.loads(line), dict):
            return found
    return {}
