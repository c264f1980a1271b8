"""How the end of an `ask_user` ask is written: JSON for the question form, a sentence for one
question. The keys and sentences are the contract's."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Answer, Ask, Call, QuestionType, Status
from chatbridge.tools.call import ToolCall, json_result, text_result
from chatbridge.tools.waiting import Waiting

QUESTIONS = "questions"
QUESTION = "question"

TIMED_OUT = "User did not respond within the timeout period. Proceeding with your best judgment."
CANCELLED = "User cancelled the question."
WITHDRAWN = "the agent stopped waiting and the question was withdrawn"


async def told(waiting: Waiting, ask: Ask, caller: Call, call: ToolCall) -> CallToolResult:
    """What an `ask_user` call is told: how the ask ended, or, if it has not, a ticket."""
    reach = await waiting.reach(ask)
    if not ask.open:
        return result_of(ask, caller, reach)
    await waiting.broker.callers.ticket(call.name)
    return ticket_of(ask, reach)


def result_of(ask: Ask, call: Call, reach: Reach) -> CallToolResult:
    """The ended ask as this call's result."""
    if ask.dialect == QUESTION:
        return _sentence(ask, reach)
    return json_result(_outcome(ask, call, reach))


def ticket_of(ask: Ask, reach: Reach) -> CallToolResult:
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
