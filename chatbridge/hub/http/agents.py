"""MCP over HTTP: agents on other machines, each with a token, beside the links.

Owns one request from its body to the last byte of its response: which call it carries, whether its
answer reached the client, and that a client which has gone no longer waits. The SDK speaks the
protocol, in both eras; `guard` decides who may come in.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from chatbridge.channels.web.server import Take, read_body, serving
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import CallName
from chatbridge.core.ports import Clock
from chatbridge.framing import MAX_LINE
from chatbridge.hub.http.guard import TOKEN, Guesses, HttpGuard, KnownHosts, refused
from chatbridge.hub.http.sessions import (
    MAX_OPEN,
    STOPPING,
    Exchange,
    HttpSession,
    HttpSessions,
    message_problem,
    nothing_more,
    parsed,
    project_of,
    repaired,
    replayed,
    unheard,
)
from chatbridge.hub.http.tokens import Token, TokenList
from chatbridge.hub.links.session import speaks_of_time
from chatbridge.tools.call import REMOTE, Remote

log = logging.getLogger(__name__)

BODY_SECONDS = 30.0  # How long a request's body may take to arrive
SESSION = b"mcp-session-id"
CANCELLED = "notifications/cancelled"
WHO = "MCP over HTTP"


@dataclass(slots=True, eq=False)
class HttpAgents:
    server: Server[Any]
    waiting_calls: WaitingCalls
    _: KW_ONLY
    tokens: TokenList
    clock: Clock
    limit: float  # After how long a client of which nothing is known gives a call up
    body_seconds: float = BODY_SECONDS
    _manager: StreamableHTTPSessionManager = field(init=False)
    _sessions: HttpSessions = field(init=False)
    _open: Counter[Token] = field(default_factory=Counter)
    _closing: bool = False

    def __post_init__(self) -> None:
        self._manager = StreamableHTTPSessionManager(
            self.server,
            session_idle_timeout=None,
            max_request_body_size=MAX_LINE,
            max_sessions=None,
        )
        self._sessions = HttpSessions(
            self.waiting_calls, tokens=self.tokens, clock=self.clock, discard=self._say_for
        )

    def projects(self) -> list[str]:
        return sorted({session.token.name for session in self._sessions})

    @asynccontextmanager
    async def serving(
        self, listener: socket.socket | None, hosts: KnownHosts
    ) -> AsyncIterator[Take]:
        """Serve at the socket until the block ends, and what the yielded function is given. Leave
        it in the task that entered it: the SDK needs that for its sessions."""
        guard = HttpGuard(
            self, hosts=hosts, tokens=self.tokens, guesses=Guesses(self.clock), clock=self.clock
        )
        async with self._manager.run():
            try:
                async with serving(guard, listener, WHO) as take:
                    try:
                        yield take
                    finally:
                        # From now on nobody counts as cancelled: questions go on with the next hub.
                        self._closing = True
                        for exchange in [one for session in self._sessions for one in session.open]:
                            exchange.remote.present = False
                            exchange.cut.set()
            finally:
                await self._sessions.close()
                for session in self._sessions:
                    if session.id is not None:
                        # Else the SDK tries for a second to answer calls that nobody waits for.
                        await self._say_for(session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = scope[TOKEN]
        self._open[token] += 1
        try:
            if (refusal := await self._serve(token, scope, receive, send)) is not None:
                await refusal(scope, receive, send)
        finally:
            self._open -= Counter((token,))

    async def _serve(
        self, token: Token, scope: Scope, receive: Receive, send: Send
    ) -> Response | None:
        """The refusal, if nothing was passed on."""
        if self._closing:
            return refused(503, STOPPING)
        if self._open[token] > MAX_OPEN:
            problem = "This token has too many open requests."
            return refused(429, problem, **{"retry-after": "5"})
        headers = Headers(scope=scope)
        try:
            async with asyncio.timeout(self.body_seconds):
                body = await read_body(Request(scope, receive), limit=MAX_LINE)
        except TimeoutError:
            return refused(408, "The request took too long to arrive.")
        except ClientDisconnect:
            return None
        if body is None:
            return refused(413, f"A request has at most {MAX_LINE:,} bytes.")
        message = parsed(body)
        if scope["method"] == "POST" and (unfit := message_problem(message)) is not None:
            return _rpc_refusal(400, unfit)
        exchange = Exchange(scope, replayed(repaired(body), receive), send, message)
        version, named = headers.get("mcp-protocol-version"), headers.get("mcp-session-id")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            session = self._sessions.without_id(token)
        elif named is None:
            return await self._open_session(token, exchange)
        elif (found := self._sessions.of(named, token)) is not None:
            session = found
        else:
            return _rpc_refusal(404, "Session not found")
        if session.id and session.busy_with(exchange.request):
            return _rpc_refusal(409, "A request with this id is still open in this session")
        await self._exchange(session, exchange)
        if session.id and scope["method"] == "DELETE":
            await self._sessions.end(session)
        return None

    async def _open_session(self, token: Token, exchange: Exchange) -> Response | None:
        """Without a session only `initialize` can succeed; the SDK says so to everything else."""

        async def noting(given: Message) -> None:
            if given["type"] == "http.response.start" and given["status"] < 400:
                for name, value in given["headers"]:
                    if name.lower() == SESSION:
                        self._sessions.opened(value.decode("ascii"), token)
                        self._sessions.coming.pop(exchange, None)
            await exchange.send(given)

        begins = exchange.message.get("method") == "initialize"
        try:
            if begins and not await self._sessions.make_room(token, exchange):
                return refused(429, "This token has too many sessions.", **{"retry-after": "60"})
            self._identify(exchange.scope, token, link="")
            await self._manager.handle_request(exchange.scope, exchange.receive, noting)
        finally:
            self._sessions.coming.pop(exchange, None)
        return None

    async def _exchange(self, session: HttpSession, exchange: Exchange) -> None:
        own = secrets.token_hex(8) if session.id is None else None
        exchange.remote = self._identify(exchange.scope, session.token, link=session.link)
        exchange.remote.request, exchange.remote.present = own, not self._closing
        request = exchange.request
        if exchange.message.get("method") == "tools/call" and request is not None:
            name = own or json.dumps(request)
            exchange.call = CallName(link=session.link, request=name)
            self.waiting_calls.clear_cancelled(exchange.call)
        session.open.add(exchange)
        try:
            await self._manager.handle_request(exchange.scope, exchange.receive, exchange.send)
            await exchange.finish()
        finally:
            await self._settle(session, exchange)
            session.open.discard(exchange)
            session.used = self.clock.monotonic()
            exchange.ended.set()

    async def _settle(self, session: HttpSession, exchange: Exchange) -> None:
        """There is no link to confirm it: an answer that was written to a client which was still
        there counts as delivered. A client that has gone cannot come back for the response."""
        if self._closing:
            return
        message = exchange.message
        try:
            if exchange.call is not None and exchange.written:
                await self.waiting_calls.delivered(exchange.call)
            elif exchange.call is not None:
                if session.id is not None:  # without one the SDK sees it
                    params = {"requestId": exchange.request}
                    note = {"jsonrpc": "2.0", "method": CANCELLED, "params": params}
                    await self._say_for(session, "POST", json.dumps(note).encode())
                await self.waiting_calls.cancel(exchange.call)
            elif session.id and message.get("method") == CANCELLED:
                # The SDK tells a tool of this only while it runs.
                given = message.get("params")
                params = given if isinstance(given, dict) else {}
                name = CallName(link=session.link, request=json.dumps(params.get("requestId")))
                await self.waiting_calls.cancel(name, timed_out=speaks_of_time(params))
        except ChatbridgeError as error:
            log.warning("link %s: the end of a call is not noted: %s", session.link, error)

    async def _say_for(
        self, session: HttpSession, method: str = "DELETE", body: bytes = b""
    ) -> None:
        """Say for a client that has gone what it would say: that its session, or a call, ends."""
        assert session.id is not None
        headers = [
            (SESSION, session.id.encode("ascii")),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
        ]
        scope: Scope = {"type": "http", "method": method, "path": "/", "query_string": b""}
        scope["headers"] = headers
        self._identify(scope, session.token, link=session.link)
        await self._manager.handle_request(scope, replayed(body, nothing_more), unheard)

    def _identify(self, scope: Scope, token: Token, *, link: str) -> Remote:
        """For the SDK, which binds a session to its user, and for the tools."""
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=token.digest, scopes=[]))
        remote = Remote(link=link, project=project_of(token), usual=self.limit)
        scope[REMOTE] = remote
        return remote


def _rpc_refusal(status: int, problem: str) -> Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": problem}}
    return JSONResponse(error, status_code=status)
