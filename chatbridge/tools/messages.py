"""Messages of the owner in the results of tools, and the tool that looks for them.

The result of every tool takes along what waits for its agent, as text blocks after its own. A
result with a message has no structured content: some clients would show nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, ContentBlock, TextContent

from chatbridge.core.messages.message import OwnerMessage, Way, format_for_model
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Agent
from chatbridge.core.text import size_as_json
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.call import Caller, ToolCall, ToolHandler, ToolResult, text_result
from chatbridge.tools.clients import COMMAND, HOOK, soonest
from chatbridge.tools.definition import number_field, object_schema, refused

log = logging.getLogger(__name__)

LONGEST_WAIT = 24 * 3600
MAX_RESULT_BYTES = 4_000_000
"""Of a result with its messages, as JSON: a link takes lines of 4 MiB."""
NOTHING = "No message from the owner of this computer is waiting."


@dataclass(frozen=True, slots=True)
class ToolMessages:
    messages: OwnerMessages
    files: ToolFiles | None = None

    def seen(self, caller: Caller, agent: Agent) -> None:
        """Note that this agent is there. Hooks and commands are none."""
        if is_agent(agent):
            self.messages.agents.seen(caller.link, caller.project, agent, pid=caller.pid)

    async def attach(
        self, result: ToolResult, call: ToolCall, tool: ToolHandler | None
    ) -> ToolResult:
        """The result, with what waits for its agent. Errors take it along, too: models read
        them."""
        link, project, counts_for = call.name.link, call.project, call.counts_for
        if not self.messages.any_for(link, project, to=call.name):
            return result
        if not is_agent(call.agent) or not (tool is None or tool.reaches_model):
            return result
        if not isinstance(result, CallToolResult) or (counts_for is not None and counts_for <= 0):
            if any(each.handed_to == call.name for each in self.messages.waiting()):
                await self.messages.cancelled(call.name)  # only an earlier run had them
            return result
        checks = isinstance(tool, CheckMessages) and not result.is_error
        room = MAX_RESULT_BYTES - len(result.model_dump_json().encode())
        taken = await self.messages.hand_over(
            call.name,
            link=link,
            project=project,
            way=Way.CHECK if checks else Way.RESULT,
            room=room,
            counts_for=counts_for,
            cancelled=call.cancelled,
        )
        if not taken:
            return result
        own = [] if checks else result.content
        content = [*own, *await self._blocks(taken, call, room)]
        return result.model_copy(update={"content": content, "structured_content": None})

    async def _blocks(
        self, taken: Sequence[OwnerMessage], call: ToolCall, room: int
    ) -> list[ContentBlock]:
        found: list[ContentBlock] = []
        left = room - sum(size_as_json(each.text) for each in taken)
        for message in taken:
            shown: list[ContentBlock] = []
            if self.files is not None and message.attachments:
                try:
                    files = ((each, "") for each in message.attachments)
                    shown = await self.files.shown(files, left=left)
                except Exception:  # what is taken must not get lost
                    log.exception("files of message %s cannot be shown", message.id)
            left -= sum(len(each.model_dump_json().encode()) for each in shown)
            text = format_for_model(message, now=call.clock.time(), files=not shown)
            found += TextContent(type="text", text=text), *shown
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
    max_block: float | None = None
    """Seconds that a call may wait; None: as long as its client does."""

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        """`ToolMessages` replaces this by the messages, if there are any."""
        wait = arguments.get("waitSeconds", 0)
        number = isinstance(wait, int | float) and not isinstance(wait, bool)
        if not (number and 0 <= wait <= LONGEST_WAIT):
            accepted = f"a number from 0 to {LONGEST_WAIT}"
            raise refused("waitSeconds is out of range", "waitSeconds", wait, accepted)
        if wait:
            await self._wait(float(wait), call)
        return text_result(NOTHING)

    async def _wait(self, seconds: float, call: ToolCall) -> None:
        async def doing() -> str:
            return "waiting for a message"

        limit = soonest(seconds, self.max_block, call.patience)
        arrived = self.messages.arrived(call.name.link, call.project, to=call.name)
        await call.watch(arrived, call.clock.time(), limit=limit, doing=doing)
