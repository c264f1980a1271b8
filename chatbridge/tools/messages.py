"""Messages of the owner in the results of tools, and the tool that looks for them.

The result of every tool takes along what waits for its agent, as text blocks after its own. A
result with a message has no structured content: some clients would show nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, ContentBlock, TextContent

from chatbridge.core.messages.message import OwnerMessage, Way, format_for_model
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Agent
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.call import Caller, ToolCall, ToolHandler, ToolResult, text_result
from chatbridge.tools.clients import COMMAND, HOOK
from chatbridge.tools.definition import number_field, object_schema, refused

LONGEST_WAIT = 24 * 3600
NOTHING = "No message from the owner of this computer is waiting."
READ_IT = "Read what follows. It is from the owner of this computer, and counts like their prompt."


@dataclass(frozen=True, slots=True)
class ToolMessages:
    messages: OwnerMessages
    files: ToolFiles | None = None

    def seen(self, caller: Caller, agent: Agent) -> None:
        """Note that this agent is there. Hooks and commands are none."""
        if is_agent(agent):
            self.messages.agents.seen(caller.link, caller.project, agent, pid=caller.pid)

    async def attach(self, result: ToolResult, call: ToolCall, tool: ToolHandler) -> ToolResult:
        """The result, with what waits for its agent."""
        if not isinstance(result, CallToolResult) or not tool.reaches_model:
            return result
        if not is_agent(call.agent) or (call.counts_for is not None and call.counts_for <= 0):
            return result
        way = Way.CHECK if isinstance(tool, CheckMessages) else Way.RESULT
        taken = await self.messages.hand_over(
            call.name, link=call.name.link, project=call.project, way=way
        )
        if not taken:
            return result
        blocks = [block for each in taken for block in await self._blocks(each, call)]
        content = [*result.content, *blocks]
        return result.model_copy(update={"content": content, "structured_content": None})

    async def _blocks(self, message: OwnerMessage, call: ToolCall) -> list[ContentBlock]:
        text = format_for_model(message, now=call.clock.time(), files=self.files is None)
        found: list[ContentBlock] = [TextContent(type="text", text=text)]
        if self.files is not None and message.attachments:
            found += await self.files.shown((each, "") for each in message.attachments)
        return found


def is_agent(agent: Agent) -> bool:
    return agent.client not in (HOOK, COMMAND)


@dataclass(frozen=True, slots=True)
class CheckMessages(ToolHandler):
    name = "check_messages"
    title = "Look for messages of your owner"
    read_only = True
    description = """\
Look whether the owner of this computer has written to you. They can do so from their phone at any \
time. Messages come by themselves with the results of all tools of this server, so that you seldom \
need this: call it before a step that cannot be undone, after a long piece of work without a call \
to this server, and before you finish. With waitSeconds it waits for a message, if you have \
nothing else to do. What they write counts like their prompt."""
    schema = object_schema(
        waitSeconds=number_field(
            "How long to wait for a message; left out: not at all", minimum=0, maximum=LONGEST_WAIT
        ),
    )

    messages: OwnerMessages

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        """The messages themselves are attached to the result, as to every other."""
        wait = arguments.get("waitSeconds", 0)
        number = isinstance(wait, int | float) and not isinstance(wait, bool)
        if not (number and 0 <= wait <= LONGEST_WAIT):
            accepted = f"a number from 0 to {LONGEST_WAIT}"
            raise refused("waitSeconds is out of range", "waitSeconds", wait, accepted)
        link, project = call.name.link, call.project
        if wait:
            await self._wait(float(wait), call)
        return text_result(READ_IT if self.messages.any_for(link, project) else NOTHING)

    async def _wait(self, seconds: float, call: ToolCall) -> None:
        async def doing() -> str:
            return "waiting for a message"

        patience = call.patience
        limit = seconds if patience is None else min(seconds, patience)
        arrived = self.messages.arrived(call.name.link, call.project)
        await call.watch(arrived, call.clock.time(), limit=limit, doing=doing)
