"""Check every request of agents over HTTP before MCP sees it.

Owns which hosts, origins and tokens are let in, what strangers are told, and that guessing is slow.
A token counts in the `Authorization` header and nowhere else: addresses end up in logs.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chatbridge.channels.web.guard import TWO_ENDS, has_two_ends
from chatbridge.channels.web.server import note_credential
from chatbridge.core.ports import Clock
from chatbridge.hub.http.tokens import TokenList

log = logging.getLogger(__name__)

PATH = "/mcp"
TOKEN = "chatbridge.token"  # noqa: S105 - a key of the scope
"""Where the scope says whose token the request came with."""

FREE_GUESSES = 10
"""Within a minute, before the next wrong one of the same address has to wait for its answer."""
GUESS_SECONDS = 1.0
WINDOW = 60.0
MAX_ADDRESSES = 1024
MAX_WAITING = 32
SAY_EVERY = 3600.0
"""From wherever they come: a network has more addresses than the log has room for."""

NEEDED = (
    "This needs a token in the header Authorization: Bearer. The owner makes one with: "
    "chatbridge token add NAME"
)
UNKNOWN = "This token is not known, or was removed."
TOO_MANY = "Too many wrong tokens. Try again in a minute."


class Guesses:
    """Who came with wrong tokens. An owner of a right one never waits: strangers behind the same
    address must not be able to keep them out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._waiting = 0
        self._said: float | None = None

    async def wrong(self, address: str) -> bool:
        """Waits before the answer if there were many; False: too many wait already."""
        now = self._clock.monotonic()
        key = _network(address)
        count, since = self._counts.pop(key, (0, now))
        if now - since > WINDOW:
            count, since = 0, now
        self._counts[key] = (count + 1, since)
        if len(self._counts) > MAX_ADDRESSES:
            self._counts.popitem(last=False)
        if count == FREE_GUESSES and (self._said is None or now - self._said >= SAY_EVERY):
            log.warning("many wrong tokens over HTTP from %s", key)
            self._said = now
        if count < FREE_GUESSES:
            return True
        if self._waiting >= MAX_WAITING:
            return False
        self._waiting += 1
        try:
            await self._clock.sleep(GUESS_SECONDS)
        finally:
            self._waiting -= 1
        return True


def _network(address: str) -> str:
    """The address, or the network of an IPv6 address: one household has as many of those as it
    likes."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    return f"{IPv6Address(int(found) >> 64 << 64)}/64" if found.version == 6 else str(found)


class KnownHosts(Protocol):
    def knows(self, host: str) -> bool:
        """Whether this is a name of ours, as a request's `Host` header has it."""


@dataclass(frozen=True, slots=True)
class HttpGuard:
    """A pure ASGI wrapper: streams pass through."""

    app: ASGIApp
    hosts: KnownHosts
    tokens: TokenList
    guesses: Guesses
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._elsewhere(scope, headers)
        given = _bearer(headers)
        token = self.tokens.owner(given) if given is not None and refusal is None else None
        note_credential(scope, token.digest if token is not None else None)
        if token is not None:
            await self.tokens.note_used(token, now=self.clock.time())
            scope[TOKEN] = token
            await self.app(scope, receive, send)
            return
        if refusal is None:
            refusal = await self._stranger(scope, given=given is not None)
        await refusal(scope, receive, send)

    def _elsewhere(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that was not meant for us, whoever makes it."""
        if has_two_ends(headers):
            return refused(400, TWO_ENDS)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self.hosts.knows(hosts[0]):
            return refused(403, "This address is not chatbridge's. See http.hosts in config.toml.")
        ours = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in ours for origin in origins):
            return refused(403, "This request came from another site.")
        if scope["path"] != PATH:
            return refused(404, f"There is nothing here. Agents connect to {PATH}.")
        return None

    async def _stranger(self, scope: Scope, *, given: bool) -> Response:
        if not given:
            return refused(401, NEEDED, **{"www-authenticate": 'Bearer realm="chatbridge"'})
        client = scope.get("client")
        if not await self.guesses.wrong(client[0] if client else ""):
            return refused(429, TOO_MANY, **{"retry-after": "60"})
        challenge = 'Bearer realm="chatbridge", error="invalid_token"'
        return refused(401, UNKNOWN, **{"www-authenticate": challenge})


def refused(status: int, sentence: str, **headers: str) -> Response:
    """Closes the connection, which would else go on reading a body that nobody wants."""
    own = {"connection": "close", "cache-control": "no-store"}
    return JSONResponse({"error": sentence}, status_code=status, headers={**own, **headers})


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    if len(given) != 1:
        return None
    scheme, _, token = given[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None
