"""How every tool that asks ends: with the outcome, or with a ticket if its limit comes first."""

from __future__ import annotations

import logging

from mcp_types import CallToolResult

from chatbridge.core.broker import Broker
from chatbridge.core.model import Ask, Call
from chatbridge.tools.call import ToolCall
from chatbridge.tools.outcomes import result_of, ticket_of

log = logging.getLogger(__name__)


async def awaited(
    broker: Broker, ask: Ask, waiting: Call, call: ToolCall, *, limit: float | None
) -> CallToolResult:
    """The ask's result once it has ended; after `limit` seconds a ticket. None: no limit."""
    ended: Ask | None = ask
    if ask.open:
        ended = await call.watch(broker.ended(ask.id), waiting, limit=limit)
    if ended is None:
        await broker.callers.ticket(call.name)
        return ticket_of(ask)
    log.info("Session completed successfully session=%s call=%s", ask.id, call.id)
    return result_of(ended, waiting)
