"""How every tool that asks waits: until the ask has ended, or until its client would give up.

What is said then is each tool's own: its outcome, or its ticket.
"""

from __future__ import annotations

import logging

from chatbridge.core.broker import Broker
from chatbridge.core.model import Ask, AskRequest, Call
from chatbridge.core.reach import Reach, Reached
from chatbridge.tools.call import ToolCall

log = logging.getLogger(__name__)


class Waiting:
    def __init__(self, broker: Broker, reached: Reached) -> None:
        """`reached` says who can have seen an ask."""
        self.broker = broker
        self._reached = reached

    async def ask(self, request: AskRequest, call: ToolCall) -> tuple[Ask, Call]:
        """The ask that this call waits for. :raises TooManyOpenAsks:"""
        ask, waiting = await self.broker.ask(request, call.name, counts_for=call.counts_for)
        log.info("ask %s call=%s project=%s", ask.id, call.id, call.project.name)
        return ask, waiting

    async def ended(
        self, ask: Ask, waiting: Call, call: ToolCall, *, limit: float | None
    ) -> Ask | None:
        """The ask once it has ended; None if the limit or the client's own comes first."""
        ended: Ask | None = ask
        if ask.open:
            limits = (limit, self.broker.policy.max_block, call.patience)
            least = min((one for one in limits if one is not None), default=None)

            async def where() -> str:
                return (await self._reached(ask.id)).places

            ended = await call.watch(self.broker.ended(ask.id), waiting, limit=least, where=where)
        if ended is not None:
            log.info("Session completed successfully session=%s call=%s", ask.id, call.id)
        return ended

    async def reach(self, ask: Ask) -> Reach:
        return await self._reached(ask.id)
