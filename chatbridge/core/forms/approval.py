"""The form of an approval: allow once, allow for the session with a second tap, or deny.

A destructive command takes a second tap even to allow it once. Pure like `form`, with the same
events and steps. An approval cannot be cancelled, only denied. Text beside the buttons allows
nothing.
"""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.forms import form
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Answer,
    Draft,
    Entry,
    Question,
    View,
)
from chatbridge.core.text import encodable

UNREAD = form.Refused(why="Tap Show all first, so that you see what you allow.")
TAP_IT = form.Refused(why="Tap Allow or Deny.")


def advance(question: Question, draft: Draft, event: form.Event) -> form.Step:
    """Apply `event` to `draft`. Never raises."""
    if event.step is not None and event.step != draft.step:
        return form.STALE
    match event:
        case form.Choose(option=option) if option == DENY:
            return _decided(draft, DENY)
        case form.Choose(option=option) if option == ALLOW and draft.view is View.QUESTION:
            if unread(question, draft):
                return UNREAD
            return (
                _show(draft, View.CONFIRM_DESTRUCTIVE)
                if destructive(question)
                else _decided(draft, ALLOW)
            )
        case form.Choose(option=option) if (
            option == ALLOW and draft.view is View.CONFIRM_DESTRUCTIVE
        ):
            return _decided(draft, ALLOW)
        case form.Choose(option=option) if option == ALLOW_SESSION and draft.view is View.SESSION:
            return _decided(draft, ALLOW_SESSION)
        case AskSession() if draft.view is View.QUESTION and not goes_beyond(question):
            return UNREAD if unread(question, draft) else _show(draft, View.SESSION)
        case ShowAll() if unread(question, draft):
            return form.Moved(draft=replace(draft, whole=True, step=draft.step + 1))
        case form.Other() if draft.view is View.QUESTION:
            return _show(draft, View.OTHER)
        case form.Back() if draft.view is not View.QUESTION:
            return _show(draft, View.QUESTION)
        case form.Text(text=text):
            return _denied(draft, text) if draft.view is View.OTHER else TAP_IT
        case _:
            return form.UNFIT


def allows(event: object) -> bool:
    """Whether this event allows something or is the first of two taps that do."""
    return isinstance(event, AskSession) or (
        isinstance(event, form.Choose) and event.option != DENY
    )


def unread(question: Question, draft: Draft) -> bool:
    """Whether the person has to see more of the subject first."""
    return bool(question.subject and question.subject.whole_first and not draft.whole)


def destructive(question: Question) -> bool:
    return bool(question.subject and question.subject.destructive)


def goes_beyond(question: Question) -> bool:
    """Whether allowing it covers more than the subject: then there is no "session"."""
    return bool(question.subject and question.subject.beyond)


def _denied(draft: Draft, reason: str) -> form.Step:
    reason = encodable(reason).strip()
    if not reason:
        return form.EMPTY
    return form.TOO_LONG if len(reason) > form.MAX_TEXT else _decided(draft, DENY, reason)


def _decided(draft: Draft, verdict: int, reason: str | None = None) -> form.Answered:
    entry = Entry(picked=(verdict,), text=reason, done=True)
    after = replace(draft, entries=(entry,), step=draft.step + 1)
    answer = Answer(values=(VERDICTS[verdict].label,), custom_text=reason)
    return form.Answered(draft=after, answers=(answer,))


def _show(draft: Draft, view: View) -> form.Moved:
    return form.Moved(draft=replace(draft, view=view, step=draft.step + 1))
