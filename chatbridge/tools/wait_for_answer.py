"""`wait_for_answer`: goes on waiting for an ask whose call returned a ticket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.errors import ToolInputError, UnknownAsk
from chatbridge.core.model import Ask, Call, Project
from chatbridge.core.text import shortened
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.definition import described, refused
from chatbridge.tools.waiting import Waiting

LONGEST_WAIT = 24 * 3600

DESCRIPTION = """\
Wait for the answer to a question that is still open: give the askId of a result with \
"pending": true. Returns what the question itself would have returned, or the same ticket again if \
nobody has answered within waitSeconds; then call it again. It can be called as often as needed."""


Told = Callable[[Waiting, Ask, Call, ToolCall], Awaitable[CallToolResult]]
"""How a tool tells its caller of an ask that has ended, or of one that is still open."""


class WaitForAnswer:
    name = "wait_for_answer"
    always = False

    def __init__(self, waiting: Waiting, told: Mapping[str, Told]) -> None:
        """`told`: each tool's way of telling, by its name; the result is the one that the ask
        itself would have had."""
        self._waiting = waiting
        self._told = told

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Wait for an answer",
            description=DESCRIPTION,
            schema={
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
            read_only=True,
            idempotent=True,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        ask_id, limit = _parsed(arguments)
        try:
            ask, waiting = await self._waiting.broker.follow(
                ask_id,
                call.name,
                project=call.project.key,
                tools=self._told.keys(),
                counts_for=call.counts_for,
            )
        except UnknownAsk as error:
            raise _unknown(ask_id, error.known) from None
        ended = await self._waiting.ended(ask, waiting, call, limit=limit)
        return await self._told[ask.tool](self._waiting, ended or ask, waiting, call)


def _unknown(ask_id: str, known: tuple[str, ...]) -> ToolInputError:
    return ToolInputError(
        "no question with this id in this project",
        path="askId",
        given=shortened(repr(ask_id), 120),
        accepted=f"one that is open: {', '.join(known)}" if known else "none, as none is open",
    )


def _parsed(arguments: dict[str, Any]) -> tuple[str, float | None]:
    """:raises ToolInputError:"""
    ask_id, wait = arguments.get("askId"), arguments.get("waitSeconds")
    if not isinstance(ask_id, str) or not ask_id:
        accepted = "the askId of a pending result"
        raise refused("Validation error: askId is required", "askId", ask_id, accepted)
    number = isinstance(wait, int | float) and not isinstance(wait, bool)
    if wait is not None and not (number and 0 <= wait <= LONGEST_WAIT):
        accepted = f"a number from 0 to {LONGEST_WAIT}"
        raise refused(
            "Validation error: waitSeconds is out of range", "waitSeconds", wait, accepted
        )
    return ask_id, None if wait is None else float(wait)
