"""The ntfy server as this channel uses it: the only module that talks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from chatbridge import safe_json
from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected
from chatbridge.core.text import one_line, shortened

Json = dict[str, Any]

ANSWERED_WITHIN, KEPT_ALIVE_WITHIN = 10.0, 130.0
"""A server sends a sign of life every 45 s, if its owner has not changed that."""
LONGEST_LINE = 64 * 1024
USUAL_PAUSE = 12.0
"""After 60 requests a server takes one in 5 s, and does not say when."""
DAILY_QUOTA = 42908


class Api(httpx.AsyncClient):
    def __init__(self, table: Ntfy, *, patience: float = ANSWERED_WITHIN) -> None:
        token = table.token.get_secret_value() if table.token else ""
        key = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(base_url=table.server, headers=key, timeout=patience)
        self._server = urlsplit(table.server).hostname

    async def publish(self, **message: Any) -> bool:
        """Whether a later message of the same `sequence_id` takes its place: not before 2.16."""
        async with self._asked("POST", "/", json=message) as answer:
            return any([bool(each.get("sequence_id")) async for each in _objects(answer)])

    async def clear(self, topic: str, sequence: str) -> None:
        """Take a notification away, if the server can."""
        async with self._asked("PUT", f"/{topic}/{sequence}/clear", but=404):
            pass

    async def check(self, topic: str = "") -> None:
        """That the server takes the token, and lets it read the topic."""
        async with self._asked("GET", f"/{topic}/auth" if topic else "/v1/health"):
            pass

    async def messages(self, topic: str, *, since: str, wait: bool) -> list[Json]:
        """What came after the message `since`; with `wait`, the next one."""
        found, query = [], {"since": since} | ({} if wait else {"poll": "1"})
        patience = httpx.Timeout(ANSWERED_WITHIN, read=KEPT_ALIVE_WITHIN)
        async with self._asked("GET", f"/{topic}/json", params=query, timeout=patience) as answer:
            async for each in _objects(answer):
                if each.get("event") == "message":
                    found.append(each)
                    if wait:
                        return found
        if wait:
            raise RetryLater(f"{self._server} has ended the connection")
        return found

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, *, but: int = 0, **request: Any
    ) -> AsyncIterator[httpx.Response]:
        """:raises MessageRejected: and what every chat service's client raises."""
        try:
            async with self.stream(method, path, **request) as answer:
                if not answer.is_success and answer.status_code != but:
                    said = [each async for each in _objects(answer)]
                    raise self._meaning(answer, said[0] if said else {})
                yield answer
        except httpx.HTTPError as error:
            why = shortened(one_line(str(error) or type(error).__name__), 200)
            unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise RetryLater(f"{self._server} cannot be reached: {why}", unsent=unsent) from error

    def _meaning(self, answer: httpx.Response, said: Json) -> Exception:
        status, after = answer.status_code, answer.headers.get("Retry-After", "")
        why = shortened(one_line(str(said.get("error", answer.reason_phrase))), 200)
        why = f"{self._server}: {why} ({status})"
        if status == 401:
            return TokenRejected(f"{self._server} does not accept the token. Check ntfy.token")
        if status == 403:
            return ChatRefused(f"{why}. Let the token use the topic there: ntfy access")
        if status == 429 and said.get("code") != DAILY_QUOTA:
            return RetryLater(why, after=float(after) if after.isdecimal() else USUAL_PAUSE)
        if status in (400, 413):
            return MessageRejected(why)
        return RetryLater(why) if status >= 500 else ChatRefused(f"{why}. Check ntfy.server")


async def _objects(answer: httpx.Response) -> AsyncIterator[Json]:
    """What stands in its lines. One that is too long ends the reading."""
    rest = b""
    async for part in answer.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise httpx.ReadError("a line is too long")
        for line in lines:
            with suppress(ValueError):
                if isinstance(found := safe_json.loads(line), dict):
                    yield found
