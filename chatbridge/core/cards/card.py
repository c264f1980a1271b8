"""The card: what a person should see of an ask right now, channel-neutral.

`draw` makes one; each channel renders it in its own way. Every text in a card that an agent wrote
has been through `text.visible`; the question is markdown source, the rest is plain.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chatbridge.core.forms.form import Event
from chatbridge.core.model import Outcome, Person, QuestionType, Subject, View


class State(StrEnum):
    """How the card looks at first glance."""

    OPEN = "open"
    LATE = "late"
    """Timed out, and the person is answering anyway."""
    HANDING_OVER = "handing_over"
    ANSWERED = "answered"
    KEPT = "kept"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"
    ALLOWED = "allowed"
    DENIED = "denied"


APPROVAL_GLYPH = "🔐"
GLYPHS = {
    State.OPEN: "❓",
    State.LATE: "⌛",
    State.HANDING_OVER: "✅",
    State.ANSWERED: "✅",
    State.KEPT: "✅",
    State.DISCARDED: "🚫",
    State.CANCELLED: "🚫",
    State.TIMED_OUT: "⌛",
    State.WITHDRAWN: "🚫",
    State.ALLOWED: "✅",
    State.DENIED: "🚫",
}


class AskAction(StrEnum):
    """What a button does to the ask itself, beside the form's events."""

    EXTEND = "extend"
    DISCARD = "discard"


class Role(StrEnum):
    """What a button is for; a channel places and styles it by this."""

    OTHER = "other"
    DROP_OTHER = "drop_other"
    BACK = "back"
    SKIP = "skip"
    DONE = "done"
    SEND = "send"
    CANCEL = "cancel"
    CANCEL_NOW = "cancel_now"
    EXTEND = "extend"
    ANYWAY = "anyway"
    DISCARD = "discard"
    EXPLAIN = "explain"
    EXPLAIN_NOW = "explain_now"
    REPHRASE = "rephrase"
    SHOW_ALL = "show_all"
    ALLOW = "allow"
    SESSION = "session"
    SESSION_NOW = "session_now"
    RUN_NOW = "run_now"
    DENY = "deny"
    DENY_WHY = "deny_why"


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    role: Role
    label: str
    action: Event | AskAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An option that can be tapped."""

    number: int
    label: str
    description: str | None
    recommended: bool
    picked: bool
    action: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A question with what was answered; None means skipped. `edit` only in the review."""

    question: str
    answer: str | None
    edit: Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    ask_id: str
    revision: int
    step: int
    state: State
    glyph: str
    project: str
    label: str | None
    agent: str
    title: str | None
    view: View | None
    """Which screen of the form is shown; None when there is nothing to fill in."""
    number: int = 0
    count: int = 1
    done: int = 0
    """How many of the questions the person has been through."""
    type: QuestionType | None = None
    question: str = ""
    required: bool = True
    placeholder: str | None = None
    entered: str | None = None
    """The text already given for this question."""
    changed_by: Person | None = None
    """Who changed the draft last."""
    choices: tuple[Choice, ...] = ()
    lines: tuple[Line, ...] = ()
    buttons: tuple[Button, ...] = ()
    declared: str | None = None
    """What is used if nobody answers, where the ask declared it and the owner allows it."""
    created_at: float = 0.0
    deadline: float | None = None
    soon_at: float | None = None
    """From when on the card says that the time runs out."""
    orphaned: bool = False
    outcome: Outcome | None = None
    by_you: bool = False
    """Whether the outcome was put in on the channel this card is for."""
    kept_until: float | None = None
    delivered_at: float | None = None
    handed_over_late: bool = False
    unheard: bool = False
    """It ended with nobody waiting, so that nobody was told."""
    approval: bool = False
    subject: Subject | None = None
    """What an approval is about; cut in the middle until the person has asked for all of it."""
    verdict: str | None = None
    """How an approval was answered: one of the verdicts' labels."""
    ours_to_run: bool = False
    """Once it is allowed, chatbridge runs it by itself: no agent has to be handed anything."""
    only_on: tuple[str, ...] = ()
    """The channels on which this approval can be answered, where this is none of them."""

    def button(self, role: Role) -> Button | None:
        return next((b for b in self.buttons if b.role is role), None)

    @property
    def by(self) -> Person | None:
        return self.outcome.by if self.outcome else None
