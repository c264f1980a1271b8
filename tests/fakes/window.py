"""A client's own window in a test: it opens when a tool asks, and waits for what a person does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, ElicitResult, InputRequiredResult

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.elicitation import Elicitation, States
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.tools.question_ask import QuestionAsk
from chatbridge.tools.waiting import Waiting
from tests.fakes.core_env import World

PEER = Peer(agent=Agent(client="claude-code", name="Claude Code"), elicits=True)


class FormWindow:
    """`shown` is what the tool asked, once it did."""

    def __init__(self) -> None:
        self.shown: asyncio.Future[tuple[str, dict[str, Any]]] = _future()
        self.withdrawn = False
        self._reply: asyncio.Future[ElicitResult] = _future()

    async def elicit(self, message: str, schema: dict[str, Any]) -> ElicitResult:
        self.shown.set_result((message, schema))
        try:
            return await self._reply
        except asyncio.CancelledError:
            self.withdrawn = True
            raise

    def accept(self, **content: Any) -> None:
        self._done(ElicitResult(action="accept", content=content))

    def decline(self) -> None:
        self._done(ElicitResult(action="decline"))

    def dismiss(self) -> None:
        self._done(ElicitResult(action="cancel"))

    def fail(self, error: Exception) -> None:
        self._reply.set_exception(error)

    def _done(self, reply: ElicitResult) -> None:
        if not self._reply.done():  # one that was withdrawn takes nothing any more
            self._reply.set_result(reply)


class Questions:
    """`question_ask` in a world, with its journal."""

    def __init__(
        self, here: World, folder: Path, *, elicit: str = "chats", files: ToolFiles | None = None
    ) -> None:
        self.reach = Reach(shown=("web",))
        """Who can have seen its questions."""
        root, state = folder / "shop", folder / "state"
        for made in (root, state):
            made.mkdir(exist_ok=True)
        self.world = here
        self.root = root
        self.project = Project(key=str(root.resolve()), name="shop")
        self.journal = Journal(folder=".chatbridge/questions", state=state.resolve())
        self.keeper = JournalKeeper(self.journal, here.store)
        self.waiting = Waiting(here.broker, self._reached, files)
        self.elicitation = Elicitation(here.inbox)
        states = States(lambda: b"k" * 32)
        self.tool = QuestionAsk(self.waiting, self.elicitation, self.keeper, states, elicit=elicit)

    def call(self, number: int = 1, window: FormWindow | None = None, **more: Any) -> ToolCall:
        self.world.broker.waiting_calls.link_opened("link-1")
        return ToolCall(
            name=CallName(link="link-1", request=str(number)),
            id=f"call-{number}",
            clock=self.world.clock,
            report=None,
            elicit=window.elicit if window else None,
            **{"project": self.project, "peer": PEER, **more},
        )

    async def _reached(self, _ask_id: str) -> Reach:
        return self.reach

    def files(self) -> list[Path]:
        return sorted(self.root.glob(".chatbridge/questions/*.yaml"))


def said(result: CallToolResult | InputRequiredResult) -> dict[str, Any]:
    """A result's JSON."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result
    found: dict[str, Any] = result.structured_content
    return found


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()
