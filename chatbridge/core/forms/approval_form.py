"""An approval: what a person's events make of its draft. Pure, as `form` is for questions."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.forms import filling, form
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Draft, Entry, Question, Subject, View
from chatbridge.core.nights.hours import HOUR
from chatbridge.core.text import encodable

UNREAD = form.Refused(why="Tap Show all first, so that you see what you allow.")
TAP_IT = form.Refused(why="Tap Allow or Deny.")
LASTING = (HOUR, 8 * HOUR, None)
"""For how long more than one use can be allowed, in seconds; None: until the session ends."""


def advance_approval(question: Question, draft: Draft, event: form.Event) -> form.Step:
    """Apply `event` to the draft of an approval: allow once, deny, or allow more on screens of its
    own, of which the last says what it covers. A destructive command takes a second tap even to
    allow it once. Text beside the buttons allows nothing. Never raises."""
    if event.step is not None and event.step != draft.step:
        return form.STALE
    scopes, times = scopes_of(question), lasting(question.subject)
    match draft.view, event:
        case _, form.Choose(option=option) if option == DENY:
            return _decide(question, draft, DENY)
        case View.QUESTION, form.Choose(option=option) if option == ALLOW:
            if unread(question, draft):
                return UNREAD
            if question.subject and question.subject.destructive:
                return filling.show(draft, view=View.CONFIRM_DESTRUCTIVE)
            return _decide(question, draft, ALLOW)
        case View.CONFIRM_DESTRUCTIVE, form.Choose(option=option) if option == ALLOW:
            return _decide(question, draft, ALLOW)
        case View.CONFIRM_GRANT, form.Choose(option=option) if option == ALLOW_SESSION:
            fits = draft.scope < len(scopes)
            return _decide(question, draft, ALLOW_SESSION) if fits else form.UNFIT
        case View.QUESTION, form.AskMore() if scopes:
            first = View.SCOPE if len(scopes) > 1 else View.HOW_LONG
            return UNREAD if unread(question, draft) else filling.show(draft, view=first, scope=0)
        case View.SCOPE, form.Pick(option=option) if 0 <= option < len(scopes):
            return filling.show(draft, view=View.HOW_LONG, scope=option)
        case View.HOW_LONG, form.Pick(option=option) if 0 <= option < len(times):
            return filling.show(draft, view=View.CONFIRM_GRANT, lasting=times[option])
        case _, form.ShowAll() if unread(question, draft):
            return filling.show(draft, whole=True)
        case view, form.Other() if view is not View.OTHER:
            return filling.show(draft, view=View.OTHER)
        case _, (form.AskLater() | form.ShowNow() | form.Postponing()):
            return filling.postpone(draft, event)
        case _, (form.Take() | form.Release() | form.AskHandOver() | form.HandOver()):
            return filling.share(draft, event)
        case View.CONFIRM_GRANT, form.Back():
            return filling.show(draft, view=View.HOW_LONG)
        case View.HOW_LONG, form.Back() if len(scopes) > 1:
            return filling.show(draft, view=View.SCOPE)
        case view, form.Back() if view is not View.QUESTION:
            return filling.show(draft, view=View.QUESTION)
        case View.OTHER, form.Text(text=text):
            reason = encodable(text).strip()
            return filling.check_text(reason) or _decide(question, draft, DENY, reason)
        case _, (form.Text() | form.Attach() | form.Speak()):
            return TAP_IT
    return form.UNFIT


def allows(event: object) -> bool:
    """Whether this event allows something, or is the first of several taps that do."""
    return isinstance(event, form.AskMore) or (
        isinstance(event, form.Choose) and event.option != DENY
    )


def unread(question: Question, draft: Draft) -> bool:
    """Whether the person has to see more of the subject first."""
    return bool(question.subject and question.subject.whole_first and not draft.whole)


def scopes_of(question: Question) -> tuple[str | None, ...]:
    """What can be allowed beyond one use; nothing, if it is destructive or covers more anyway."""
    return question.subject.scopes if question.subject else (None,)


def lasting(subject: Subject | None) -> tuple[float | None, ...]:
    """For how long it can be allowed; a session only where it is known which one asks."""
    return LASTING[:-1] if subject and subject.shared_session else LASTING


def _decide(
    question: Question, draft: Draft, verdict: int, reason: str | None = None
) -> form.Answered:
    entry = Entry(picked=(verdict,), text=reason, done=True)
    after = replace(draft, entries=(entry,), step=draft.step + 1)
    return form.Answered(draft=after, answers=(filling.entry_answer(question, entry),))
