"""The MCP server: one for all sessions, and the one place where an exception becomes an MCP error.

Which tools a session sees depends on its project, and changes with the owner's definitions; what
they do is their own business.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, SubscriptionBus
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from chatbridge import __version__
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import CallName
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened
from chatbridge.projects import settings_of
from chatbridge.tool_names import resolve_name
from chatbridge.tools.call import (
    REMOTE,
    Caller,
    Peer,
    Remote,
    ToolCall,
    ToolHandler,
    ToolResult,
    text_result,
)
from chatbridge.tools.clients import HOOK
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import INSTRUCTIONS, Offer

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
SWITCHED_OFF = (
    "chatbridge is switched off in this project (enabled = false in its .chatbridge.toml), so "
    "nobody was asked. Ask in the conversation instead"
)
NO_TOOLS = (
    "chatbridge's settings switch all its tools off, so nobody was asked. Ask in the conversation "
    "instead"
)


def build_server(
    offer: Offer,
    *,
    waiting_calls: WaitingCalls,
    clock: Clock,
    messages: ToolMessages,
    after_call: Callable[[], None],
    spawn: Callable[[Any], None],
    missing: Callable[[str], str | None] = lambda name: None,
    changes: SubscriptionBus | None = None,
) -> Server[Any]:
    """`after_call` is told when a tool has run; `spawn` runs a coroutine beside the session, so
    that it outlives a cancelled call. `missing` knows why a tool is not there; `changes` tell
    clients of the era without a handshake of another list."""

    async def list_tools(
        ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        caller = _caller(ctx)
        peer = _peer(ctx, offer, caller)
        messages.seen(caller, peer.agent)
        return types.ListToolsResult(tools=offer.listed(caller.project, peer))

    async def call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        caller = _caller(ctx)
        peer = _peer(ctx, offer, caller)
        messages.seen(caller, peer.agent)
        call = _call(ctx, params, caller, peer, clock, waiting_calls)
        name = resolve_name(params.name, peer.agent.client)
        hook = peer.agent.client == HOOK and not isinstance(caller, Remote)
        known = (each for each in offer.tools() if hook or not each.for_hook)
        tool = next((each for each in known if each.name == name), None)
        try:
            result = await result_of(tool, params, call)
            return await messages.attach(result, call, tool)
        except asyncio.CancelledError:
            # Over HTTP the exchange says so, before its id can be used again; this would be later.
            if caller.present and not isinstance(caller, Remote):
                spawn(waiting_calls.cancel(call.name))
            raise
        finally:
            after_call()

    async def result_of(
        tool: ToolHandler | None, params: types.CallToolRequestParams, call: ToolCall
    ) -> ToolResult:
        """:raises MCPError: there is no such tool."""
        allowed = tool is not None and tool.always
        if not allowed and not settings_of(call.project.key).enabled:
            return text_result(SWITCHED_OFF, is_error=True)
        if tool is None:
            name = resolve_name(params.name, call.agent.client)
            if call.peer.local and (why := missing(name)) is not None:
                return text_result(why, is_error=True)
            names = [each.name for each in offer.listed(call.project, call.peer)]
            if not names:
                return text_result(NO_TOOLS, is_error=True)
            shown = shortened(repr(params.name), 120)
            unknown = f"Unknown tool: {shown}. There are: {', '.join(names)}"
            raise MCPError(types.INVALID_PARAMS, unknown)
        try:
            if call.age is not None and (left := call.counts_for) is not None:
                # An earlier hub noted it in wall time; the link knows better.
                await call.counts_until(waiting_calls, clock.time() + left)
            return await tool.run(params.arguments or {}, call)
        except ChatbridgeError as error:
            details = one_line(str(error))
            log.warning("Session failed call=%s tool=%s error=%s", call.id, tool.name, details)
            await waiting_calls.mark_failed(call.name)
            return tool.failed(error)
        except Exception:
            log.exception("Session failed call=%s tool=%s", call.id, tool.name)
            await waiting_calls.mark_failed(call.name)
            return text_result(
                f"chatbridge failed inside; its log has the details under call {call.id}. "
                "The question may have been shown: call again to go on with it",
                is_error=True,
            )

    async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        _caller(ctx).level = params.level
        return types.EmptyResult()

    async def discover(ctx: Context, params: types.RequestParams) -> types.DiscoverResult:
        """As the SDK's, but for log messages: in that era only calls ask for them, and none of ours
        has any."""
        found = server.get_capabilities(protocol_version=ctx.protocol_version)
        return types.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=found.model_copy(update={"logging": None}),
            instructions=INSTRUCTIONS,
        )

    server: Server[Any] = Server(
        "chatbridge",
        version=__version__,
        title="chatbridge",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(changes or InMemorySubscriptionBus()),
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.add_request_handler("server/discover", types.RequestParams, discover)
    server.middleware.clear()  # traces of every message, which nobody here collects
    return server


def _caller(ctx: Context) -> Caller:
    """A link's session is its own request; that of an agent over HTTP is in the request's scope."""
    given: Any = ctx.request
    scope = getattr(given, "scope", None)
    caller: Caller = given if scope is None else scope[REMOTE]
    return caller


def _peer(ctx: Context, offer: Offer, caller: Caller) -> Peer:
    given, capabilities = ctx.session.client_params, ctx.session.client_capabilities
    info = given.client_info if given else None
    return offer.peer(caller, info, capabilities, version=ctx.protocol_version)


def _call(
    ctx: Context,
    params: types.CallToolRequestParams,
    caller: Caller,
    peer: Peer,
    clock: Clock,
    waiting_calls: WaitingCalls,
) -> ToolCall:
    session, request = ctx.session, ctx.request_id

    async def report(progress: float, message: str) -> None:
        await session.report_progress(progress, message=message)

    async def elicit(message: str, schema: dict[str, Any]) -> types.ElicitResult:
        return await session.elicit_form(message, schema, request)

    named = caller.request if isinstance(caller, Remote) else None
    learns = peer.unknown and named is None
    given = params.input_responses or {}
    wants_progress = bool(ctx.meta and ctx.meta.get("progress_token") is not None)
    name = CallName(link=caller.link, request=named or json.dumps(request))
    return ToolCall(
        name=name,
        id=str(uuid.uuid4()),
        project=caller.project,
        peer=peer,
        clock=clock,
        folder=caller.folder,
        pid=caller.pid,
        report=report if wants_progress else None,
        elicit=elicit if peer.elicits and not peer.stateless else None,
        replies={k: v for k, v in given.items() if isinstance(v, types.ElicitResult)},
        state=params.request_state,
        age=caller.age(request),
        shared_link=named is not None,
        learned=lambda: waiting_calls.learned_limit(caller.link) if learns else None,
        cancelled=lambda: waiting_calls.is_cancelled(name),
    )
