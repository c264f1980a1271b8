"""The tools that look after operations: `status` never waits, `await` waits until operations have
ended, `cancel` ends one.

Giving up the call that started an operation is something else, and ends nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.commands.operations.operations import SHORTEST_PREFIX
from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.tool import CommandServices, started_here
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation, Stage
from chatbridge.core.text import one_line, shortened
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, json_result, text_result
from chatbridge.tools.definition import number_field, object_schema, refused, text_field

ONE, SEVERAL = "operationId", "operationIds"
MAX_NAMED = 100
MAX_LISTED = 20
MAX_REASON = 200
DEFAULT_WAIT_SECONDS, MAX_WAIT_SECONDS = 300.0, 3600.0
MAX_WAITING = 20
"""Waiting calls of one agent. Each may wait for a hundred operations; further calls look once."""
ID_SCHEMA = text_field(
    f"An operation's id, or the first {SHORTEST_PREFIX} characters of it", minLength=SHORTEST_PREFIX
)
NOTHING = "Nothing is on the way in this project. status shows what has ended."
HINTS = (
    "They go on by themselves. Go on with other work if there is any, look with status from time "
    "to time, or end one with cancel."
)


def _schema(*required: str, **properties: Any) -> dict[str, Any]:
    schema = object_schema(*required, **{ONE: ID_SCHEMA}, **properties)
    return {**schema, "additionalProperties": False}


class _OperationTool(ToolHandler):
    schema = _schema()
    read_only = idempotent = True
    open_world = False

    def __init__(self, services: CommandServices) -> None:
        self._services = services

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        there = peer.local and self._services.library.commands
        return self._described() if there else None

    async def _find(self, operation_id: str, call: ToolCall) -> Operation:
        return await self._services.operations.find(operation_id, project=call.project.key)


class Status(_OperationTool):
    name = "status"
    title = "Look at operations"
    description = """\
Look at operations: the commands that were started and go on in the background. Returns at once, \
always. Give an operationId for its status, exit code and output; leave it out for those on the \
way and the newest that have ended in this project. Use this whenever you want to know how a \
command is doing, between other work, and not `await`."""

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        operations, now = self._services.operations, call.clock.time()
        if named := _one_named(arguments):
            one = await self._find(named, call)
            if one.stage is Stage.RUNNING:
                one = replace(one, result=await self._services.outputs.printed(one.id))
            record = presentation.record(one, now, file=self._services.file(one), whole=True)
            return json_result({"operations": [record]})
        listed = await operations.listed(project=call.project.key, limit=MAX_LISTED)
        found: dict[str, Any] = {"operations": [presentation.record(it, now) for it in listed]}
        if problems := self._services.library.problems:
            found["problems"] = [problem.as_json() for problem in problems[:MAX_LISTED]]
        return json_result(found)


class Await(_OperationTool):
    name = "await"
    title = "Wait for operations"
    description = """\
Do not call this while there is anything else to do: it stops you until operations have ended. \
Use it only for the final validation, when no other work is left. In every other case go on \
working and look with `status`, which never waits. Give operationId or operationIds; without any \
it waits for all that are on the way in this project. What has ended is returned at once; when the \
time is up you are told what still runs, and it goes on."""
    schema = _schema(
        operationIds={"type": "array", "items": ID_SCHEMA, "maxItems": MAX_NAMED},
        timeout=number_field(
            "Seconds to wait at most",
            minimum=0,
            maximum=MAX_WAIT_SECONDS,
            default=DEFAULT_WAIT_SECONDS,
        ),
    )

    def __init__(self, services: CommandServices) -> None:
        super().__init__(services)
        self._waiting: Counter[str] = Counter()

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        limit = self._services.limit(call, _timeout(arguments))
        wanted = await self._wanted(_all_named(arguments), call)
        if not wanted:
            return text_result(NOTHING)
        ids = [each.id for each in wanted]
        link = call.name.link
        if any(not each.ended for each in wanted) and self._waiting[link] < MAX_WAITING:
            self._waiting[link] += 1
            try:
                with self._services.pushes.quiet(*ids):
                    # The limit counts from the call's own beginning.
                    ending = asyncio.gather(*map(self._services.operations.ended, ids))
                    began, doing = call.clock.time(), partial(self._doing, ids, call)
                    await call.watch(ending, began, limit=limit, doing=doing)
            finally:
                self._waiting -= Counter((link,))
            wanted = [await self._find(each, call) for each in ids]
        now, file, whole = call.clock.time(), self._services.file, len(wanted) == 1
        if not all(each.ended for each in wanted):
            return text_result(_not_yet(wanted, call, now))
        found = [presentation.record(it, now, file=file(it), whole=whole) for it in wanted]
        return json_result({"operations": found})

    async def _wanted(self, named: Sequence[str], call: ToolCall) -> list[Operation]:
        if named:
            found = [await self._find(each, call) for each in named]
            return list({each.id: each for each in found}.values())
        listed = await self._services.operations.listed(project=call.project.key, limit=MAX_NAMED)
        return [each for each in listed if not each.ended]

    async def _doing(self, ids: Sequence[str], call: ToolCall) -> str:
        states = [await self._find(each, call) for each in ids]
        return f"{sum(not each.ended for each in states)} of {len(ids)} on the way"


def _not_yet(wanted: Sequence[Operation], call: ToolCall, now: float) -> str:
    waited = format_duration(call.clock.monotonic() - call.began)
    lines = [f"Not all have ended after {waited}."]
    for each in wanted:
        state = presentation.sentence(each) if each.ended else presentation.on_the_way(each, now)
        lines.append(f"- {state} (operationId {each.id})")
    return "\n".join([*lines, HINTS])


def _timeout(arguments: dict[str, Any]) -> float:
    given = arguments.get("timeout", DEFAULT_WAIT_SECONDS)
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= MAX_WAIT_SECONDS:
        accepted = f"0 to {MAX_WAIT_SECONDS:.0f} s"
        raise refused("timeout is out of range", "timeout", given, accepted)
    return float(given)


class Cancel(_OperationTool):
    name = "cancel"
    title = "End an operation"
    description = """\
End an operation that is on the way, with every process that it has started. What it has done so \
far stays done. Tells you whether it was cancelled or had ended before."""
    schema = _schema(ONE, reason=text_field("Why; it is kept with its result"))
    read_only = False

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        named, reason = _one_named(arguments), arguments.get("reason")
        if named is None:
            accepted = "the operationId that a call returned"
            raise refused(f"{ONE} is required", ONE, None, accepted)
        if reason is not None and not isinstance(reason, str):
            raise refused("reason is not valid", "reason", reason, "a text")
        found = await self._find(named, call)
        why = shortened(one_line(reason), MAX_REASON) if reason else None
        with self._services.pushes.quiet(found.id):
            ended, by_this = await self._services.operations.cancel(
                found.id, project=call.project.key, reason=why
            )
        had_ended = f"It had ended: {presentation.sentence(ended)}"
        said = f"{ended.title} is cancelled" if by_this else had_ended
        record = presentation.record(ended, call.clock.time())
        return json_result({"cancelled": by_this, "message": said, **record})


def _one_named(arguments: dict[str, Any]) -> str | None:
    given = arguments.get(ONE)
    return None if given is None else _checked(given, ONE)


def _all_named(arguments: dict[str, Any]) -> list[str]:
    """The given ids, each once. :raises ToolInputError:"""
    one, several = _one_named(arguments), arguments.get(SEVERAL)
    if several is None:
        return [] if one is None else [one]
    if not isinstance(several, list) or len(several) > MAX_NAMED:
        accepted = f"a list of at most {MAX_NAMED} ids"
        raise refused(f"{SEVERAL} is not valid", SEVERAL, several, accepted)
    named = [_checked(each, f"{SEVERAL}[{at}]") for at, each in enumerate(several)]
    return list(dict.fromkeys([*([one] if one else []), *named]))


def _checked(given: object, path: str) -> str:
    if isinstance(given, str) and len(given.strip()) >= SHORTEST_PREFIX:
        return given.strip()
    least = f"at least its first {SHORTEST_PREFIX} characters"
    accepted = f"the operationId that a call returned, or {least}"
    raise refused(f"{path} is not valid", path, given, accepted)
