"""Drawing an approval: what it is about, and buttons whose order and number follow what a wrong tap
would cost. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from chatbridge.core import form
from chatbridge.core.approval import goes_beyond, unread
from chatbridge.core.card import Button, Role
from chatbridge.core.events import AskSession, ShowAll
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Ask, Subject, View
from chatbridge.core.text import one_line, shortened, visible

HEAD, TAIL = 1_500, 800
"""So much of a long one is shown until the person asks for all of it."""
BEYOND = 240
REALLY = "Really run this command?"
MARKED = "It is marked as destructive, so it takes a second tap."
COMMANDS = "command"
"""The dialect of approvals whose command chatbridge runs by itself."""
_SPACES = re.compile(r"[^\S\n]{80,}")
_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*\n){10,}")


def legible(code: str) -> str:
    """What hides is visible, and much that is blank is told instead of shown: what comes after it
    would be out of sight."""
    code = _SPACES.sub(lambda blank: f" ⟨{len(blank[0]):,} spaces⟩ ", visible(code))
    return _EMPTY_LINES.sub(_counted, code)


def _counted(blank: re.Match[str]) -> str:
    lines = blank[0].count("\n") - 1
    return f"\n⟨{lines:,} empty lines⟩\n"


def drawn_subject(ask: Ask) -> Subject | None:
    question = ask.questions[0]
    subject = question.subject
    if subject is None:
        return None
    code = legible(subject.code)
    hidden = len(code) - HEAD - TAIL
    if unread(question, ask.draft) and hidden > 0:
        code = f"{code[:HEAD]}\n… {hidden:,} characters …\n{code[-TAIL:]}"
    return replace(
        subject,
        code=code,
        file=one_line(subject.file) if subject.file else None,
        folder=one_line(subject.folder) if subject.folder else None,
        beyond=shortened(one_line(subject.beyond), BEYOND) if subject.beyond else None,
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
