"""Requests about messages to agents, in front of one world: without a socket, and as a process that
cannot be anybody's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbridge.attachments.project_files import open_in_project
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Agent, Project
from chatbridge.hub.control.messages import TerminalMessages
from chatbridge.hub.control.server import Request
from chatbridge.hub.links.peers import may_request
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.projects import project_of
from chatbridge.tools.attachments import ToolFiles
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.sample_store import SampleStore

Json = dict[str, Any]
ME = os.getuid()
CLAUDE = Agent(client="claude-code", name="Claude Code")
LARGEST = 1_000


@dataclass(slots=True)
class Desk:
    world: World
    messages: TerminalMessages
    shop: Project
    tasks: set[asyncio.Task[None]]

    @property
    def hooked(self) -> Json:
        """What a hook in the shop's folder says."""
        return {"link": "f" * 32, "cwd": self.shop.key, "client": "claude-code"}

    async def action(self, do: str, *, uid: int = ME, **given: Any) -> Json:
        """As a process that cannot be anybody's. :raises ChatbridgeError:"""
        assert may_request(do, uid)
        request = Request(do=do, given=given, uid=uid, pid=0)
        return await asyncio.wait_for(self.messages.answers[do](request), PATIENCE)

    async def tell(self, text: str, *, agent: str = "shop", uid: int = ME, **given: Any) -> Json:
        found = await self.action("tell", agent=agent, text=text, uid=uid, **given)
        message: Json = found["message"]
        return message

    def connect(self, link: str = "link-1", project: Project | None = None) -> None:
        self.world.inbox.messages.agents.seen(link, project or self.shop, CLAUDE)

    async def stored(self) -> list[OwnerMessage]:
        return list(await self.world.store.messages(limit=100))


@asynccontextmanager
async def desk(path: Path, *, writes: str = "anybody", system: bool = False) -> AsyncIterator[Desk]:
    async with world(path) as here, message_desk(here, path, writes=writes, system=system) as found:
        yield found


@asynccontextmanager
async def message_desk(
    here: World, path: Path, *, writes: str = "anybody", system: bool = False
) -> AsyncIterator[Desk]:
    (path / "shop" / ".git").mkdir(parents=True)
    tasks: set[asyncio.Task[None]] = set()
    store = here.inbox.attachments = SampleStore(path, clock=here.clock, largest=LARGEST)
    files = ToolFiles(
        store=store, open=open_in_project, most_data=500, own=(str(path / "secrets"),)
    )
    found = TerminalMessages(
        here.inbox,
        here.clock,
        lambda work: tasks.add(asyncio.ensure_future(work)),
        AgentProcesses(),
        files,
        writes=writes,
        system=system,
        reads_paths=not system,
    )
    try:
        yield Desk(here, found, project_of(str(path / "shop"), link="none"), tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
