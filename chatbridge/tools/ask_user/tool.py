"""`ask_user`: CodeNomad's question form and PromptManager's single question, in one tool.

Owns the tool's description, its ask and its results; `arguments` parses what it is given.
"""

from __future__ import annotations

import contextlib
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Answer, Ask, AskRequest, Call, Project, QuestionType, Status
from chatbridge.projects import settings_of
from chatbridge.tool_names import ASK_USER
from chatbridge.tools.ask_user.arguments import QUESTION, Limits, input_schema, parse
from chatbridge.tools.call import Peer, ToolCall, json_result, text_result
from chatbridge.tools.definition import described
from chatbridge.tools.elicitation import Elicitation, window_of
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
        return await self._waiting.result(ended or ask, waiting, call, render_result)

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


TIMED_OUT = "User did not respond within the timeout period. Proceeding with your best judgment."
CANCELLED = "User cancelled the question."
WITHDRAWN = "the agent stopped waiting and the question was withdrawn"


def render_result(ask: Ask, call: Call, reach: Reach) -> CallToolResult:
    """How the ask ended as this call's result, or a ticket if it is open."""
    if ask.open:
        return _ticket(ask, reach)
    if ask.dialect == QUESTION:
        return _sentence(ask, reach)
    return json_result(_outcome(ask, call, reach))


def _ticket(ask: Ask, reach: Reach) -> CallToolResult:
    """The ask is still open: how to go on waiting for it."""
    nobody = reach.nobody
    if ask.dialect == QUESTION:
        go_on = f"The question is still open: call wait_for_answer with askId {ask.id} to go on."
        return text_result(f"{go_on} {nobody}" if nobody else go_on)
    ticket: dict[str, Any] = {
        "answered": False,
        "cancelled": False,
        "timedOut": False,
        "answers": [],
        "pending": True,
        "askId": ask.id,
        "next": "The question is still open. Call wait_for_answer with this askId, and again "
        "until the result is no longer pending.",
    }
    return json_result({**ticket, "delivery": nobody} if nobody else ticket)


def _answers(ask: Ask) -> tuple[Answer, ...]:
    """What counts as the answer: a person's, in time or late, or the declared defaults."""
    if ask.answer is not None:
        return ask.answer.answers
    return ask.outcome.answers if ask.outcome else ()


def _outcome(ask: Ask, call: Call, reach: Reach) -> dict[str, Any]:
    answers = _answers(ask)
    result: dict[str, Any] = {
        "answered": bool(answers),
        "cancelled": ask.status in (Status.CANCELLED, Status.WITHDRAWN),
        "timedOut": ask.status is Status.TIMED_OUT and ask.late is None,
        "answers": [
            _answer(question_id, answer)
            for question_id, answer in zip(call.question_ids, answers, strict=False)
        ],
    }
    if reason := _reason(ask):
        result["reason"] = reason
    if call.late or ask.late is not None:
        result["late"] = True
    if result["timedOut"] and not answers and reach.nobody:
        result["delivery"] = reach.nobody
    return result


def _reason(ask: Ask) -> str | None:
    if ask.status is Status.WITHDRAWN:
        return WITHDRAWN
    return ask.outcome.reason if ask.outcome else None


def _answer(question_id: str, answer: Answer) -> dict[str, Any]:
    written: dict[str, Any] = {"questionId": question_id, "values": list(answer.values)}
    if answer.custom_text is not None:
        written["customText"] = answer.custom_text
    if answer.decided_by is not None:
        written["decidedBy"] = answer.decided_by
    return written


def _sentence(ask: Ask, reach: Reach) -> CallToolResult:
    answers = _answers(ask)
    if answers:
        return text_result(_answered(ask.questions[0].type, answers[0]))
    if ask.status is Status.TIMED_OUT:
        nobody = reach.nobody
        return text_result(f"{TIMED_OUT} {nobody}" if nobody else TIMED_OUT, is_error=True)
    reason = _reason(ask)
    return text_result(f"{CANCELLED} {reason}" if reason else CANCELLED, is_error=True)


def _answered(kind: QuestionType, answer: Answer) -> str:
    if kind is QuestionType.TEXT:
        return f"User answered: {answer.values[0]}"
    if kind is QuestionType.SELECT and answer.custom_text is not None:
        return f"User answered: {answer.custom_text}"
    parts = list(answer.values)
    if answer.custom_text is not None:
        parts.append(f"Other: {answer.custom_text}")
    return f"User selected: {', '.join(parts)}"
