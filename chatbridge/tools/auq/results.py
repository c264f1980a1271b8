"""The results of auq's tools: an ask of `ask_user_questions` as text, at its end and before.

The forms are the contract's, to the letter. What it does not foresee is a paragraph at the end.
"""

from __future__ import annotations

from mcp_types import CallToolResult

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Answer, Ask, AskBack, Call, Option, Question, QuestionType, Status
from chatbridge.tools.call import text_result

SHORT = 8
"""How many characters of an id stand for it."""

ANSWERS = "Here are the user's answers:"
SUBMITTED = "Questions submitted successfully."
NO_ANSWERS = "No answers yet."
REJECTED = "User rejected this question set."
NO_REASON = "No reason provided."
TIMED_OUT = (
    "This question set timed out: nobody answered within the time limit. That is not consent; "
    "take the safe way, or ask again later."
)
WITHDRAWN = "This question set was withdrawn, because the agent had stopped waiting."
LATE = "Late: these answers were given to an earlier call, which had stopped waiting."


def render_result(ask: Ask, caller: Call, reach: Reach) -> CallToolResult:
    """For `ask_user_questions`: how the ask ended, or, if it is open, how to go on."""
    if ask.open:
        fetch = (
            f'Call get_answered_questions with session_id "{ask.id}" to fetch the answers; '
            "blocking: true waits for them."
        )
        header = _header(ask, Status.OPEN, counted=True)
        return text_result(_text(header, f"{SUBMITTED}\n{fetch}", reach.nobody))
    return _ended(ask, caller, reach, fetched=False)


def render_fetched(ask: Ask, caller: Call, reach: Reach) -> CallToolResult:
    """For `get_answered_questions`."""
    if ask.open:
        return text_result(_text(_header(ask, Status.OPEN), NO_ANSWERS, reach.nobody))
    return _ended(ask, caller, reach, fetched=True)


def _ended(ask: Ask, caller: Call, reach: Reach, *, fetched: bool) -> CallToolResult:
    if ask.answer is not None:
        late = LATE if caller.late or ask.late is not None else None
        text = _text(_header(ask, counted=True), _answers(ask, ask.answer.answers), late)
        return text_result(text)
    if ask.status is Status.CANCELLED:
        return text_result(_rejected(ask, fetched=fetched))
    if ask.status is Status.TIMED_OUT:
        text = _text(_header(ask, ask.status), TIMED_OUT, reach.nobody)
    else:
        text = _text(_header(ask, ask.status), WITHDRAWN)
    return text_result(text, is_error=True)


def _text(*paragraphs: str | None) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _header(ask: Ask, status: Status | None = None, *, counted: bool = False) -> str:
    parts = [f"Session: {ask.id[:SHORT]}"]
    if counted:
        parts.append(f"Questions: {len(ask.questions)}")
    if status is not None:
        parts.append(f"Status: {_STATUS.get(status, status)}")
    return f"[{' | '.join(parts)}]"


_STATUS = {Status.OPEN: "pending", Status.CANCELLED: "rejected"}


def _rejected(ask: Ask, *, fetched: bool) -> str:
    reason = ask.outcome.reason if ask.outcome else None
    quoted = None if reason is None else _quoted(reason, '"')
    if fetched:
        why = "" if quoted is None else f" Reason: {quoted}"
        return _text(_header(ask, ask.status), f"{REJECTED}{why}")
    why = NO_REASON if quoted is None else f"Rejection reason: {quoted}"
    return _text(_header(ask, counted=True), REJECTED, why)


def _answers(ask: Ask, answers: tuple[Answer, ...]) -> str:
    asked = zip(ask.questions, answers, strict=True)
    return _text(ANSWERS, *(_answered(i, q, a) for i, (q, a) in enumerate(asked)))


def _answered(index: int, question: Question, answer: Answer) -> str:
    return "\n".join([f"{index + 1}. {question.text}", *_lines(index, question, answer)])


def _lines(index: int, question: Question, answer: Answer) -> list[str]:
    if answer.ask_back is not None:
        return _asked_back(index, question, answer)
    lines = [f"→ {_chosen(o)}" for o in question.options if o.label in answer.values]
    if answer.custom_text is not None:
        lines.append("→ Other: " + _quoted(answer.custom_text, "'"))
    if lines:
        return lines
    multi = question.type is QuestionType.MULTI_SELECT
    return ["→ (No selection)" if multi else "→ No answer provided"]


def _chosen(option: Option) -> str:
    return f"{option.label} — {option.description}" if option.description else option.label


def _asked_back(index: int, question: Question, answer: Answer) -> list[str]:
    """The index counts from 0, as in the program that the contract comes from."""
    named = f"question '{question.title}'"
    if answer.ask_back is AskBack.REPHRASE:
        wish = f"[REPHRASE_REQUEST] Please rephrase {named} in a different way"
    else:
        wish = f"[ELABORATE_REQUEST] Please elaborate on {named} with more details"
    lines = [wish, f"Question index: {index}"]
    if answer.custom_text is not None:
        lines.append("User guidance: " + _quoted(answer.custom_text, '"'))
    return lines


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, f"\\{mark}") + mark
