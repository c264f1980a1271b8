"""`ask_user`: CodeNomad's question form and PromptManager's single question, in one tool.

Owns the tool's description and the way from its arguments to an ask and from the ask's end to a
result. What the arguments may be is in `ask_user_input`, what results look like in `outcomes`.
"""

from __future__ import annotations

import contextlib
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.model import Ask, AskRequest, Project
from chatbridge.projects import settings_of
from chatbridge.tool_names import ASK_USER
from chatbridge.tools.ask_user.arguments import Limits, parse
from chatbridge.tools.ask_user.results import told
from chatbridge.tools.ask_user.schema import input_schema
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.definition import described
from chatbridge.tools.elicitation.elicitation import Elicitation
from chatbridge.tools.elicitation.form import window_of
from chatbridge.tools.waiting import Waiting

DESCRIPTION = """\
Ask the person you work for and wait for the answer; it reaches them on their phone or in their \
browser. Use it when you need a decision, a clarification or a confirmation that only they can give.

Give either `questions` (1 to 10, ideally 1 to 3, each with a type) or one `question`, with \
`options` or without. Keep questions short. Prefer select, multi-select or confirm to text: a tap \
is quicker than typing; a free answer ("Other") is always offered beside options. Mark your advice \
at the end of a label: "(recommended)".

Answered: go on with what was chosen; an optional question that was skipped has no values. \
Cancelled: they will not answer; respect it, and the reason if there is one. Timed out: nobody \
answered, which is not consent; choose the safe way or ask again later. "pending": call \
wait_for_answer with the askId."""


class AskUser:
    name = ASK_USER
    always = False

    def __init__(self, waiting: Waiting, elicitation: Elicitation | None = None) -> None:
        """`elicitation`: where questions are shown in the client's own window, too."""
        self._waiting = waiting
        self._elicitation = elicitation
        self._policy = waiting.broker.policy

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Ask the user",
            description=DESCRIPTION,
            schema=input_schema(self._limits(project)),
            read_only=True,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = parse(
            arguments, self._limits(call.project), declared_defaults=self._policy.declared_defaults
        )
        request = AskRequest(
            project=call.project,
            agent=call.agent,
            tool=self.name,
            dialect=given.dialect,
            title=given.title,
            questions=given.questions,
            timeout=given.timeout,
        )
        ask, waiting = await self._waiting.ask(request, call)
        async with self._beside(ask, call, wait=given.wait):
            ended = await self._waiting.ended(ask, waiting, call, limit=None if given.wait else 0.0)
        return await told(self._waiting, ended or ask, waiting, call)

    def _beside(
        self, ask: Ask, call: ToolCall, *, wait: bool
    ) -> contextlib.AbstractAsyncContextManager[object]:
        """The client's window, for as long as the call waits."""
        if self._elicitation is None or not wait:
            return contextlib.nullcontext()
        return self._elicitation.beside(ask, call, window_of(ask.questions, title=ask.title))

    def _limits(self, project: Project) -> Limits:
        """The argument comes before the project's file, that before the owner's default."""
        policy = self._policy
        default = settings_of(project.key).default_timeout or policy.default_timeout
        if policy.declared_defaults:
            default = max(default, policy.default_timeout)
        return Limits(default=min(default, policy.max_timeout), longest=policy.max_timeout)
