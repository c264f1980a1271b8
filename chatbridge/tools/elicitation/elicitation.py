"""The client's own window beside the chats: an ask is shown in both, and the first answer wins.

Owns what becomes of the client's reply. Which of the two came first is decided where every end of
an ask is decided; the window that lost is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp_types import ElicitResult
from pydantic import ValidationError

from chatbridge.core.cards.outcome_text import WINDOW
from chatbridge.core.errors import AskEnded, InvalidAnswer, StoreError, UnknownAsk
from chatbridge.core.model import Answer, Ask
from chatbridge.core.ports import Clock, Inbox
from chatbridge.tools.call import Elicit, ToolCall

log = logging.getLogger(__name__)

INSTANT = 1.0
"""Nobody declines as quickly as this: the client did it by itself."""
RETRY = 1.0
DECLINED = "declined in the agent's window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A form for the client, and what its replies mean. A reason cancels the ask; without one the
    chats go on."""

    message: str
    schema: dict[str, Any]
    read: Callable[[Mapping[str, Any]], tuple[Answer, ...]]
    """The form's content as answers. :raises InvalidAnswer:"""
    dismissed: str | None = None
    """The reason where the person closed the window."""
    unfit: str | None = None
    """The reason where the form came back without what it asked for."""


class Elicitation:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._putting: set[asyncio.Future[None]] = set()

    @asynccontextmanager
    async def beside(
        self, ask: Ask, call: ToolCall, window: Window
    ) -> AsyncIterator[asyncio.Future[None] | None]:
        """Show the window while the ask is waited for; withdraw it then. Yields what is done once
        the window is closed; None if there is none."""
        if not ask.open or call.elicit is None:
            yield None
            return
        showing = asyncio.ensure_future(self._show(ask, call, call.elicit, window))
        try:
            yield showing
        finally:
            showing.cancel()
            await asyncio.wait({showing})
            if not showing.cancelled() and (error := showing.exception()) is not None:
                log.error("ask %s: its window failed", ask.id, exc_info=error)

    async def _show(self, ask: Ask, call: ToolCall, elicit: Elicit, window: Window) -> None:
        began = call.clock.monotonic()
        try:
            reply = await elicit(window.message, window.schema)
        except (MCPError, ValidationError) as error:
            log.info("ask %s: the client shows no form, the chats go on: %s", ask.id, error)
            return
        instant = call.clock.monotonic() - began < INSTANT
        putting = asyncio.ensure_future(
            self.put(ask, reply, window, instant=instant, clock=call.clock)
        )
        self._putting.add(putting)
        putting.add_done_callback(self._putting.discard)
        await asyncio.shield(putting)  # what the person has said counts, whatever the call does

    async def put(
        self, ask: Ask, reply: ElicitResult, window: Window, *, instant: bool, clock: Clock
    ) -> None:
        """Have the client's reply count, if it is the first."""
        if reply.action == "accept":
            try:
                answers = window.read(reply.content or {})
            except InvalidAnswer as error:
                log.info("ask %s: the client's form does not fit: %s", ask.id, error)
                reason = window.unfit
            else:
                await _persist(clock, lambda: self._inbox.answer(ask.id, answers, person=WINDOW))
                return
        elif instant:
            log.info("ask %s: the client declines by itself, the chats go on", ask.id)
            return
        else:
            reason = DECLINED if reply.action == "decline" else window.dismissed
        if reason is not None:
            await _persist(clock, lambda: self._inbox.cancel(ask.id, reason=reason, person=WINDOW))


async def _persist(clock: Clock, put: Callable[[], Awaitable[Ask]]) -> None:
    """The client replies once: a full disk must not lose it."""
    while True:
        try:
            await put()
        except (AskEnded, UnknownAsk):
            return  # the chats were first
        except StoreError as error:
            log.warning("a reply of the client is not stored yet, trying again: %s", error)
            await clock.sleep(RETRY)
        else:
            return
