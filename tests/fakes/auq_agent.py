"""An agent that calls auq's tools without a link, and a person who taps, on one world."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_types import CallToolResult, TextContent

from chatbridge.core.asks.reach import Reach
from chatbridge.core.forms import form
from chatbridge.core.model import Agent, Ask, CallName, Project
from chatbridge.tools import ask_user, auq
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.auq import AskUserQuestions, GetAnsweredQuestions, Limits
from chatbridge.tools.call import Peer, ToolCall, ToolHandler
from chatbridge.tools.clients import Client
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, PATIENCE, World

SHOP = Project(key="/src/shop", name="shop")
CODER = Agent(client="coder", name="Coder")
HASTY = Client(limit=60.0)
PATIENT_FOR = HASTY.patience(progress=False) or 0.0
"""How long a call of that client waits."""
Tap = Callable[[int], form.Event]
"""A tap on what the form shows at this step."""


class WatchedClock(StillClock):
    """Lets a test wait until somebody sleeps, so that moving time on wakes them."""

    def __init__(self) -> None:
        super().__init__()
        self._pauses: asyncio.Queue[float] = asyncio.Queue()

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        self._pauses.put_nowait(seconds)
        return super().sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Return once somebody has gone to sleep for so long."""
        async with asyncio.timeout(PATIENCE):
            while await self._pauses.get() != seconds:
                pass


class AuqAgent:
    def __init__(
        self,
        world: World,
        *,
        link: str = "link-1",
        project: Project = SHOP,
        client: Client | None = None,
        timeout: float | None = None,
        reach: Reach | None = None,
    ) -> None:
        self.world = world
        self.link = link
        self._project = project
        self._peer = Peer(agent=CODER, client=client or Client())
        self._reach = reach or Reach(shown=("web",))
        self._numbers = itertools.count(1)
        waiting = Waiting(world.broker, self._reached)
        renderers = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}
        tools: list[ToolHandler] = [
            AskUser(waiting),
            WaitForAnswer(waiting, renderers),
            AskUserQuestions(waiting, limits=Limits(questions=5, options=5), timeout=timeout),
            GetAnsweredQuestions(waiting, world.store),
        ]
        self._tools = {tool.name: tool for tool in tools}
        world.broker.waiting_calls.link_opened(link)

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The text that comes back, and whether it is an error. The link confirms it."""
        name = CallName(link=self.link, request=str(next(self._numbers)))
        call = ToolCall(
            name=name,
            id=f"call-{name.request}",
            project=self._project,
            peer=self._peer,
            report=None,
            clock=self.world.clock,
        )
        async with asyncio.timeout(PATIENCE):
            result = await self._tools[tool].run(arguments, call)
        assert isinstance(result, CallToolResult)
        assert result.structured_content is None
        (block,) = result.content
        assert isinstance(block, TextContent)
        await self.world.broker.waiting_calls.delivered(name)
        return block.text, bool(result.is_error)

    async def ask(self, arguments: dict[str, Any]) -> tuple[str, bool]:
        return await self.call("ask_user_questions", arguments)

    async def fetch(self, session: str, *, blocking: bool = False) -> tuple[str, bool]:
        arguments = {"session_id": session, "blocking": blocking}
        return await self.call("get_answered_questions", arguments)

    async def wait(self, ask: Ask, *, seconds: float | None = None) -> tuple[str, bool]:
        limit = {} if seconds is None else {"waitSeconds": seconds}
        return await self.call("wait_for_answer", {"askId": ask.id, **limit})

    async def asking(self, arguments: dict[str, Any]) -> tuple[asyncio.Task[tuple[str, bool]], Ask]:
        """The waiting call, and its ask, which is open."""
        call = asyncio.create_task(self.ask(arguments))
        return call, await self.world.until(lambda ask: ask.open)

    async def submitted(self, arguments: dict[str, Any]) -> Ask:
        """The ask of a call that does not wait."""
        await self.ask({**arguments, "nonBlocking": True})
        return await self.world.until(lambda ask: ask.open)

    async def gone(self) -> None:
        await self.world.broker.waiting_calls.link_closed(self.link)

    async def _reached(self, ask_id: str) -> Reach:
        return self._reach


async def tapped(world: World, ask: Ask, *taps: Tap) -> None:
    """What a person taps and types, each on what is shown then."""
    for tap in taps:
        step = (await world.now(ask)).draft.step
        led_to = await world.inbox.put(ask.id, tap(step), person=OWNER)
        assert not isinstance(led_to, form.Refused), led_to.why
