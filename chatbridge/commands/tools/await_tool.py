"""`await`: waits until operations have ended. The one tool here that holds an agent up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.commands.tools import presentation
from chatbridge.commands.tools.naming import ID_SCHEMA, MOST, ONE, SEVERAL, all_named
from chatbridge.commands.tools.tool import Means, started_here
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation
from chatbridge.tools.call import Peer, ToolCall, json_result, text_result
from chatbridge.tools.definition import described, refused

USUAL, LONGEST = 300.0, 3600.0
MOST_WAITING = 20
"""Calls of one agent that wait. Each may wait for a hundred operations; those beyond look once."""
DESCRIPTION = """\
Do not call this while there is anything else to do: it stops you until operations have ended. \
Use it only for the final validation, when no other work is left. In every other case go on \
working and look with `status`, which never waits. Give operationId or operationIds; without any \
it waits for all that are on the way in this project. What has ended is returned at once; when the \
time is up you are told what still runs, and it goes on."""
NOTHING = "Nothing is on the way in this project. status shows what has ended."
HINTS = (
    "They go on by themselves. Go on with other work if there is any, look with status from time "
    "to time, or end one with cancel."
)


class Await:
    name = "await"
    always = False

    def __init__(self, means: Means, there: Callable[[], bool]) -> None:
        """`there`: whether there is any command."""
        self._means = means
        self._there = there
        self._waiting: Counter[str] = Counter()

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        if not peer.local or not self._there():
            return None
        return described(
            self.name,
            title="Wait for operations",
            description=DESCRIPTION,
            schema={
                "type": "object",
                "properties": {
                    ONE: ID_SCHEMA,
                    SEVERAL: {"type": "array", "items": ID_SCHEMA, "maxItems": MOST},
                    "timeout": {
                        "type": "number",
                        "description": "Seconds to wait at most",
                        "minimum": 0,
                        "maximum": LONGEST,
                        "default": USUAL,
                    },
                },
                "additionalProperties": False,
            },
            read_only=True,
            idempotent=True,
            open_world=False,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        started_here(call)
        limit = self._means.limit(call, _timeout(arguments))
        wanted = await self._wanted(all_named(arguments), call)
        if not wanted:
            return text_result(NOTHING)
        ids = [each.id for each in wanted]
        link = call.name.link
        if any(not each.ended for each in wanted) and self._waiting[link] < MOST_WAITING:
            self._waiting[link] += 1
            try:
                with self._means.pushes.quiet(*ids):
                    await self._all_ended(wanted, call, limit)
            finally:
                self._waiting -= Counter((link,))
            wanted = [await self._now(each, call) for each in ids]
        if all(each.ended for each in wanted):
            return self._result(wanted, call)
        return text_result(_not_yet(wanted, call))

    async def _wanted(self, named: Sequence[str], call: ToolCall) -> list[Operation]:
        if named:
            found = [await self._now(each, call) for each in named]
            return list({each.id: each for each in found}.values())
        listed = await self._means.operations.listed(project=call.project.key, limit=MOST)
        return [each for each in listed if not each.ended]

    async def _now(self, operation_id: str, call: ToolCall) -> Operation:
        return await self._means.operations.find(operation_id, project=call.project.key)

    async def _all_ended(
        self, wanted: Sequence[Operation], call: ToolCall, limit: float | None
    ) -> None:
        """Or the limit has come, counted from the call's own beginning."""
        ending = asyncio.gather(*(self._means.operations.ended(each.id) for each in wanted))

        async def doing() -> str:
            states = [await self._now(each.id, call) for each in wanted]
            left = [each for each in states if not each.ended]
            return f"{len(left)} of {len(wanted)} on the way"

        await call.watch(ending, call.clock.time(), limit=limit, doing=doing)

    def _result(self, ended: Sequence[Operation], call: ToolCall) -> CallToolResult:
        now, whole = call.clock.time(), len(ended) == 1
        file = self._means.file
        records = [presentation.record(each, now, file=file(each), whole=whole) for each in ended]
        return json_result({"operations": records})


def _not_yet(wanted: Sequence[Operation], call: ToolCall) -> str:
    now = call.clock.time()
    waited = format_duration(call.clock.monotonic() - call.began)
    lines = [f"Not all have ended after {waited}."]
    for each in wanted:
        state = presentation.sentence(each) if each.ended else presentation.on_the_way(each, now)
        lines.append(f"- {state} (operationId {each.id})")
    return "\n".join([*lines, HINTS])


def _timeout(arguments: dict[str, Any]) -> float:
    given = arguments.get("timeout", USUAL)
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= LONGEST:
        sentence, accepted = "Validation error: timeout is out of range", f"0 to {LONGEST:.0f} s"
        raise refused(sentence, "timeout", given, accepted)
    return float(given)
