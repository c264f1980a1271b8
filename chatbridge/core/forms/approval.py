"""The form of an approval: allow once, allow for the session with a second tap, or deny.

Pure like `form`, with the same events and steps. A destructive command takes a second tap even to
allow it once. Text beside the buttons allows nothing.
"""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.forms import form
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Draft, Entry, Question, View
from chatbridge.core.text import encodable

UNREAD = form.Refused(why="Tap Show all first, so that you see what you allow.")
TAP_IT = form.Refused(why="Tap Allow or Deny.")


def advance(question: Question, draft: Draft, event: form.Event) -> form.Step:
    """Apply `event` to `draft`. Never raises."""
    if event.step is not None and event.step != draft.step:
        return form.STALE
    match draft.view, event:
        case _, form.Choose(option=option) if option == DENY:
            return _decide(question, draft, DENY)
        case View.QUESTION, form.Choose(option=option) if option == ALLOW:
            if unread(question, draft):
                return UNREAD
            if question.subject and question.subject.destructive:
                return form.show(draft, view=View.CONFIRM_DESTRUCTIVE)
            return _decide(question, draft, ALLOW)
        case View.CONFIRM_DESTRUCTIVE, form.Choose(option=option) if option == ALLOW:
            return _decide(question, draft, ALLOW)
        case View.SESSION, form.Choose(option=option) if option == ALLOW_SESSION:
            return _decide(question, draft, ALLOW_SESSION)
        case View.QUESTION, form.AskSession() if not goes_beyond(question):
            return UNREAD if unread(question, draft) else form.show(draft, view=View.SESSION)
        case _, form.ShowAll() if unread(question, draft):
            return form.show(draft, whole=True)
        case View.QUESTION, form.Other():
            return form.show(draft, view=View.OTHER)
        case view, form.Back() if view is not View.QUESTION:
            return form.show(draft, view=View.QUESTION)
        case View.OTHER, form.Text(text=text):
            reason = encodable(text).strip()
            return form.check_text(reason) or _decide(question, draft, DENY, reason)
        case _, form.Text():
            return TAP_IT
    return form.UNFIT


def allows(event: object) -> bool:
    """Whether this event allows something or is the first of two taps that do."""
    return isinstance(event, form.AskSession) or (
        isinstance(event, form.Choose) and event.option != DENY
    )


def unread(question: Question, draft: Draft) -> bool:
    """Whether the person has to see more of the subject first."""
    return bool(question.subject and question.subject.whole_first and not draft.whole)


def goes_beyond(question: Question) -> bool:
    """Whether allowing it covers more than the subject: then there is no "session"."""
    return bool(question.subject and question.subject.beyond)


def _decide(
    question: Question, draft: Draft, verdict: int, reason: str | None = None
) -> form.Answered:
    entry = Entry(picked=(verdict,), text=reason, done=True)
    after = replace(draft, entries=(entry,), step=draft.step + 1)
    return form.Answered(draft=after, answers=(form.entry_answer(question, entry),))
