"""The events of a form: one for each kind of tap, and the typed text.

An event carries the step of the screen for which its button was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    """Pick the one option of a select, or yes (0) or no (1) of a confirm."""

    step: int
    option: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Toggle:
    """Set one option of a multi-select on or off."""

    step: int
    option: int
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropOther:
    """Take back the text given as Other of a multi-select."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Finish a multi-select."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A typed text: the answer, the Other or the reason, depending on the screen. A text that was
    sent as a reply has no step."""

    text: str
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Ask for a text instead of an option."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """One screen back; on the cancel screen: keep it open."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Open one question from the review."""

    step: int
    question: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """Send the reviewed answers."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCancel:
    """Show the cancel screen: nothing is sent yet."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Decline the ask."""

    step: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAnyway:
    """Open the form of a timed-out ask."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskExplain:
    """Show the screen on which a person says what should be explained: nothing is sent yet."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """Ask back without saying what exactly: the agent should explain the question."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rephrase:
    """Ask back: the agent should put the question in other words."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSession:
    """Show the screen for the second tap that allows something for the whole session."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAll:
    """Show all of what an approval is about."""

    step: int


Event = (
    Choose
    | Toggle
    | DropOther
    | Done
    | Text
    | Other
    | Skip
    | Back
    | Edit
    | Submit
    | AskCancel
    | Cancel
    | AnswerAnyway
    | AskExplain
    | Explain
    | Rephrase
    | AskSession
    | ShowAll
)
