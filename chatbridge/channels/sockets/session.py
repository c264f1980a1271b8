"""The session of a service's client: opened with it, closed with it, by the proxies of the
environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import aiohttp


class SessionClient:
    session: aiohttp.ClientSession

    def __init__(self, *, patience: float, headers: Mapping[str, str] | None = None) -> None:
        """`patience` is how long an answer may take; `headers` go with each request."""
        self.patience = patience
        self._headers = headers

    def opened(self) -> None:
        """The session is there: for a library that needs it."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=self.patience)
        self.session = aiohttp.ClientSession(timeout=timeout, headers=self._headers, trust_env=True)
        self.opened()
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.session.close()
