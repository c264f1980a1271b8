"""The form: a pure state machine for the input to an ask.

`advance(questions, draft, event)` applies an event to a draft. It knows no channel, clock or store.

A tap carries the step for which it was drawn. A tap of another step is stale and changes nothing. A
toggle does not change the step, so that quick toggles are not stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from chatbridge.core.forms.events import (
    AnswerAnyway,
    AskCancel,
    AskExplain,
    Back,
    Cancel,
    Choose,
    Done,
    DropOther,
    Edit,
    Event,
    Explain,
    Other,
    Rephrase,
    Skip,
    Submit,
    Text,
    Toggle,
)
from chatbridge.core.model import Answer, AskBack, Draft, Entry, Question, QuestionType, View
from chatbridge.core.text import encodable

__all__ = [  # noqa: RUF022 - events, what they lead to, sentences
    "AnswerAnyway", "AskCancel", "AskExplain", "Back", "Cancel", "Choose", "Done", "DropOther",
    "Edit", "Event", "Explain", "Other", "Rephrase", "Skip", "Submit", "Text", "Toggle",
    "advance", "can_ask_back", "entry_answer",
    "Answered", "Cancelled", "Moved", "Refused", "Step",
    "EMPTY", "MAX_TEXT", "NONE_PICKED", "REQUIRED", "STALE", "TOO_LONG", "UNFIT",
]  # fmt: skip

MAX_TEXT = 10_000
"""Maximum characters of one answer or reason."""


# ── steps ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The draft after the event."""

    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The form is complete and sent: one answer for each question."""

    draft: Draft
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing changed. The channel shows `why` to the person."""

    why: str


Step = Moved | Answered | Cancelled | Refused

STALE = Refused(why="That was an older step. Here is the current one.")
NONE_PICKED = Refused(why="Pick at least one, or use Other.")
REQUIRED = Refused(why="This question needs an answer.")
EMPTY = Refused(why="Type something first.")
UNFIT = Refused(why="That does not fit this question.")
TOO_LONG = Refused(why=f"This answer is too long (at most {MAX_TEXT:,} characters).")


def advance(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    """Apply `event` to `draft`. Never raises."""
    if event.step is not None and event.step != draft.step:
        return STALE
    if isinstance(event, AskCancel):
        return UNFIT if draft.view is View.CANCEL else _show(draft, view=View.CANCEL)
    if isinstance(event, Cancel):
        return _cancel(event.reason)
    if isinstance(event, AnswerAnyway):
        if draft.late:
            return UNFIT
        aside = draft.view in (View.CANCEL, View.EXPLAIN)
        return _show(
            replace(draft, late=True), view=_view_under_cancel(draft) if aside else draft.view
        )
    match draft.view:
        case View.CANCEL:
            return _on_cancel(questions, draft, event)
        case View.EXPLAIN:
            return _on_explain(questions, draft, event)
        case View.REVIEW:
            return _on_review(questions, draft, event)
        case View.OTHER:
            return _on_other(questions, draft, event)
        case View.QUESTION:
            return _on_question(questions, draft, event)
        case View.SESSION | View.CONFIRM_DESTRUCTIVE:
            return UNFIT  # screens of approvals only
        case _:
            assert_never(draft.view)


def _on_cancel(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    match event:
        case Back():
            return _show(draft, view=_view_under_cancel(draft))
        case Text(text=text):
            return _cancel(text) if text.strip() else EMPTY
        case AskExplain() if can_ask_back(questions, draft):
            return _show(draft, view=View.EXPLAIN)
        case Rephrase() if can_ask_back(questions, draft):
            return _ask_back(questions, draft, AskBack.REPHRASE, None)
        case _:
            return UNFIT


def _on_explain(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    match event:
        case Back():
            return _show(draft, view=View.CANCEL)
        case Text(text=text):
            return _ask_back(questions, draft, AskBack.EXPLAIN, text)
        case Explain():
            return _ask_back(questions, draft, AskBack.EXPLAIN, None)
        case _:
            return UNFIT


def can_ask_back(questions: Sequence[Question], draft: Draft) -> bool:
    """Whether there is a question to ask back about, and an agent that waits."""
    if draft.at < len(questions) and questions[draft.at].takes_ask_back:
        return True
    return not draft.late and not any(q.takes_ask_back for q in questions)


def _ask_back(
    questions: Sequence[Question], draft: Draft, kind: AskBack, guidance: str | None
) -> Step:
    text = None if guidance is None else encodable(guidance).strip()
    if text == "":
        return EMPTY
    if text and len(text) > MAX_TEXT:
        return TOO_LONG
    if draft.at < len(questions) and questions[draft.at].takes_ask_back:
        return _move_on(questions, _enter(draft, Entry(text=text, done=True, ask_back=kind)))
    several = len(questions) > 1 and draft.at < len(questions)
    what = f"question {draft.at + 1}" if several else "this"
    wish = f"Please explain {what} in more detail."
    if kind is AskBack.REPHRASE:
        wish = f"Please rephrase {what} in a different way."
    return Cancelled(reason=f"{wish} {text}" if text else wish)


def _view_under_cancel(draft: Draft) -> View:
    return View.REVIEW if draft.at >= len(draft.entries) else View.QUESTION


def _on_review(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    if isinstance(event, Submit):
        return _submit(questions, draft)
    if isinstance(event, Edit):
        if not 0 <= event.question < len(questions):
            return UNFIT
        return _show(draft, view=View.QUESTION, at=event.question, editing=True)
    if isinstance(event, Back):
        return _show(draft, view=View.QUESTION, at=len(questions) - 1, editing=False)
    return UNFIT


def _on_other(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    if isinstance(event, Back):
        return _show(draft, view=View.QUESTION)
    if isinstance(event, Text):
        return _enter_text(questions, draft, event.text)
    return UNFIT


def _on_question(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    question, entry = questions[draft.at], draft.entries[draft.at]
    multi = question.type is QuestionType.MULTI_SELECT
    match event:
        case Choose(option=option):
            single = question.type in (QuestionType.SELECT, QuestionType.CONFIRM)
            if not single or not 0 <= option < len(question.choices):
                return UNFIT
            return _move_on(questions, _enter(draft, Entry(picked=(option,), done=True)))
        case Toggle(option=option, on=on):
            if not multi or not 0 <= option < len(question.choices):
                return UNFIT
            picked = set(entry.picked) | {option} if on else set(entry.picked) - {option}
            entry = replace(_drop_ask_back(entry), picked=tuple(sorted(picked)))
            return Moved(draft=_enter(draft, entry))
        case DropOther():
            if not multi:
                return UNFIT
            return Moved(draft=_enter(draft, replace(_drop_ask_back(entry), text=None)))
        case Done():
            if not multi:
                return UNFIT
            if _lacks_choice(question, entry):
                return NONE_PICKED
            return _move_on(questions, _enter(draft, replace(entry, done=True)))
        case Text(text=text):
            if question.type is QuestionType.CONFIRM:
                return UNFIT
            return _enter_text(questions, draft, text)
        case Other():
            return _show(draft, view=View.OTHER) if question.takes_other else UNFIT
        case Skip():
            if question.required:
                return REQUIRED
            return _move_on(questions, _enter(draft, Entry(done=True)))
        case Back():
            if draft.editing:
                if _lacks_choice(question, entry):
                    return NONE_PICKED  # the review would show a required answer as skipped
                return _show(draft, view=View.REVIEW, at=len(questions), editing=False)
            return _show(draft, at=draft.at - 1) if draft.at else UNFIT
        case _:
            return UNFIT


def _drop_ask_back(entry: Entry) -> Entry:
    """Picking an option withdraws an earlier ask-back."""
    return entry if entry.ask_back is None else Entry()


def _lacks_choice(question: Question, entry: Entry) -> bool:
    multi = question.type is QuestionType.MULTI_SELECT
    answered = entry.picked or entry.text is not None or entry.ask_back is not None
    return multi and question.required and not answered


def _enter_text(questions: Sequence[Question], draft: Draft, text: str) -> Step:
    """Enter a text: the whole answer, or the Other of a multi-select."""
    text = encodable(text)
    if not text.strip():
        return EMPTY
    if len(text) > MAX_TEXT:
        return TOO_LONG
    if questions[draft.at].type is QuestionType.MULTI_SELECT:
        entry = replace(draft.entries[draft.at], text=text, ask_back=None)
        return _show(_enter(draft, entry), view=View.QUESTION)
    return _move_on(questions, _enter(draft, Entry(text=text, done=True)))


def _enter(draft: Draft, entry: Entry) -> Draft:
    entries = list(draft.entries)
    entries[draft.at] = entry
    return replace(draft, entries=tuple(entries))


def _show(
    draft: Draft, *, view: View | None = None, at: int | None = None, editing: bool | None = None
) -> Moved:
    return Moved(
        draft=replace(
            draft,
            view=draft.view if view is None else view,
            at=draft.at if at is None else at,
            editing=draft.editing if editing is None else editing,
            step=draft.step + 1,
        )
    )


def _move_on(questions: Sequence[Question], draft: Draft) -> Step:
    """Show the next question or the review, or submit a single question."""
    if len(questions) == 1:
        return _submit(questions, draft)
    last = draft.at == len(questions) - 1
    if draft.editing or last:
        return _show(draft, view=View.REVIEW, at=len(questions), editing=False)
    return _show(draft, view=View.QUESTION, at=draft.at + 1)


def _submit(questions: Sequence[Question], draft: Draft) -> Step:
    answers = tuple(entry_answer(q, e) for q, e in zip(questions, draft.entries, strict=True))
    if any(q.required and a.skipped for q, a in zip(questions, answers, strict=True)):
        return REQUIRED
    return Answered(draft=replace(draft, step=draft.step + 1), answers=answers)


def _cancel(reason: str | None) -> Step:
    reason = encodable(reason or "").strip() or None
    if reason and len(reason) > MAX_TEXT:
        return TOO_LONG
    return Cancelled(reason=reason)


def entry_answer(question: Question, entry: Entry) -> Answer:
    """Convert an entry to an answer."""
    if entry.ask_back is not None:
        return Answer(ask_back=entry.ask_back, custom_text=entry.text)
    values = tuple(question.choices[i].label for i in entry.picked)
    if entry.text is None:
        return Answer(values=values)
    if question.type is QuestionType.TEXT:
        return Answer(values=(entry.text,))
    return Answer(values=values, custom_text=entry.text)
