"""`ask_user_questions`: auq's questions, each with options to choose from.

Owns the tool's description and the way from its arguments to an ask. What the arguments may be is
in `auq_input`, what results say in `auq_text`; `auq_fetch` fetches answers later.
"""

from __future__ import annotations

import math
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.model import Ask, AskRequest, Call, Project
from chatbridge.tools.auq import results
from chatbridge.tools.auq.arguments import Limits, parse
from chatbridge.tools.auq.schema import ask_schema
from chatbridge.tools.call import Peer, ToolCall, text_result
from chatbridge.tools.definition import described
from chatbridge.tools.waiting import Waiting

TITLE = "Ask the user with options"
DIALECT = "auq"

DESCRIPTION = """\
Ask the person you work for to choose, and wait for the answers; the questions reach them on their \
phone or in their browser. Use it when there are several good ways and the choice is theirs.

Give each question a short title and a few options that differ, each with a description of what it \
means; a free answer ("Other") is always offered, so do not add one. Mark your advice at the end \
of a label: "(recommended)". Set multiSelect where several options can hold at once; choosing none \
is then an answer, too. One to three questions a call are best.

Answered: go on with what was chosen. A question may be left without an answer: decide it yourself \
or leave it. [ELABORATE_REQUEST]: explain the question in more detail, mind the guidance, and ask \
it again; [REPHRASE_REQUEST]: ask it again in other words; the other answers of the set count. \
Rejected: they will not answer; respect it, and the reason. Timed out: nobody answered, which is \
not consent. "Status: pending": the questions are still open; fetch the answers with \
get_answered_questions."""


class AskUserQuestions:
    name = "ask_user_questions"
    always = False

    def __init__(self, waiting: Waiting, *, limits: Limits, timeout: float | None) -> None:
        """`timeout` in seconds; None: there is no deadline."""
        self._waiting = waiting
        self._limits = limits
        self._timeout = math.inf if timeout is None else timeout

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title=TITLE,
            description=DESCRIPTION,
            schema=ask_schema(self._limits),
            idempotent=True,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = parse(arguments, self._limits)
        request = AskRequest(
            project=call.project,
            agent=call.agent,
            tool=self.name,
            dialect=DIALECT,
            title=given.questions[0].title if len(given.questions) == 1 else None,
            questions=given.questions,
            timeout=self._timeout,
        )
        ask, waiting = await self._waiting.ask(request, call)
        ended = await self._waiting.ended(ask, waiting, call, limit=None if given.wait else 0.0)
        return await told(self._waiting, ended or ask, waiting, call)


async def told(waiting: Waiting, ask: Ask, caller: Call, call: ToolCall) -> CallToolResult:
    """What a call is told: how the ask ended, or, if it has not, how to go on."""
    reach = await waiting.reach(ask)
    if ask.open:
        await waiting.broker.waiting_calls.ticket(call.name)
        return text_result(results.submitted(ask, nobody=reach.nobody))
    text, is_error = results.ended(ask, caller, reach, fetched=False)
    return text_result(text, is_error=is_error)
