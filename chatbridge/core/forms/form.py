"""The form of an ask: what a person can do on it, and what can come of that.

A tap carries the step for which it was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.core.model import (
    Answer,
    Attachment,
    Draft,
    Handover,
    Person,
    View,
)

MAX_TEXT = 10_000  # Maximum characters of one answer or reason
MAX_ATTACHMENTS = 10  # Maximum files of one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tap:
    """`step` is that of the screen for which the button was drawn."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose(_Tap):
    """Pick the one option of a select, or yes (0) or no (1) of a confirm, which takes a remark."""

    option: int
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Toggle(_Tap):
    """Set one option of a multi-select on or off."""

    option: int
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(_Tap):
    """Pick these options of a multi-select, and no others."""

    options: frozenset[int]


class DropOther(_Tap):
    """Take back the text given as Other of a multi-select."""


class Done(_Tap):
    """Finish a multi-select."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A typed text: the answer, the Other or the reason, depending on the screen. A text that was
    sent as a reply has no step."""

    text: str
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    """Files that a person sends: the answer to a question for text, or to an Other; beside options
    they wait for the tap that they belong to."""

    attachments: tuple[Attachment, ...]
    text: str | None = None  # Their caption
    keep: bool = False  # More may follow: they answer nothing by themselves
    step: int | None = None


class SendAttached(_Tap):
    """Answer with the files that were sent, without another word."""


class DropAttached(_Tap):
    """Take back the files of this question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speak:
    """A voice message, to be turned into text."""

    recording: Attachment
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """What was understood of a voice message, or why nothing was."""

    digest: str  # Of the recording
    text: str
    problem: str | None = None
    step: int | None = None


class SendHeard(_Tap):
    """Answer with what was understood of a voice message; with the recording if nothing was."""


class Other(_Tap):
    """Ask for a text instead of an option."""


class Skip(_Tap):
    """Leave a question unanswered."""


class Back(_Tap):
    """One screen back; on the cancel screen: keep it open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(_Tap):
    """Open one question from the review."""

    question: int


class Submit(_Tap):
    """Send the reviewed answers."""


class AskCancel(_Tap):
    """Show the cancel screen: nothing is sent yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(_Tap):
    """Decline the ask."""

    reason: str | None = None


class AnswerAnyway(_Tap):
    """Open the form of a timed-out ask."""


class AskExplain(_Tap):
    """Show the screen for asking back: nothing is sent yet."""


class Explain(_Tap):
    """Ask back without saying what exactly: the agent should explain the question."""


class Rephrase(_Tap):
    """Ask back: the agent should put the question in other words."""


class AskMore(_Tap):
    """Show the first of the screens on which more than one use is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick(_Tap):
    """Pick what may be done without asking, or for how long."""

    option: int


class ShowAll(_Tap):
    """Show all of what an approval is about."""


class Undo(_Tap):
    """Take an answer back that is about to be sent."""


class AskLater(_Tap):
    """Show the screen for more time: nothing changes yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponing:
    """Words that were typed, and buttons of earlier versions, fit every screen: they have no
    step."""

    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend(Postponing):
    """Move the deadline by so many minutes, or as far as is allowed."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendUntil(Postponing):
    """Move the deadline to this time, in minutes since the epoch."""

    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snooze(Postponing):
    """Put the card out of the way for so many minutes."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnoozeUntil(Postponing):
    """Put the card out of the way until this time, in minutes since the epoch."""

    until: int


class ShowNow(_Tap):
    """Bring a snoozed card back."""


class Take(_Tap):
    """Tell everybody that one is on it."""


class Release(_Tap):
    """Take that back."""


class AskHandOver(_Tap):
    """Show the screen for handing it over: nothing changes yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver(_Tap):
    """Pass it on to the person with this key."""

    to: int


Later = Extend | ExtendUntil | Snooze | SnoozeUntil
Event = (
    Choose | Toggle | Select | DropOther | Done | Text | Other | Skip | Back | Edit | Submit
    | AskCancel | Cancel | AnswerAnyway | AskExplain | Explain | Rephrase | AskMore | Pick | ShowAll
    | Undo | AskLater | ShowNow | Later
    | Take | Release | AskHandOver | HandOver
    | Attach | SendAttached | DropAttached | Speak | Transcribed | SendHeard
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The draft after the event."""

    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The form is complete and sent: one answer for each question."""

    draft: Draft
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """It gets more time, or is snoozed. `core.nights.later` says what `how` comes to by the
    clock."""

    draft: Draft
    how: Later
    deadline: float | None = None
    snoozed_until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Somebody takes it, lets it go, or hands it over. `core.people.sharing` says what `how` comes
    to in the team."""

    draft: Draft
    how: Take | Release | HandOver
    taken_by: Person | None = None
    handover: Handover | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing changed. The channel shows `why` to the person."""

    why: str


Step = Moved | Answered | Cancelled | Postponed | Shared | Refused

ASIDE = (View.CANCEL, View.EXPLAIN, View.LATER, View.HAND_OVER)
"""Screens that lead back to where they were opened."""
STALE = Refused(why="That was an older step. Here is the current one.")
NONE_PICKED = Refused(why="Pick at least one, or use Other.")
REQUIRED = Refused(why="This question needs an answer.")
EMPTY = Refused(why="Type something first.")
UNFIT = Refused(why="That does not fit this question.")
NOTHING_HEARD = "Nothing was understood."
NO_FILE_HERE = Refused(why="A file does not fit here. Go back to the question first.")
ANY_FILE = Attachment(digest="", name="", type="", size=0)
"""Stands for a file that is yet to be fetched: whether it would be taken is known before."""
ABOUT_TO_BE_SENT = Refused(why="This answer is about to be sent. Undo it first.")
TOO_LONG = Refused(why=f"This answer is too long (at most {MAX_TEXT:,} characters).")


def too_many_files(most: int) -> Refused:
    return Refused(why=f"An answer can have {most} files at most. Send fewer.")
