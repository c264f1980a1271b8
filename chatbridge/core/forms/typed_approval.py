"""What a typed reply does to an approval where everything can be typed: only exact words decide."""

from __future__ import annotations

import re

from chatbridge.core.cards.card import AskAction, Card, Role
from chatbridge.core.forms import form
from chatbridge.core.forms.form import Event
from chatbridge.core.model import ALLOW, DENY, View
from chatbridge.core.text import one_line

_REASON = re.compile(r"deny\s*:(.*)", re.IGNORECASE | re.DOTALL)
RUN_IT = "run it"
_WORDS = {
    "allow": Role.ALLOW,
    "session": Role.SESSION,
    "yes": Role.SESSION_NOW,
    "all": Role.SHOW_ALL,
    "why": Role.DENY_WHY,
    "back": Role.BACK,
}


def interpret_approval(card: Card, text: str) -> tuple[Event, ...] | None:
    """The events that this text stands for; None: it stands for none."""
    word = one_line(text).casefold().removeprefix("!")
    if word == "deny":
        return (form.Choose(step=card.step, option=DENY),)
    if word == RUN_IT:
        return _run(card)
    if (because := _REASON.fullmatch(text.strip())) is not None:
        return _because(card, because[1].strip())
    if word in _WORDS:
        button = card.button(_WORDS[word])
        return (button.action,) if button and not isinstance(button.action, AskAction) else None
    return (form.Text(text=text, step=card.step),) if card.view is View.OTHER else None


def _run(card: Card) -> tuple[Event, ...] | None:
    """Only what is marked as destructive, and over the screen that asks whether it is meant: who
    types this has said so."""
    if card.button(Role.RUN_NOW):
        return (form.Choose(step=card.step, option=ALLOW),)
    if card.button(Role.ALLOW) is None or not is_destructive(card):
        return None
    return tuple(form.Choose(step=card.step + i, option=ALLOW) for i in range(2))


def is_destructive(card: Card) -> bool:
    return bool(card.subject and card.subject.destructive)


def _because(card: Card, reason: str) -> tuple[Event, ...]:
    """Over the screen that asks why; without a reason, that far."""
    way: list[Event] = []
    if card.view in (View.SESSION, View.CONFIRM_DESTRUCTIVE):
        way.append(form.Back(step=card.step))
    if card.view is not View.OTHER:
        way.append(form.Other(step=card.step + len(way)))
    if reason or not way:
        way.append(form.Text(text=reason, step=card.step + len(way)))
    return tuple(way)


def format_approval_help(card: Card) -> str:
    """Said to a person who did something else."""
    if card.view is View.OTHER:
        return "Reply with the reason, or back."
    if card.view is View.SESSION:
        how = "Reply yes to allow it for this session, or deny, or back"
    elif card.view is View.CONFIRM_DESTRUCTIVE:
        how = f"Reply {RUN_IT} to run it, or deny, or back"
    elif card.button(Role.SHOW_ALL):
        how = "Reply all to see all of it first, or deny"
    else:
        allow = RUN_IT if is_destructive(card) else "allow"
        how = f"Reply {allow}, deny, or “deny:” and why"
        if card.button(Role.SESSION):
            how = f"Reply {allow}, deny, “deny:” and why, or session"
    return f"Nothing was decided. {how}."
