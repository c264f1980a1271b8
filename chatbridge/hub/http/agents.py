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
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from chatbridge.channels.web.server import serving
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import CallName
from chatbridge.core.ports import Clock
from chatbridge.framing import MAX_LINE
from chatbridge.hub.http.guard import Guesses, HttpGuard, Names, refused, token_of
from chatbridge.hub.http.sessions import MAX_OPEN, Exchange, HttpSession, HttpSessions, project_of
from chatbridge.hub.http.tokens import Token, Tokens
from chatbridge.hub.http.wire import (
    STOPPING,
    Wire,
    message_problem,
    nothing_more,
    parsed,
    read_body,
    repaired,
    replayed,
    unheard,
)
from chatbridge.hub.links.session import speaks_of_time
from chatbridge.tools.call import REMOTE, Remote

log = logging.getLogger(__name__)

BODY_SECONDS = 30.0
"""How long a request's body may take to arrive."""
SESSION = b"mcp-session-id"
WHO = "MCP over HTTP"


class HttpAgents:
    def __init__(
        self,
        server: Server[Any],
        waiting_calls: WaitingCalls,
        *,
        tokens: Tokens,
        clock: Clock,
        limit: float,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """`limit`: after how long a client of which nothing is known gives a call up."""
        self._waiting_calls = waiting_calls
        self._tokens = tokens
        self._clock = clock
        self._limit = limit
        self._body_seconds = body_seconds
        self._manager = StreamableHTTPSessionManager(
            server, session_idle_timeout=None, max_request_body_size=MAX_LINE, max_sessions=None
        )
        self._sessions = HttpSessions(
            waiting_calls, tokens=tokens, clock=clock, discard=self._discard_session
        )
        self._open: Counter[Token] = Counter()
        self._closing = False

    def projects(self) -> list[str]:
        """The tokens whose agents are connected now."""
        return sorted({session.token.name for session in self._sessions})

    @asynccontextmanager
    async def serving(self, listener: socket.socket, names: Names) -> AsyncIterator[None]:
        """Serve at the socket until the block ends."""
        guard = HttpGuard(
            self,
            names=names,
            tokens=self._tokens,
            guesses=Guesses(self._clock),
            clock=self._clock,
        )
        async with self._running_manager():
            try:
                async with serving(guard, listener, WHO):
                    try:
                        yield
                    finally:
                        self._mute()
            finally:
                await self._sessions.close()
                for session in self._sessions:
                    if session.id is not None:
                        # Else the SDK tries for a second to answer calls that nobody waits for.
                        await self._discard_session(session)

    @asynccontextmanager
    async def _running_manager(self) -> AsyncIterator[None]:
        """In a task of its own: the SDK must leave its sessions in the task that entered them."""
        begun, over = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with self._manager.run():
                begun.set()
                await over.wait()

        running = asyncio.ensure_future(run())
        await begun.wait()
        try:
            yield
        finally:
            over.set()
            await running

    def _mute(self) -> None:
        """From now on nobody counts as cancelled: their questions go on with the next hub."""
        self._closing = True
        for session in self._sessions:
            for exchange in session.open:
                exchange.remote.present = False
                exchange.cut.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = token_of(scope)
        self._open[token] += 1
        try:
            await self._serve(token, scope, receive, send)
        except Refused as refusal:
            await refusal.response(scope, receive, send)
        finally:
            self._open -= Counter((token,))

    async def _serve(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """:raises Refused:"""
        if self._closing:
            raise Refused(refused(503, STOPPING))
        if self._open[token] > MAX_OPEN:
            problem = "This token has too many open requests."
            raise Refused(refused(429, problem, **{"retry-after": "5"}))
        headers = Headers(scope=scope)
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(headers, receive)
        except TimeoutError:
            raise Refused(refused(408, "The request took too long to arrive.")) from None
        except ClientDisconnect:
            return
        if body is None:
            raise Refused(refused(413, f"A request has at most {MAX_LINE:,} bytes."))
        message = parsed(body)
        unfit = message_problem(message) if scope["method"] == "POST" else None
        if unfit is not None:
            raise _rpc_refusal(400, unfit)
        body = repaired(body)
        version, named = headers.get("mcp-protocol-version"), headers.get("mcp-session-id")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            session = self._sessions.without_id(token)
        elif named is None:
            await self._open_session(token, scope, body, message, receive, send)
            return
        elif (found := self._sessions.of(named, token)) is not None:
            session = found
        else:
            raise _rpc_refusal(404, "Session not found")
        if session.id and "method" in message and session.busy_with(message.get("id")):
            raise _rpc_refusal(409, "A request with this id is still open in this session")
        await self._exchange(session, message, body, scope, receive, send)
        if session.id and scope["method"] == "DELETE":
            await self._sessions.end(session)

    async def _open_session(
        self,
        token: Token,
        scope: Scope,
        body: bytes,
        message: dict[str, Any],
        receive: Receive,
        send: Send,
    ) -> None:
        """Without a session only `initialize` can succeed; the SDK says so to everything else."""
        if message.get("method") == "initialize" and not await self._sessions.make_room(token):
            problem = "This token has too many sessions."
            raise Refused(refused(429, problem, **{"retry-after": "60"}))

        async def noting(given: Message) -> None:
            if given["type"] == "http.response.start" and given["status"] < 400:
                for name, value in given["headers"]:
                    if name.lower() == SESSION:
                        self._sessions.opened(value.decode("ascii"), token)
            await send(given)

        _identify(scope, token, Remote(link="", project=project_of(token), usual=self._limit))
        await self._manager.handle_request(scope, replayed(body, receive), noting)

    async def _exchange(
        self,
        session: HttpSession,
        message: dict[str, Any],
        body: bytes,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        own = secrets.token_hex(8) if session.id is None else None
        remote = Remote(
            link=session.link,
            project=project_of(session.token),
            usual=self._limit,
            request=own,
            present=not self._closing,
        )
        request = message.get("id") if "method" in message else None
        exchange = Exchange(remote, request=request)
        if message.get("method") == "tools/call" and request is not None:
            name = own or json.dumps(request)
            exchange.call = CallName(link=session.link, request=name)
            self._waiting_calls.clear_cancelled(exchange.call)
        _identify(scope, session.token, remote)
        wire = Wire(exchange, replayed(body, receive), send)
        session.open.add(exchange)
        try:
            await self._manager.handle_request(scope, wire.receive, wire.send)
            await wire.finish(scope)
        finally:
            await self._settle(session, exchange, message, written=wire.written)
            session.open.discard(exchange)
            session.used = self._clock.monotonic()
            exchange.ended.set()

    async def _settle(
        self,
        session: HttpSession,
        exchange: Exchange,
        message: dict[str, Any],
        *,
        written: bool,
    ) -> None:
        """There is no link to confirm it: an answer that was written to a client which was still
        there counts as delivered. A client that has gone cannot come back for the response."""
        if self._closing:
            return
        try:
            if exchange.call is not None and written:
                await self._waiting_calls.delivered(exchange.call)
            elif exchange.call is not None:
                await self._cancel(session, exchange.request)
                await self._waiting_calls.cancel(exchange.call)
            elif session.id and message.get("method") == "notifications/cancelled":
                # The SDK tells a tool of this only while it runs.
                given = message.get("params")
                params = given if isinstance(given, dict) else {}
                name = CallName(link=session.link, request=json.dumps(params.get("requestId")))
                await self._waiting_calls.cancel(name, timed_out=speaks_of_time(params))
        except ChatbridgeError as error:
            log.warning("link %s: the end of a call is not noted: %s", session.link, error)

    async def _cancel(self, session: HttpSession, request: object) -> None:
        """Say for a client that has gone what it would say. Without a session the SDK sees it."""
        if session.id is not None:
            note = {"method": "notifications/cancelled", "params": {"requestId": request}}
            await self._say_for(session, "POST", json.dumps({"jsonrpc": "2.0", **note}).encode())

    async def _discard_session(self, session: HttpSession) -> None:
        await self._say_for(session, "DELETE", b"")

    async def _say_for(self, session: HttpSession, method: str, body: bytes) -> None:
        assert session.id is not None
        headers = {
            SESSION: session.id.encode("ascii"),
            b"content-type": b"application/json",
            b"accept": b"application/json, text/event-stream",
        }
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": "/",
            "query_string": b"",
            "headers": list(headers.items()),
        }
        remote = Remote(link=session.link, project=project_of(session.token), usual=self._limit)
        _identify(scope, session.token, remote)
        await self._manager.handle_request(scope, replayed(body, nothing_more), unheard)


def _identify(scope: Scope, token: Token, remote: Remote) -> None:
    """For the SDK, which binds a session to its user, and for the tools."""
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=token.digest, scopes=[]))
    scope[REMOTE] = remote


class Refused(Exception):
    """The request is answered with this response, and not passed on."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


def _rpc_refusal(status: int, problem: str) -> Refused:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": problem}}
    return Refused(JSONResponse(error, status_code=status))
