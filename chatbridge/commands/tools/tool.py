"""The MCP tool of one command. A call starts an operation, which continues by itself.

The call of an asynchronous command returns at once; that of a synchronous one returns the output.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from mcp_types import CallToolResult, Tool

from chatbridge.commands.arguments.argv import (
    accepts_empty,
    argv_of,
    folder_of,
    items_of,
    plain_number,
    project_folder,
)
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.definition import (
    ARGUMENT,
    PROJECT,
    WORKING_DIRECTORY,
    Command,
    Option,
    Value,
)
from chatbridge.commands.definitions.library import Library
from chatbridge.commands.operations.gate import Gate
from chatbridge.commands.operations.operations import Operations
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.notifications import Pushes
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.errors import ChatbridgeError, CommandUnusable
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, json_result, text_result
from chatbridge.tools.clients import soonest
from chatbridge.tools.definition import object_schema, present, text_field

MAX_OTHERS = 20
ONCE = "once-per-session"
FOLLOW = "Go on with other work. {told}Look at it with status, which never waits."
TOLD = "You are told when it ends. "
ASKED = "A person is asked to allow it, and nothing has been started yet. "
GOES_ON = "It takes longer than this call can wait, and goes on by itself. "
ENDED = "It has ended. Call status with this operationId for its output."
_GUIDANCE = """\
Runs in the background: the call returns an operationId at once. Go on with other work; do not \
wait. {told} Call await only for the final validation, when nothing else is left to do."""
_PUSHED = (
    "The result is pushed to you when it ends, and status, which never waits, shows it at any time."
)
_LOOKED_UP = "Look at the result with status, which never waits."
_ASKED = {
    "never": "",
    "always": "A person is asked on their phone before each run, and may deny it.",
    "once-per-session": "A person is asked on their phone before the first run of a session, and "
    "may deny it.",
}
_FINAL = "What it does cannot be taken back: call it only if you are meant to."
_PYTHON_ONLY = re.compile(r"\(\?[P#>(aiLmsux-]|\\[AZ]|[*+?}]\+|\{,")
"""What other dialects do not have, or mean something else by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandServices:
    """What the tools of commands work with."""

    library: Library
    operations: Operations
    gate: Gate
    pushes: Pushes
    outputs: Outputs
    programs: Programs
    max_block: float | None = None
    """After how long the owner wants a waiting call to return."""

    def limit(self, call: ToolCall, wanted: float | None = None) -> float | None:
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


class CommandTool(ToolHandler):
    def __init__(self, command: Command, services: CommandServices) -> None:
        self.name, self.title = command.tool, command.title
        self.read_only, self.destructive = command.read_only, command.destructive
        self._command, self._services = command, services

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        """Commands run on this machine, so they are for agents that do."""
        if not peer.local:
            return None
        description = description_of(self._command, pushed=not peer.stateless)
        return self._described(schema=schema_of(self._command), description=description)

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        try:
            begun = await self._services.operations.begin(await self._operation(arguments, call))
        except ChatbridgeError:
            earlier = await self._begun_before(arguments, call)
            if earlier is None:
                raise
            begun = earlier
        if not self._command.synchronous:
            return await self._started(begun, call)
        return await self._waited(begun, call)

    async def _operation(self, arguments: dict[str, Any], call: ToolCall) -> Operation:
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
        if await self._services.gate.needed(operation, command.approve):
            return replace(operation, stage=Stage.AWAITING_APPROVAL)
        return operation

    async def _begun_before(self, arguments: dict[str, Any], call: ToolCall) -> Operation | None:
        """What this call has begun at an earlier hub. It goes on, though it could not begin now."""
        argv, folder, _ = await asyncio.to_thread(self._asked, arguments, call)
        earlier = await self._services.operations.store.undelivered(call.name, tool=self.name)
        return next((it for it in earlier if it.plan.command == (argv, folder)), None)

    def _asked(
        self, arguments: dict[str, Any], call: ToolCall
    ) -> tuple[tuple[str, ...], str, Path]:
        """The command as a list, its folder, and the project. :raises ToolInputError: :raises
        CommandUnusable:"""
        project = project_folder(call.project.key, started_here(call))
        folder = folder_of(self._command, arguments, project)
        argv = argv_of(self._command, arguments, project=project, folder=folder)
        return argv, str(folder), project

    def _plan(self, arguments: dict[str, Any], call: ToolCall) -> Plan:
        """Looks at the disk. :raises ToolInputError: :raises CommandUnusable:"""
        command = self._command
        argv, folder, project = self._asked(arguments, call)
        return Plan(
            argv=argv,
            executable=self._services.programs.find(command.argv[0], project=project),
            folder=folder,
            environment=command.environment,
            timeout=command.timeout,
            output_limit=command.output_limit,
            concurrency=command.concurrency,
            synchronous=command.synchronous,
            destructive=command.destructive,
        )

    async def _started(self, operation: Operation, call: ToolCall, why: str = "") -> CallToolResult:
        listed = await self._services.operations.listed(project=call.project.key, limit=MAX_OTHERS)
        follow = why + FOLLOW.format(told="" if call.peer.stateless else TOLD)
        if operation.ended:
            follow = ENDED
        elif operation.stage is Stage.AWAITING_APPROVAL:
            follow = ASKED + follow
        now, hints = call.clock.time(), self._command.hints
        return json_result(
            presentation.started(operation, now, hints=hints, others=listed, follow=follow)
        )

    async def _waited(self, operation: Operation, call: ToolCall) -> CallToolResult:
        """What it printed, if it ends before its caller loses patience."""
        operations, pushes = self._services.operations, self._services.pushes

        async def now() -> Operation:
            return await operations.find(operation.id, project=call.project.key)

        async def doing() -> str:
            return presentation.on_the_way(await now(), call.clock.time())

        ended = None
        began, limit = operation.created_at, self._services.limit(call)
        try:
            with pushes.quiet(operation.id):
                ending = operations.ended(operation.id)
                ended = await call.watch(ending, began, limit=limit, doing=doing)
        finally:
            if ended is None and operations.on_the_way(operation.id):
                pushes.left(operation.id)
        ended = ended or await now()
        if not ended.ended:
            return await self._started(ended, call, GOES_ON)
        output = presentation.printed(ended, self._services.file(ended))
        if ended.stage is Stage.SUCCEEDED:
            return text_result(output)
        said = presentation.sentence(ended)
        if ended.started_at is not None:
            said += f"\n{output}"
        return text_result(said, is_error=True)


def schema_of(command: Command) -> dict[str, Any]:
    """In the plainest words of JSON Schema, because not every client knows all of them. `argv_of`
    refuses more than it says."""
    properties = {option.name: _of_option(option) for option in command.options}
    if command.working_directory == ARGUMENT:
        about = "The folder to run in, inside the project. Default: its root"
        properties[WORKING_DIRECTORY] = text_field(about, minLength=1)
    required = [option.name for option in command.options if option.required]
    return {**object_schema(*required, **properties), "additionalProperties": False}


def _of_option(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": option.type}
    if description := _description(option):
        schema["description"] = description
    least, most = option.min_items, option.max_items
    if option.type == "array":
        items = items_of(option)
        schema["items"] = {"type": items.type, **_rules(items.type, items, option)}
        schema |= present(minItems=least, maxItems=most)
    elif option.type == "object":
        schema["additionalProperties"] = {"type": ["string", "number", "boolean"]}
        if option.encode == "pairs":
            schema["propertyNames"] = {"pattern": "^[^=]+$"}
        schema |= present(minProperties=least, maxProperties=most)
    elif option.type != "boolean":
        schema |= _rules(option.type, option, option)
    return schema


def _description(option: Option) -> str:
    within = items_of(option).within
    if within is None:
        return option.description
    where = " or ".join("the project" if each == PROJECT else each for each in within)
    what = "Paths in" if option.type == "array" else "A path in"
    said = option.description.rstrip(". ")
    return f"{said}. {what} {where}" if said else f"{what} {where}"


def _rules(kind: str, value: Value, option: Option) -> dict[str, Any]:
    enum = list(value.enum) if value.enum is not None else None
    if kind != "string":
        low, high = value.minimum, value.maximum
        return present(
            enum=enum,
            minimum=None if low is None else plain_number(low),
            maximum=None if high is None else plain_number(high),
        )
    empty = (accepts_empty(option) or option.join is not None) and not value.within
    return present(
        enum=enum,
        pattern=_pattern(value.pattern),
        minLength=value.min_length if value.min_length or empty else 1,
        maxLength=value.max_length,
    )


def _pattern(pattern: str | None) -> str | None:
    """As schemas take it: found anywhere in a text unless it says otherwise."""
    if pattern is None or _PYTHON_ONLY.search(pattern):
        return None
    whole = pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern
    return pattern if whole and not pattern.endswith("\\$") else f"^(?:{pattern})$"


def description_of(command: Command, *, pushed: bool = True) -> str:
    """`pushed`: whether its client can be told of an end outside of a call."""
    about = command.description.strip()
    parts = [
        about if re.search(r"[.!?:…]$", about) else f"{about}.",
        _FINAL if command.destructive else "",
        _ASKED[command.approve],
    ]
    if not command.synchronous:
        hints = "; ".join(hint.strip().rstrip(".") for hint in command.hints)
        parts += [
            _GUIDANCE.format(told=_PUSHED if pushed else _LOOKED_UP),
            f"Meanwhile: {hints}." if hints else "",
            f"It is ended after {format_duration(command.timeout)}.",
        ]
    return "\n".join(part for part in parts if part)
