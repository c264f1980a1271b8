"""One tool call as a tool sees it: who calls, under which name, and a way to show that it waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_types import CallToolResult, TextContent, Tool

from chatbridge.core.model import Agent, Ask, Call, CallName, Project

HEARTBEAT = 15.0


class Caller(Protocol):
    """The link, or whatever else a session belongs to."""

    link: str
    project: Project

    @property
    def present(self) -> bool:
        """Whether the connection is up; a call that is cut off then was cancelled by its client."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    name: CallName
    id: str
    project: Project
    agent: Agent
    report: Callable[[float, str], Awaitable[None]] | None
    """Sends progress; None if the client did not ask for it."""

    async def watch(
        self, waiting: Awaitable[Ask], call: Call, *, limit: float | None
    ) -> Ask | None:
        """The ask once it has ended; None if the limit comes first. Meanwhile the client is shown
        that the call is alive."""
        task = asyncio.ensure_future(waiting)
        loop = asyncio.get_running_loop()
        until = None if limit is None else loop.time() + limit
        # Waited since the call came, also to an earlier hub; a stepped clock cannot turn it back.
        began = loop.time() - max(time.time() - call.started_at, 0.0)
        try:
            while not task.done():
                pause = None if self.report is None else HEARTBEAT
                if until is not None:
                    left = max(until - loop.time(), 0.0)
                    if not left:
                        return None
                    pause = left if pause is None else min(pause, left)
                await asyncio.wait({task}, timeout=pause)
                if self.report is not None and not task.done():
                    waited = loop.time() - began
                    await self.report(waited, f"waiting for an answer, {_spoken(waited)}")
            return task.result()
        finally:
            task.cancel()


class ToolHandler(Protocol):
    """One MCP tool."""

    name: str

    def definition(self, project: Project) -> Tool:
        """How the tool describes itself to a client that works in this project."""
        ...

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        """:raises ChatbridgeError: becomes a tool result with `isError`."""
        ...


def text_result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


def _spoken(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{int(seconds)} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
