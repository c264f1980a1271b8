"""Claude Code in front of `approve_tool_use` without a link, and its owner behind it, on one world.

Everything between them is real: the tool, the broker, the store, the intake.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp_types import CallToolResult, TextContent

from chatbridge.core.approval_rules import Rule
from chatbridge.core.asks.reach import Reach
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms import approval_form, form
from chatbridge.core.forms.form import AskMore
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Agent, Ask, CallName, Person, Project
from chatbridge.tools.approvals.tool import OUTCOME, ApproveToolUse
from chatbridge.tools.ask_user import AskUser, render_result
from chatbridge.tools.call import Peer, ToolCall, ToolHandler
from chatbridge.tools.clients import Client
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from tests.fakes.core_env import OWNER, PATIENCE, World

Json = dict[str, Any]
SHOP = Project(key="/src/shop", name="shop")
LIST: Json = {"tool_name": "Bash", "input": {"command": "ls -l", "description": "Lists files"}}
ALLOWED: Json = {"behavior": "allow", "updatedInput": LIST["input"]}


FOR_SESSION = (
    AskMore(step=0),
    form.Pick(step=1, option=approval_form.LASTING.index(None)),
    form.Choose(step=2, option=ALLOW_SESSION),
)


class ClaudeCode:
    def __init__(
        self,
        world: World,
        *,
        link: str = "link-1",
        project: Project = SHOP,
        name: str = "claude-code",
        client: Client | None = None,
        timeout: float | None = None,
        reach: Reach | None = None,
        folder: str | None = None,
        shared_link: bool = False,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        """`folder`: where it works; else in its project. `shared_link`: others use it."""
        self._shared_link = shared_link
        self.world = world
        self.folder = folder or project.key
        self.link = link
        self._project = project
        self._peer = Peer(agent=Agent(client=name, name="Claude Code"), client=client or Client())
        self._reach = reach or Reach(shown=("web",))
        self._numbers = itertools.count(1)
        waiting = Waiting(world.broker, self._reached)
        tools: list[ToolHandler] = [
            AskUser(waiting),
            WaitForAnswer(waiting, {AskUser.name: render_result}),
            ApproveToolUse(waiting, timeout=timeout, rules=rules),
        ]
        self._tools = {tool.name: tool for tool in tools}
        world.broker.waiting_calls.link_opened(link)

    async def call(
        self, tool: str, arguments: Json, *, number: int | None = None, delivered: bool = True
    ) -> CallToolResult:
        """The link confirms it, if it is `delivered`."""
        name = CallName(link=self.link, request=str(number or next(self._numbers)))
        call = ToolCall(
            name=name,
            id=f"call-{name.request}",
            project=self._project,
            peer=self._peer,
            report=None,
            clock=self.world.clock,
            folder=self.folder,
            shared_link=self._shared_link,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                result = await self._tools[tool].run(arguments, call)
        except ChatbridgeError as error:
            if tool != ApproveToolUse.name:
                raise
            await self.world.broker.waiting_calls.mark_failed(name)
            result = self._tools[tool].failed(error)
        assert isinstance(result, CallToolResult)
        if delivered:
            await self.world.broker.waiting_calls.delivered(name)
        return result

    async def wants(self, arguments: Json = LIST, **more: Any) -> CallToolResult:
        return await self.call("approve_tool_use", arguments, **more)

    @asynccontextmanager
    async def wanting(
        self, arguments: Json = LIST, **more: Any
    ) -> AsyncIterator[tuple[asyncio.Task[CallToolResult], Ask]]:
        """The waiting call, and its ask."""
        while not self.world.changes.empty():
            self.world.changes.get_nowait()  # of asks before this one
        waiting = asyncio.create_task(self.wants(arguments, **more))
        try:
            yield waiting, await self.world.until(lambda ask: ask.open)
        finally:
            waiting.cancel()
            await asyncio.wait({waiting})

    async def outwaited(self, call: asyncio.Task[CallToolResult]) -> CallToolResult:
        """What comes of it when time goes by and nobody does anything."""
        while not call.done():
            self.world.clock.advance(10.0)
            await asyncio.wait({call}, timeout=0.01)
        return await call

    async def gone(self) -> None:
        await self.world.broker.waiting_calls.link_closed(self.link)

    async def _reached(self, ask_id: str) -> Reach:
        return self._reach


def verdict(result: CallToolResult) -> Json:
    """The JSON that is the whole of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert result.structured_content is None
    found: Json = json.loads(block.text)
    return found


def denial(result: CallToolResult) -> tuple[str, str]:
    """How it came to be denied, and what the agent is told."""
    found = verdict(result)
    assert found.keys() == {"behavior", "message"}
    assert found["behavior"] == "deny"
    assert result.meta
    return str(result.meta[OUTCOME]), str(found["message"])


async def put(world: World, ask: Ask, *events: form.Event, person: Person = OWNER) -> form.Step:
    return await world.inbox.put(ask.id, *events, person=person)


async def allow(world: World, ask: Ask) -> form.Step:
    return await put(world, ask, form.Choose(step=0, option=ALLOW))


async def deny(world: World, ask: Ask) -> form.Step:
    return await put(world, ask, form.Choose(step=0, option=DENY))


async def deny_because(world: World, ask: Ask, reason: str) -> form.Step:
    return await put(world, ask, form.Other(step=0), form.Text(text=reason, step=1))


async def allow_for_session(world: World, ask: Ask) -> form.Step:
    """Exactly this, until the session ends."""
    return await put(world, ask, *FOR_SESSION)
