"""The card: the channel-neutral view of an ask that `build_card` creates and each channel renders.

All texts of agents in a card have been through `text.visible`. The question is markdown source, the
rest is plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chatbridge.core.cards.markup import Name, Time
from chatbridge.core.forms.form import Event, Text
from chatbridge.core.model import (
    Attachment,
    Grant,
    Outcome,
    Person,
    QuestionType,
    Subject,
    View,
    VoiceMessage,
)

Part = str | Name | Time  # Of a sentence of ours


class State(StrEnum):
    """The overall state of a card."""

    OPEN = "open"
    LATE = "late"  # Timed out, and a person is answering anyway
    HANDING_OVER = "handing_over"
    ANSWERED = "answered"
    KEPT = "kept"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"
    ALLOWED = "allowed"
    DENIED = "denied"


APPROVAL_GLYPH, REMINDER_GLYPH, SNOOZED_GLYPH, FINISHED_GLYPH = "🔐", "⏳", "💤", "🏁"
GLYPHS = {
    **dict.fromkeys(State, "🚫"),
    **dict.fromkeys((State.HANDING_OVER, State.ANSWERED, State.KEPT, State.ALLOWED), "✅"),
    **dict.fromkeys((State.LATE, State.TIMED_OUT), "⌛"),
    State.OPEN: "❓",
}


class AskAction(StrEnum):
    """Button actions on the ask itself, besides the form's events."""

    DISCARD = "discard"
    TAKE_BACK = "take_back"


class Role(StrEnum):
    """The purpose of a button, by which a channel places and styles it."""

    OTHER = "other"
    DROP_OTHER = "drop_other"
    BACK = "back"
    SKIP = "skip"
    DONE = "done"
    SEND = "send"
    SEND_ATTACHED = "send_attached"
    DROP_ATTACHED = "drop_attached"
    SEND_HEARD = "send_heard"
    CANCEL = "cancel"
    CANCEL_NOW = "cancel_now"
    LATER = "later"
    TAKE = "take"
    RELEASE = "release"
    HAND_OVER = "hand_over"
    SHOW_NOW = "show_now"
    ANYWAY = "anyway"
    DISCARD = "discard"
    UNDO = "undo"
    EXPLAIN = "explain"
    EXPLAIN_NOW = "explain_now"
    REPHRASE = "rephrase"
    SHOW_ALL = "show_all"
    ALLOW = "allow"
    MORE = "more"
    MORE_NOW = "more_now"
    TAKE_BACK = "take_back"
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
    image: Attachment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A question with its answer; None means skipped. Only the review has `edit`."""

    question: str
    answer: str | None
    edit: Event | None = None
    attachments: tuple[Attachment, ...] = ()  # What the person sent with the answer


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
    view: View | None  # The screen of the form; None if there is nothing to fill in
    number: int = 0
    count: int = 1
    done: int = 0  # Number of questions that the person has finished
    type: QuestionType | None = None
    question: str = ""
    required: bool = True
    placeholder: str | None = None
    entered: str | None = None  # The text entered for this question
    attachments: tuple[Attachment, ...] = ()  # What the agent shows with it, beside the options
    attached: tuple[Attachment, ...] = ()  # What the person has sent for this question so far
    voice: VoiceMessage | None = None  # On the screen that shows what was understood of it
    changed_by: Person | None = None  # The person who changed the draft last
    choices: tuple[Choice, ...] = ()
    later: tuple[Choice, ...] = ()  # The ways to postpone it
    snoozed_until: float | None = None
    replies: tuple[Text, ...] = ()  # The owner's quick answers to a question for text
    lines: tuple[Line, ...] = ()
    buttons: tuple[Button, ...] = ()
    declared: str | None = None  # The declared default, used if the owner allows it
    created_at: float = 0.0
    deadline: float | None = None
    soon_at: float | None = None  # When the card starts to say that time is running out
    urgency: str | None = None  # That it is urgent, or was meant to be
    sharing: tuple[tuple[Part, ...], ...] = ()  # Who is on it, and why others see it
    reminds: bool = False  # It was posted again because nobody had answered
    orphaned: bool = False
    outcome: Outcome | None = None
    by_you: bool = False  # Whether the outcome was entered on the card's own channel
    kept_until: float | None = None
    delivered_at: float | None = None
    handed_over_late: bool = False
    unheard: bool = False  # No caller was waiting when it ended
    approval: bool = False
    what_next: bool = False  # The agent has finished, and this asks for its next task
    subject: Subject | None = None  # Cut in the middle until the person asks for all of it
    verdict: str | None = None  # The verdict label of an approval
    send_at: float | None = None  # When the answer goes out that can still be undone
    ours_to_run: bool = False  # chatbridge runs the command itself once it is allowed
    grant_text: tuple[Part, ...] = ()  # What this screen, or the verdict, allows beyond one use
    grant: Grant | None = None  # What was allowed beyond one use
    only_on: tuple[str, ...] = ()  # The channels that can settle this approval, if this one cannot

    def button(self, role: Role) -> Button | None:
        return next((b for b in self.buttons if b.role is role), None)

    @property
    def done_for_now(self) -> bool:
        """Whether a person has said that there is no next task."""
        given = self.outcome.answers if self.outcome else ()
        return self.what_next and bool(given) and given[0].skipped

    @property
    def by(self) -> Person | None:
        return self.outcome.by if self.outcome else None
