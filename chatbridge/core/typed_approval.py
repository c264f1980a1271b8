"""What a typed reply does to an approval where everything can be typed: only exact words decide."""

from __future__ import annotations

import re

from chatbridge.core import form
from chatbridge.core.card import Act, Card, Role
from chatbridge.core.form import Event
from chatbridge.core.model import DENY, View
from chatbridge.core.text import one_line

_REASON = re.compile(r"deny\s*:(.*)", re.IGNORECASE | re.DOTALL)
_WORDS = {
    "allow": Role.ALLOW,
    "session": Role.SESSION,
    "yes": Role.SESSION_NOW,
    "all": Role.SHOW_ALL,
    "why": Role.DENY_WHY,
    "back": Role.BACK,
}


def decided(card: Card, text: str) -> tuple[Event, ...] | None:
    """The events that this text stands for; None: it stands for none."""
    word = one_line(text).casefold().removeprefix("!")
    if word == "deny":
        return (form.Choose(step=card.step, option=DENY),)
    if (because := _REASON.fullmatch(text.strip())) is not None:
        return _because(card, because[1].strip())
    if word in _WORDS:
        button = card.button(_WORDS[word])
        return (button.does,) if button and not isinstance(button.does, Act) else None
    return (form.Text(text=text, step=card.step),) if card.view is View.OTHER else None


def _because(card: Card, reason: str) -> tuple[Event, ...]:
    """Over the screen that asks why; without a reason, that far."""
    way: list[Event] = []
    if card.view is View.SESSION:
        way.append(form.Back(step=card.step))
    if card.view is not View.OTHER:
        way.append(form.Other(step=card.step + len(way)))
    if reason or not way:
        way.append(form.Text(text=reason, step=card.step + len(way)))
    return tuple(way)


def what_decides(card: Card) -> str:
    """Said to a person who did something else."""
    if card.view is View.OTHER:
        return "Reply with the reason, or back."
    if card.view is View.SESSION:
        how = "Reply yes to allow it for this session, or deny, or back"
    elif card.button(Role.SHOW_ALL):
        how = "Reply all to see all of it first, or deny"
    else:
        how = "Reply allow, deny, “deny:” and why, or session"
    return f"Nothing was decided. {how}."
