"""The texts of auq: how an ask of `ask_user_questions` is told, at its end and before.

The forms are the contract's, to the letter. What it does not foresee is a paragraph at the end.
"""

from __future__ import annotations

from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Answer, Ask, AskBack, Call, Option, Question, QuestionType, Status

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


def submitted(ask: Ask, *, nobody: str | None) -> str:
    """The ask is open, and its caller goes on without the answers for now."""
    fetch = (
        f'Call get_answered_questions with session_id "{ask.id}" to fetch the answers; '
        "blocking: true waits for them."
    )
    return _text(_header(ask, Status.OPEN, counted=True), f"{SUBMITTED}\n{fetch}", nobody)


def pending(ask: Ask, *, nobody: str | None) -> str:
    """The ask was to be fetched, and is open."""
    return _text(_header(ask, Status.OPEN), NO_ANSWERS, nobody)


def ended(ask: Ask, caller: Call, reach: Reach, *, fetched: bool) -> tuple[str, bool]:
    """How the ask ended, and whether that is an error."""
    if ask.answer is not None:
        late = LATE if caller.late or ask.late is not None else None
        return _text(_header(ask, counted=True), _answers(ask, ask.answer.answers), late), False
    if ask.status is Status.CANCELLED:
        return _rejected(ask, fetched=fetched), False
    if ask.status is Status.TIMED_OUT:
        return _text(_header(ask, ask.status), TIMED_OUT, reach.nobody), True
    return _text(_header(ask, ask.status), WITHDRAWN), True


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
