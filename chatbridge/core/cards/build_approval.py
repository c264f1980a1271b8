"""Drawing an approval: what it is about, and buttons whose order and number follow what a wrong tap
would cost. Pure."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.cards.card import Button, Role
from chatbridge.core.exact_text import exact, exact_line
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import goes_beyond, unread
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Ask, Subject, View
from chatbridge.core.text import one_line, shortened

HEAD, TAIL = 1_500, 800
FIRST_LINES, LAST_LINES = 14, 8
"""So much of a long one is shown until the person asks for all of it: characters, or of many short
lines these."""
LONG_DIFF = FIRST_LINES + LAST_LINES + 1
"""Lines: what stands for the others takes one as well."""
BEYOND = 240
REALLY = "Really run this command?"
MARKED = "It is marked as destructive, so it takes a second tap."
COMMANDS = "command"
"""The dialect of approvals whose command chatbridge runs by itself."""


def drawn_subject(ask: Ask) -> Subject | None:
    question = ask.questions[0]
    subject = question.subject
    if subject is None:
        return None
    code = exact(subject.code)
    return replace(
        subject,
        code=_ends(code) if unread(question, ask.draft) else code,
        file=_line(subject.file),
        leads_to=_line(subject.leads_to),
        folder=_line(subject.folder),
        beyond=shortened(one_line(subject.beyond), BEYOND) if subject.beyond else None,
    )


def _line(path: str | None) -> str | None:
    return exact_line(path) if path else None


def _ends(code: str) -> str:
    hidden, lines = len(code) - HEAD - TAIL, code.split("\n")
    if hidden > 0:
        return f"{code[:HEAD]}\n… {hidden:,} characters …\n{code[-TAIL:]}"
    more = len(lines) - FIRST_LINES - LAST_LINES
    if len(lines) <= LONG_DIFF:
        return code
    return "\n".join(
        [
            *lines[:FIRST_LINES],
            f"… {more} lines …",
            *lines[-LAST_LINES:],
        ]
    )


def verdict_of(ask: Ask) -> str | None:
    """How an approval was answered."""
    answers = ask.outcome.answers if ask.outcome and ask.approval else ()
    return next(iter(answers[0].values), None) if answers else None


def approval_buttons(ask: Ask) -> list[Button]:
    step = ask.draft.step
    back = Button(role=Role.BACK, label="Back", does=form.Back(step=step))
    deny = Button(role=Role.DENY, label="Deny", does=form.Choose(step=step, option=DENY))
    why = Button(role=Role.DENY_WHY, label="Deny, say why…", does=form.Other(step=step))
    if ask.draft.view is View.SESSION:
        yes = form.Choose(step=step, option=ALLOW_SESSION)
        now = Button(role=Role.SESSION_NOW, label="Yes, for this session", does=yes)
        return [now, back, deny]
    allow = form.Choose(step=step, option=ALLOW)
    if ask.draft.view is View.REALLY:
        return [Button(role=Role.RUN_NOW, label="Yes, run it", does=allow), back, deny]
    if ask.draft.view is View.OTHER:
        return [back]
    if unread(ask.questions[0], ask.draft):
        show = Button(role=Role.SHOW_ALL, label="Show all", does=ShowAll(step=step))
        return [show, deny, why]
    if goes_beyond(ask.questions[0]):
        return [Button(role=Role.ALLOW, label="Allow", does=allow), deny, why]
    session = AskSession(step=step)
    return [
        Button(role=Role.SESSION, label="Allow for this session…", does=session),
        Button(role=Role.ALLOW, label="Allow once", does=allow),
        deny,
        why,
    ]
