"""`wait_for_answer`: goes on waiting for an ask whose call returned a ticket."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, Tool, ToolAnnotations

from chatbridge.core.broker import Broker
from chatbridge.core.errors import ToolInputError, UnknownAsk
from chatbridge.core.model import Project
from chatbridge.core.text import shortened
from chatbridge.tools.ask_user import ICON
from chatbridge.tools.call import ToolCall
from chatbridge.tools.waiting import awaited

LONGEST_WAIT = 24 * 3600

DESCRIPTION = """\
Wait for the answer to a question that is still open: give the askId of a result with \
"pending": true. Returns what the question itself would have returned, or the same ticket again if \
nobody has answered within waitSeconds; then call it again. It can be called as often as needed."""


class WaitForAnswer:
    name = "wait_for_answer"

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def definition(self, project: Project) -> Tool:
        return Tool(
            name=self.name,
            title="Wait for an answer",
            description=DESCRIPTION,
            input_schema={
                "type": "object",
                "properties": {
                    "askId": {"type": "string", "description": "The askId of the ticket"},
                    "waitSeconds": {
                        "type": "number",
                        "description": "How long to wait at most; left out: as long as possible",
                        "minimum": 0,
                        "maximum": LONGEST_WAIT,
                    },
                },
                "required": ["askId"],
            },
            annotations=ToolAnnotations(
                title="Wait for an answer",
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=True,
            ),
            icons=[ICON],
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        ask_id, limit = _parsed(arguments)
        block = self._broker.policy.max_block
        if block is not None:
            limit = block if limit is None else min(limit, block)
        try:
            ask, waiting = await self._broker.follow(ask_id, call.name, project=call.project.key)
        except UnknownAsk as error:
            raise _unknown(ask_id, error.known) from None
        return await awaited(self._broker, ask, waiting, call, limit=limit)


def _unknown(ask_id: str, known: tuple[str, ...]) -> ToolInputError:
    return ToolInputError(
        "no question with this id in this project",
        path="askId",
        given=shortened(repr(ask_id), 120),
        accepted=f"one that is open: {', '.join(known)}" if known else "none, as none is open",
    )


def _parsed(arguments: dict[str, Any]) -> tuple[str, float | None]:
    ask_id, wait = arguments.get("askId"), arguments.get("waitSeconds")
    if not isinstance(ask_id, str) or not ask_id:
        raise ToolInputError(
            "Validation error: askId is required",
            path="askId",
            given=shortened(repr(ask_id), 120),
            accepted="the askId of a pending result",
        )
    number = isinstance(wait, int | float) and not isinstance(wait, bool)
    if wait is not None and not (number and 0 <= wait <= LONGEST_WAIT):
        raise ToolInputError(
            "Validation error: waitSeconds is out of range",
            path="waitSeconds",
            given=shortened(repr(wait), 120),
            accepted=f"a number from 0 to {LONGEST_WAIT}",
        )
    return ask_id, None if wait is None else float(wait)
