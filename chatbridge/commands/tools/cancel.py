"""`cancel`: ends an operation. To give up the call that started it is another thing, and ends
nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.naming import ID_SCHEMA, ONE, one_named, required
from chatbridge.commands.tools.tool import Means, started_here
from chatbridge.core.model import Project
from chatbridge.core.text import one_line, shortened
from chatbridge.tools.call import Peer, ToolCall, json_result
from chatbridge.tools.definition import described, refused

LONGEST_REASON = 200
DESCRIPTION = """\
End an operation that is on the way, with every process that it has started. What it has done so \
far stays done. Tells you whether it was cancelled or had ended before."""


class Cancel:
    name = "cancel"
    always = False

    def __init__(self, means: Means, there: Callable[[], bool]) -> None:
        """`there`: whether there is any command."""
        self._means = means
        self._there = there

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        if not peer.local or not self._there():
            return None
        return described(
            self.name,
            title="End an operation",
            description=DESCRIPTION,
            schema={
                "type": "object",
                "properties": {
                    ONE: ID_SCHEMA,
                    "reason": {"type": "string", "description": "Why; it is kept with its result"},
                },
                "required": [ONE],
                "additionalProperties": False,
            },
            idempotent=True,
            open_world=False,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        named, reason = one_named(arguments), arguments.get("reason")
        if named is None:
            raise required(ONE)
        if reason is not None and not isinstance(reason, str):
            raise refused("Validation error: reason is not valid", "reason", reason, "a text")
        operations, project = self._means.operations, call.project.key
        found = await operations.find(named, project=project)
        why = shortened(one_line(reason), LONGEST_REASON) if reason else None
        with self._means.pushes.quiet(found.id):
            ended, by_this = await operations.cancel(found.id, project=project, reason=why)
        said = (
            f"{ended.title} is cancelled"
            if by_this
            else f"It had ended: {presentation.sentence(ended)}"
        )
        record = presentation.record(ended, call.clock.time())
        return json_result({"cancelled": by_this, "message": said, **record})
