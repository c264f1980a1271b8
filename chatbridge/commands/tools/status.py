"""`status`: how operations are, without waiting for any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.commands.definitions.problems import Problem
from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.naming import ID_SCHEMA, ONE, one_named
from chatbridge.commands.tools.tool import Means, started_here
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation, Result, Stage
from chatbridge.tools.call import Peer, ToolCall, json_result
from chatbridge.tools.definition import described

MOST = 20
DESCRIPTION = """\
Look at operations: the commands that were started and go on in the background. Returns at once, \
always. Give an operationId for its status, exit code and output; leave it out for those on the \
way and the newest that have ended in this project. Use this whenever you want to know how a \
command is doing, between other work, and not `await`."""


class Status:
    name = "status"
    always = False

    def __init__(
        self, means: Means, problems: Callable[[], Sequence[Problem]], there: Callable[[], bool]
    ) -> None:
        """`problems` are those of the definitions; `there`: whether there is any command."""
        self._means = means
        self._problems = problems
        self._there = there

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        if not peer.local or not self._there():
            return None
        return described(
            self.name,
            title="Look at operations",
            description=DESCRIPTION,
            schema={
                "type": "object",
                "properties": {ONE: ID_SCHEMA},
                "additionalProperties": False,
            },
            read_only=True,
            idempotent=True,
            open_world=False,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        operations, now = self._means.operations, call.clock.time()
        if named := one_named(arguments):
            one = await self._so_far(await operations.find(named, project=call.project.key))
            file = self._means.file(one)
            return json_result(
                {"operations": [presentation.record(one, now, file=file, whole=True)]}
            )
        listed = await operations.listed(project=call.project.key, limit=MOST)
        found: presentation.Json = {
            "operations": [presentation.record(each, now) for each in listed]
        }
        if problems := self._problems():
            found["problems"] = [problem.as_json() for problem in problems[:MOST]]
        return json_result(found)

    async def _so_far(self, operation: Operation) -> Operation:
        """With what it has printed up to now."""
        if operation.stage is not Stage.RUNNING:
            return operation
        found = await self._means.outputs.printed(operation.id)
        result = Result(head=found.head, tail=found.tail, size=found.size)
        return replace(operation, result=result)
