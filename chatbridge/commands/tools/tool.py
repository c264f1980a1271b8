"""The MCP tool of one command: its call becomes an operation, which goes on by itself.

Owns what such a call returns: at once where the command is asynchronous, the output where it is
synchronous. What is run is put together by the neighbours, and kept track of by `operations`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from mcp_types import CallToolResult, Tool

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.arguments.input_schema import description_of, schema_of
from chatbridge.commands.arguments.working_directory import folder_of, project_folder
from chatbridge.commands.definitions.command import Command
from chatbridge.commands.operations.gate import Gate
from chatbridge.commands.operations.operations import Operations
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.errors import CommandUnusable
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.tools.call import Peer, ToolCall, json_result, text_result
from chatbridge.tools.clients import soonest
from chatbridge.tools.definition import described

MOST_OTHERS = 20
ONCE = "once-per-session"
FOLLOW = "Go on with other work. {told}Look at it with status, which never waits."
TOLD = "You are told when it ends. "
ASKED = "A person is asked to allow it, and nothing has been started yet. "
GOES_ON = "It takes longer than this call can wait, and goes on by itself. "
ENDED = "It has ended. Call status with this operationId for its output."


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the tools of all commands work with."""

    operations: Operations
    gate: Gate
    pushes: Pushes
    outputs: Outputs
    programs: Programs
    max_block: float | None = None
    """After how long the owner wants a waiting call to return."""

    def limit(self, call: ToolCall, wanted: float | None = None) -> float | None:
        """How long a call may wait."""
        return soonest(wanted, self.max_block, call.patience)

    def file(self, operation: Operation) -> Path | None:
        """Where its whole output is; None: nowhere, or no longer."""
        path = self.outputs.path(operation.id)
        return path if path.exists() else None


def started_here(call: ToolCall) -> str:
    """The folder of an agent on this machine. :raises CommandUnusable: it is elsewhere."""
    if call.folder is None:
        raise CommandUnusable(
            "commands are for agents that were started on the machine of their owner. Nothing was "
            "done"
        )
    return call.folder


class CommandTool:
    always = False

    def __init__(self, command: Command, means: Means) -> None:
        self.name = command.tool
        self._command = command
        self._means = means

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        """Commands run on this machine, so they are for agents that do."""
        if not peer.local:
            return None
        command = self._command
        return described(
            self.name,
            title=command.title,
            description=description_of(command, pushed=not peer.stateless),
            schema=schema_of(command),
            read_only=command.read_only,
            destructive=command.destructive,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        begun = await self._means.operations.begin(await self._operation(arguments, call))
        if not self._command.synchronous:
            return await self._started(begun, call)
        return await self._waited(begun, call)

    async def _operation(self, arguments: dict[str, Any], call: ToolCall) -> Operation:
        """Not recorded yet."""
        command = self._command
        operation = Operation(
            id=str(uuid4()),
            call=call.name,
            project=call.project,
            agent=call.agent,
            tool=self.name,
            title=command.title,
            group=command.group,
            plan=await asyncio.to_thread(self._plan, arguments, call),
            created_at=call.clock.time(),
            stage=Stage.QUEUED,
            grant=command.grant if command.approve == ONCE else None,
        )
        if await self._means.gate.needed(operation, command.approve):
            return replace(operation, stage=Stage.AWAITING_APPROVAL)
        return operation

    def _plan(self, arguments: dict[str, Any], call: ToolCall) -> Plan:
        """Looks at the disk. :raises ToolInputError: :raises CommandUnusable:"""
        command, means = self._command, self._means
        key, started_in = call.project.key, started_here(call)
        project = project_folder(project_key=key, started_in=started_in)
        folder = folder_of(command, arguments, project_key=key, started_in=started_in)
        return Plan(
            argv=argv_of(command, arguments, project=project, folder=folder),
            executable=means.programs.find(command.argv[0], project=project),
            folder=str(folder),
            environment=command.environment,
            timeout=command.timeout,
            output_limit=command.output_limit,
            concurrency=command.concurrency,
            synchronous=command.synchronous,
            destructive=command.destructive,
        )

    async def _started(self, operation: Operation, call: ToolCall, why: str = "") -> CallToolResult:
        listed = await self._means.operations.listed(project=call.project.key, limit=MOST_OTHERS)
        follow = why + FOLLOW.format(told="" if call.peer.stateless else TOLD)
        if operation.ended:
            follow = ENDED
        elif operation.stage is Stage.AWAITING_APPROVAL:
            follow = ASKED + follow
        return json_result(
            presentation.started(
                operation,
                call.clock.time(),
                hints=self._command.hints,
                others=listed,
                follow=follow,
            )
        )

    async def _waited(self, operation: Operation, call: ToolCall) -> CallToolResult:
        """What it printed, if it ends before its caller loses patience."""
        ended = await self._ended(operation, call)
        if not ended.ended:
            return await self._started(ended, call, GOES_ON)
        output, said = (
            presentation.printed(ended, self._means.file(ended)),
            presentation.sentence(ended),
        )
        if ended.stage is Stage.SUCCEEDED:
            return text_result(output)
        return text_result(
            f"{said}\n{output}" if ended.started_at is not None else said, is_error=True
        )

    async def _ended(self, operation: Operation, call: ToolCall) -> Operation:
        """As it is when it has ended, or when the call cannot wait any longer."""
        operations, pushes = self._means.operations, self._means.pushes

        async def now() -> Operation:
            return await operations.find(operation.id, project=call.project.key)

        async def doing() -> str:
            return presentation.on_the_way(await now(), call.clock.time())

        ended = None
        try:
            with pushes.quiet(operation.id):
                ended = await call.watch(
                    operations.ended(operation.id),
                    operation.created_at,
                    limit=self._means.limit(call),
                    doing=doing,
                )
        finally:
            if ended is None and operations.on_the_way(operation.id):
                pushes.left(operation.id)
        return ended or await now()
