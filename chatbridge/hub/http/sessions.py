"""The sessions of agents over HTTP: to which token each belongs, what is open in it, when it ends.

Requests without a session (the era of 2026-07-28) share one for each token, so that a ticket's
holder is known. Owns no HTTP: how a session is taken from the SDK is given.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from chatbridge.core.asks.waiting_calls import HTTP_SESSION_PREFIX, WaitingCalls
from chatbridge.core.model import Project
from chatbridge.core.ports import Clock
from chatbridge.hub.http.tokens import Token, Tokens
from chatbridge.hub.http.wire import Exchange
from chatbridge.hub.process.background import end_tasks

log = logging.getLogger(__name__)

MAX_SESSIONS = 32
"""Of one token. More make room by ending the one that was idle longest."""
MAX_OPEN = 64
"""Requests and streams of one token at a time."""
IDLE = 1800.0
TICK = 1.0
"""Seconds between two looks whether a token was removed, while there are sessions."""


@dataclass(slots=True, eq=False)
class HttpSession:
    id: str | None
    """Of the SDK; None: that of requests which have none."""
    token: Token
    used: float
    link: str = field(default_factory=lambda: f"{HTTP_SESSION_PREFIX}{secrets.token_hex(16)}")
    open: set[Exchange] = field(default_factory=set)

    def busy_with(self, request: object) -> bool:
        """The SDK tells requests apart by their ids as texts."""
        taken = {str(one.request) for one in self.open if one.request is not None}
        return request is not None and str(request) in taken


def project_of(token: Token) -> Project:
    return Project(key=f"http:{token.name}", name=token.name)


class HttpSessions:
    def __init__(
        self,
        waiting_calls: WaitingCalls,
        *,
        tokens: Tokens,
        clock: Clock,
        discard: Callable[[HttpSession], Awaitable[None]],
    ) -> None:
        """`discard` makes the SDK forget a session."""
        self._waiting_calls = waiting_calls
        self._tokens = tokens
        self._clock = clock
        self._discard = discard
        self._sessions: dict[str, HttpSession] = {}
        """By the session's id; where there is none, by the token's digest."""
        self._watching: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(list(self._sessions.values()))

    def of(self, named: str, token: Token) -> HttpSession | None:
        """The session, if it is this token's: to others it is not there."""
        found = self._sessions.get(named)
        return found if found is not None and found.token == token and found.id == named else None

    def without_id(self, token: Token) -> HttpSession:
        """The session of this token's requests that have none."""
        return self._sessions.get(token.digest) or self.opened(None, token)

    def opened(self, named: str | None, token: Token) -> HttpSession:
        session = HttpSession(id=named, token=token, used=self._clock.monotonic())
        self._sessions[named or token.digest] = session
        self._waiting_calls.link_opened(session.link)
        log.info("link %s opened project=%s over HTTP", session.link, token.name)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._watch())
        return session

    async def make_room(self, token: Token) -> bool:
        """Whether this token may have one session more; the one that was idle longest goes."""
        mine = [session for session in self if session.id and session.token == token]
        if len(mine) < MAX_SESSIONS:
            return True
        idle = [session for session in mine if not session.open]
        if not idle:
            return False
        await self.end(min(idle, key=lambda session: session.used))
        return True

    async def end(self, session: HttpSession) -> None:
        """Its calls wait no longer, and its streams are closed."""
        if self._sessions.pop(session.id or session.token.digest, None) is not session:
            return
        for exchange in session.open:
            exchange.cut.set()
        if session.id is not None:
            await self._discard(session)
        # What is being written now counts as delivered first.
        for exchange in list(session.open):
            await exchange.ended.wait()
        log.info("link %s closed", session.link)
        await self._waiting_calls.link_closed(session.link)

    async def close(self) -> None:
        """With the hub: calls stay as they are, so that the same questions go on with the next."""
        if self._watching is not None:
            await end_tasks([self._watching])

    async def _watch(self) -> None:
        while self._sessions:
            await self._clock.sleep(TICK)
            try:
                there, now = set(self._tokens.all()), self._clock.monotonic()
                for session in self:
                    idle = not session.open and now - session.used >= IDLE
                    if idle or session.token not in there:
                        await self.end(session)
            except Exception:
                log.exception("sessions over HTTP could not be looked at")
