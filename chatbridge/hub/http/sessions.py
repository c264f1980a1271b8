"""What agents over HTTP have open: their sessions, and each request until its last byte.

Owns to which token a session belongs and when it ends, whether a client was still there when its
answer was written, and that a response which is cut short has an end. Requests without a session
(the era of 2026-07-28) share one for each token, so that a ticket's holder is known.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from chatbridge import safe_json
from chatbridge.core.asks.waiting_calls import HTTP_SESSION_PREFIX, WaitingCalls
from chatbridge.core.model import CallName, Project
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import BackgroundTasks, end_tasks, race
from chatbridge.hub.http.guard import UNKNOWN, refused
from chatbridge.hub.http.tokens import Token, TokenList
from chatbridge.tools.call import Remote

log = logging.getLogger(__name__)

MAX_SESSIONS = 32  # Of one token. More make room by ending the one that was idle longest.
MAX_OPEN = 64  # Requests and streams of one token at a time
IDLE = 1800.0
TICK = 1.0  # Seconds between two looks whether a token was removed, while there are sessions
FINISH_SECONDS = 1.0
"""How long the end of a response that was cut short may take: its client may not be reading."""
STOPPING = "chatbridge is being restarted. Try again in a moment."


@dataclass(slots=True, eq=False)
class Exchange:
    """One HTTP request until the last byte of its response, in both directions, as the SDK sees
    it."""

    scope: Scope
    _receive: Receive
    _send: Send
    message: dict[str, Any]
    remote: Remote = field(init=False)
    call: CallName | None = None  # The tool call that it carries
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end it as if its client had gone."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    written: bool = False  # The call's result was written while its client was there
    _gone: bool = False
    _started: bool = False
    _finished: bool = False

    @property
    def request(self) -> object:
        """The id of its JSON-RPC request."""
        return self.message.get("id") if "method" in self.message else None

    async def receive(self) -> Message:
        message = await race(self._receive(), self.cut.wait()) or await nothing_more()
        if message["type"] == "http.disconnect":
            self._gone = True
        return message

    async def send(self, message: Message) -> None:
        self._started = True
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        there = not self._gone
        self._finished = self._finished or last
        await self._send(message)
        if there and self.call is not None and "body" in message:
            self.written = self.written or _answers(message["body"], self.request)

    async def finish(self) -> None:
        """A response that was cut short has an end all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                if self._started and not self._finished:
                    last = {"type": "http.response.body", "body": b"", "more_body": False}
                    await self._send(last)
                elif not self._started and self.cut.is_set():
                    over = refused(401, UNKNOWN) if self.remote.present else refused(503, STOPPING)
                    await over(self.scope, self._receive, self._send)


@dataclass(slots=True, eq=False)
class HttpSession:
    id: str | None  # Of the SDK; None: that of requests which have none
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


@dataclass(slots=True)
class HttpSessions:
    waiting_calls: WaitingCalls
    tokens: TokenList
    clock: Clock
    discard: Callable[[HttpSession], Awaitable[None]]  # Makes the SDK forget a session
    coming: dict[Exchange, Token] = field(default_factory=dict)
    """What has been given room for a session that it has not opened yet."""
    _sessions: dict[str, HttpSession] = field(default_factory=dict)
    """By the session's id; where there is none, by the token's digest."""
    _watching: asyncio.Task[None] | None = None
    _ending: BackgroundTasks = field(default_factory=lambda: BackgroundTasks("HTTP sessions"))

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(list(self._sessions.values()))

    def of(self, named: str, token: Token) -> HttpSession | None:
        """The session, if it is this token's: to others it is not there."""
        found = self._sessions.get(named)
        return found if found is not None and found.token == token and found.id == named else None

    def without_id(self, token: Token) -> HttpSession:
        return self._sessions.get(token.digest) or self.opened(None, token)

    def opened(self, named: str | None, token: Token) -> HttpSession:
        session = HttpSession(id=named, token=token, used=self.clock.monotonic())
        self._sessions[named or token.digest] = session
        self.waiting_calls.link_opened(session.link)
        log.info("link %s opened project=%s over HTTP", session.link, token.name)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._watch())
        return session

    async def make_room(self, token: Token, exchange: Exchange) -> bool:
        """Whether this may open one session more; the one that was idle longest goes."""
        mine = [session for session in self if session.id and session.token == token]
        coming = sum(each == token for each in self.coming.values())
        idle = [session for session in mine if not session.open]
        full = len(mine) + coming >= MAX_SESSIONS
        if full and not idle:
            return False
        self.coming[exchange] = token
        if full:
            await self.end(min(idle, key=lambda session: session.used))
        return True

    async def end(self, session: HttpSession) -> None:
        """Its calls wait no longer, and its streams are closed."""
        if self._sessions.pop(session.id or session.token.digest, None) is not session:
            return
        for exchange in session.open:
            exchange.cut.set()
        if session.id is not None:
            await self.discard(session)
        # What is being written now counts as delivered first.
        for exchange in list(session.open):
            await exchange.ended.wait()
        log.info("link %s closed", session.link)
        await self.waiting_calls.link_closed(session.link)

    async def close(self) -> None:
        """With the hub: calls stay as they are, so that the same questions go on with the next."""
        if self._watching is not None:
            await end_tasks([self._watching])
        await self._ending.end()

    async def _watch(self) -> None:
        while self._sessions:
            await self.clock.sleep(TICK)
            try:
                there, now = set(self.tokens.all()), self.clock.monotonic()
                for session in self:
                    idle = not session.open and now - session.used >= IDLE
                    if idle or session.token not in there:
                        self._ending.spawn(self.end(session))  # one may wait for its last byte
            except Exception:
                log.exception("sessions over HTTP could not be looked at")


# ── bodies ────────────────────────────────────────────────────────────────────────────────────────


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON-RPC message; empty if it is none that we can read."""
    with suppress(ValueError):
        if isinstance(found := safe_json.loads(body), dict):
            return found
    return {}


def message_problem(message: dict[str, Any]) -> str | None:
    """Why the SDK should not see this message. It would take a request with a wrong id for a
    notification, and reads one level deeper than we do."""
    if not message:
        return f"the body is not one JSON object of at most {safe_json.DEEPEST} levels"
    return safe_json.PROBLEM if safe_json.has_bad_id(message) else None


def repaired(body: bytes) -> bytes:
    """Half a surrogate pair, which the SDK's parser refuses, becomes a question mark."""
    if b"\\ud" not in body.lower():
        return body
    try:
        return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return body


def _answers(piece: bytes, request: object) -> bool:
    """Whether this piece of a body is the result of the request, as JSON or as an event."""
    if piece.startswith(b"event: message"):
        lines = piece.splitlines()
        piece = b"".join(line[6:] for line in lines if line.startswith(b"data: "))
    found = parsed(piece)
    return found.get("id") == request and "result" in found


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one piece, then whatever comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def nothing_more() -> Message:
    return {"type": "http.disconnect"}


async def unheard(_message: Message) -> None:
    """Nobody is there."""
