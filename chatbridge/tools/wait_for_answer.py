"""`wait_for_answer`: goes on waiting for an ask whose call returned a ticket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.errors import UnknownAsk
from chatbridge.core.model import Project
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.definition import described, object_schema, refused, text_field, unknown_id
from chatbridge.tools.waiting import RenderResult, Waiting

LONGEST_WAIT = 24 * 3600

DESCRIPTION = """\
Wait for the answer to a question that is still open: give the askId of a result with \
"pending": true. Returns what the question itself would have returned, or the same ticket again if \
nobody has answered within waitSeconds; then call it again. It can be called as often as needed."""


class WaitForAnswer:
    name = "wait_for_answer"
    always = False

    def __init__(self, waiting: Waiting, renderers: Mapping[str, RenderResult]) -> None:
        """`renderers` by the name of the tool that asked: the result is the one that the ask itself
        would have had."""
        self._waiting = waiting
        self._renderers = renderers

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Wait for an answer",
            description=DESCRIPTION,
            schema=object_schema(
                {
                    "askId": text_field("The askId of the ticket"),
                    "waitSeconds": {
                        "type": "number",
                        "description": "How long to wait at most; left out: as long as possible",
                        "minimum": 0,
                        "maximum": LONGEST_WAIT,
                    },
                },
                "askId",
            ),
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
                tools=self._renderers.keys(),
                counts_for=call.counts_for,
            )
        except UnknownAsk as error:
            sentence = "no question with this id in this project"
            raise unknown_id(sentence, "askId", ask_id, error.known) from None
        ended = await self._waiting.ended(ask, waiting, call, limit=limit)
        render = self._renderers[ask.tool]
        return await self._waiting.result(ended or ask, waiting, call, render)


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
