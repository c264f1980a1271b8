"""An agent that comes back with a new link while its old one has not come to its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from anyio import CancelScope

from chatbridge.core.asks.reach import Reach
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.call import ToolCall, ToolHandler, ToolResult, text_result
from chatbridge.tools.definition import object_schema
from chatbridge.tools.waiting import Waiting
from tests.fakes.core_env import world
from tests.fakes.link_server import Link, door


class Slow(ToolHandler):
    """One that does not end at once when it is cancelled, as with a store that is slow."""

    name = title = description = "slow"
    schema = object_schema()

    def __init__(self) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> ToolResult:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            with CancelScope(shield=True):
                await self.may_end.wait()
        return text_result("")


async def test_an_agent_is_not_asked_twice(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # both links are of one project
    async with world(tmp_path) as hub:

        async def nobody(_: str) -> Reach:
            return Reach()

        slow = Slow()
        tools = (AskUser(Waiting(hub.broker, nobody)), slow)
        async with door(hub, tmp_path / "s", tools=tools):
            old = await Link.connect(tmp_path / "s", cwd=str(tmp_path))
            await old.hear()
            await old.ask(1)
            first = await hub.until(lambda ask: ask.open)
            call = {"name": "slow", "arguments": {}}
            old.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
            await slow.began.wait()
            old.close()
            new = await Link.connect(tmp_path / "s", cwd=str(tmp_path), link="b" * 32)
            await new.hear()
            await new.ask(1)
            asked = await hub.until(lambda ask: ask.open)
            slow.may_end.set()
            assert asked.id == first.id
            new.close()
