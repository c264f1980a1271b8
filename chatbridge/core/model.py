"""The domain model as immutable values: asks, calls, posts, notices and their parts.

The form and the broker change an ask; the store keeps it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum


class QuestionType(StrEnum):
    TEXT = "text"
    SELECT = "select"
    MULTI_SELECT = "multi-select"
    CONFIRM = "confirm"
    APPROVAL = "approval"


class Status(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"


class AttachmentKind(StrEnum):
    """How a file is shown. Its content decides, not its name."""

    PICTURE = "picture"  # PNG, JPEG, GIF or WebP
    TEXT = "text"
    AUDIO = "audio"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file of an ask, a notice or an answer. Its bytes are stored by their digest."""

    digest: str  # SHA-256 of the content, in hexadecimal digits
    name: str  # The last part of a file name, safe to show, and never used as a path
    type: str  # Media type
    size: int
    kind: AttachmentKind = AttachmentKind.FILE
    caption: str | None = None
    width: int | None = None  # Of a picture, in pixels
    height: int | None = None
    excerpt: str | None = None  # The first lines of a text
    ask_id: str | None = None  # Of what a person sent: the ask, or the message, it was sent for
    path: str | None = None  # Likewise: where a local agent can read it


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    label: str
    description: str | None = None
    image: Attachment | None = None


YES_NO = (Option(label="yes"), Option(label="no"))
ALLOW, ALLOW_SESSION, DENY = range(3)
VERDICTS = (Option(label="allow"), Option(label="session"), Option(label="deny"))
"""The possible answers to an approval, at the positions above."""


class AskBack(StrEnum):
    """What a person asks the agent for instead of answering."""

    EXPLAIN = "explain"
    REPHRASE = "rephrase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question: labels in the options' order, or one text; empty if skipped."""

    values: tuple[str, ...] = ()
    custom_text: str | None = None
    decided_by: str | None = None  # "timeout" if a declared default was used
    ask_back: AskBack | None = None  # If set, `custom_text` is what the person wants to know
    attachments: tuple[Attachment, ...] = ()  # What the person sent with it

    @property
    def skipped(self) -> bool:
        given = self.values or self.attachments or self.ask_back
        return not given and self.custom_text is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an approval is about, unchanged."""

    code: str
    language: str | None = None
    file: str | None = None  # Path of the file to change, as the agent gave it
    leads_to: str | None = None  # The real path, if one in the input resolves to another
    folder: str | None = None  # Working directory of the command
    started: bool = False  # The agent may have changed its directory since it started
    whole_first: bool = False  # All of it has to be shown before it can be allowed
    latest: float | None = None  # When the agent's client gives up: no deadline is later
    destructive: bool = False  # Marked as destructive by the owner: allowing it takes a second tap
    beyond: str | None = None  # What else is allowed with it, as text
    shared_session: bool = False  # Nothing tells the session of its agent from those of others
    edits: tuple[str, ...] = ()  # Folders in which edits can be allowed as well, the project's last

    @property
    def scopes(self) -> tuple[str | None, ...]:
        """What can be allowed beyond one use: edits in a folder, or exactly this (None)."""
        return () if self.destructive or self.beyond else self.edits or (None,)

    @property
    def where(self) -> str:
        """The words before the folder."""
        return "agent started in" if self.started else "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    id: str
    text: str
    type: QuestionType = QuestionType.TEXT
    options: tuple[Option, ...] = ()
    required: bool = True
    placeholder: str | None = None
    on_timeout: Answer | None = None  # The declared default, if the owner's settings allow it
    title: str | None = None  # Short name of this question
    takes_ask_back: bool = False  # Asking back answers this question. Otherwise it cancels the ask.
    subject: Subject | None = None  # Of an approval: what to allow or deny
    channels: tuple[str, ...] = ()  # Of an approval: where it could be settled when it was asked

    @property
    def choices(self) -> tuple[Option, ...]:
        """What can be picked by position: the options, yes and no, or the verdicts."""
        if self.type is QuestionType.CONFIRM:
            return YES_NO
        return VERDICTS if self.type is QuestionType.APPROVAL else self.options

    @property
    def takes_other(self) -> bool:
        return self.type in (QuestionType.SELECT, QuestionType.MULTI_SELECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A person's input for one question so far."""

    picked: tuple[int, ...] = ()
    text: str | None = None
    done: bool = False  # The person has moved on. It is skipped if the entry is empty.
    ask_back: AskBack | None = None
    attachments: tuple[Attachment, ...] = ()


class View(StrEnum):
    """The screens of the form."""

    QUESTION = "question"
    OTHER = "other"
    REVIEW = "review"
    CANCEL = "cancel"
    EXPLAIN = "explain"
    LATER = "later"  # Asks how much more time it needs, or when it should come back
    SCOPE = "scope"  # Asks what may be done without asking
    HOW_LONG = "how_long"  # Asks for how long
    CONFIRM_GRANT = "session"  # Asks for the last tap that allows more than one use
    CONFIRM_DESTRUCTIVE = "really"  # Asks for the second tap that allows a destructive command
    HAND_OVER = "hand_over"  # Asks to whom it is handed
    HEARD = "heard"  # Shows what was understood of a voice message, to be sent or discarded
    SENDING = "sending"  # The answer is complete and goes out shortly. Until then it can be undone.


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceMessage:
    """A recording that is turned into text before it answers anything."""

    recording: Attachment
    text: str | None = None
    problem: str | None = None  # Why there is no text. Neither: it is being transcribed


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A partly filled form. `step` increases with each change of the screen, not with a toggle."""

    entries: tuple[Entry, ...]
    view: View = View.QUESTION
    at: int = 0
    step: int = 0
    editing: bool = False  # The question was opened from the review and returns to it
    late: bool = False  # The person chose "Answer anyway" after the time-out
    by: Person | None = None  # The person who changed it last
    whole: bool = False  # The whole subject of the approval was shown
    scope: int = 0  # What to allow beyond one use, by its position in `Subject.scopes`
    lasting: float | None = None  # For how many seconds; None: until the session ends
    until: float | None = None  # When that would be over, as the last screen says
    send_at: float | None = None  # While it is being sent: when it goes out
    voice: VoiceMessage | None = None  # On the screen `HEARD`


def new_draft(questions: tuple[Question, ...]) -> Draft:
    return Draft(entries=tuple(Entry() for _ in questions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The origin of an ask. `key` is the folder, or the link if there is no project."""

    key: str
    name: str
    label: str | None = None

    @property
    def party(self) -> str:
        """The group that shares limits and takes turns: the agents of one folder, one token or one
        other user, or all agents outside a project. It is their key or, if it ends with a colon,
        the prefix of their keys. Names of agents do not count, because agents choose them."""
        kind, _, rest = self.key.partition(":")
        if kind == "hub":
            hub, _, place = rest.partition(":")
            return f"hub:{hub}:link:" if place.startswith("link:") else self.key
        if kind in ("http", "uid"):
            return f"{kind}:{rest.partition(':')[0]}:"
        return "link:" if kind == "link" else self.key

    @property
    def outsider(self) -> bool:
        """Whether it belongs to a token, to another user than the hub's own, or to one hub of
        several: its paths mean nothing here."""
        return self.key.startswith(("http:", "uid:", "hub:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The asking agent: the client's own name and its display name."""

    client: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who gave input, and the channel."""

    name: str
    channel: str
    place: str = ""  # The place on that channel, such as the chat
    id: str = ""  # What the service calls them for good; empty: it vouches for nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What was allowed beyond one use. With a time it holds for every session of the project,
    otherwise for the session that asked."""

    folder: str | None = None  # In which edits are allowed; None: exactly what was asked for
    lasting: float | None = None  # Seconds; None: until the session ends
    until: float | None = None
    taken_back_at: float | None = None

    def holds(self, now: float) -> bool:
        return self.taken_back_at is None and (self.until is None or now < self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of an ask, or the late answer after its time-out."""

    at: float
    answers: tuple[Answer, ...] = ()  # One for each question, in order; empty unless answered
    reason: str | None = None
    by: Person | None = None
    grant: Grant | None = None  # Of an approval


class Priority(StrEnum):
    LOW = "low"  # Never rings
    NORMAL = "normal"
    URGENT = "urgent"  # Rings in quiet hours, where the owner lets it through


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietRule:
    """Quiet hours as they are written: `hours` has a text such as `22:30-07:00`, or several with
    commas between them, for each weekday from Monday on."""

    hours: tuple[str, ...]
    zone: str | None = None  # None: the local one
    hold: bool = False  # Show cards only when quiet hours end


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """Somebody has passed an ask on."""

    by: Person
    to: str  # The name that the owner has given that person
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How loudly an ask may come, when it comes back, and how often it has."""

    priority: Priority = Priority.NORMAL
    over_budget: int | None = None  # It was marked urgent, but so many had rung already
    quiet: QuietRule | None = None  # The project's own quiet hours, beside the owner's
    snoozed_until: float | None = None
    raised: int = 0  # How often its card was posted again at the bottom of the chats
    reminded_at: float | None = None  # The last reminder
    escalated: bool = False  # It is shown also where only the last reminder goes
    touched_at: float | None = None  # When a person last did something with its card
    taken_by: Person | None = None  # Who has said that they are on it
    handovers: tuple[Handover, ...] = ()  # The oldest first
    second_line_at: float | None = None  # When the second line of its route got it
    everywhere: bool = False  # It is shown beside its route, which did not lead anywhere


WHAT_NEXT = "what_next"
"""The tool that asks what an agent should do next when it has finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What is asked, and by whom."""

    project: Project
    agent: Agent
    tool: str
    dialect: str  # The input format that was used, and so the format of the result
    title: str | None = None
    questions: tuple[Question, ...]
    attachments: tuple[Attachment, ...] = ()
    fingerprint: str = ""  # Hash of the agent's original texts. `replace` keeps it.

    @property
    def approval(self) -> bool:
        """Whether this asks for a permission instead of an answer."""
        return is_approval(self.questions)

    @property
    def what_next(self) -> bool:
        return self.tool == WHAT_NEXT

    @property
    def needs_caller(self) -> bool:
        """Whether an answer means something only while the call waits that asked: it is taken
        neither late nor for another call."""
        return self.approval or self.what_next

    @property
    def files(self) -> tuple[Attachment, ...]:
        """All that goes with it: the pictures of options come first, in their order."""
        images = (option.image for question in self.questions for option in question.options)
        return (*filter(None, images), *self.attachments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(_Content):
    """The questions of a tool call and their state. `revision` counts the visible changes."""

    id: str
    created_at: float
    deadline: float | None
    draft: Draft
    status: Status = Status.OPEN
    revision: int = 1
    settled_at: float | None = None
    outcome: Outcome | None = None
    late: Outcome | None = None  # An answer given after the time-out
    delivered_at: float | None = None  # When the answer reached an agent
    kept: bool = False  # The answer is kept for the agent's next identical ask
    kept_until: float | None = None
    discarded: bool = False
    orphaned_since: float | None = None  # Time since which no caller waits
    orphaned: bool = False  # No caller has waited for a while, and the card says so
    attention: Attention = Attention()

    @property
    def open(self) -> bool:
        return self.status is Status.OPEN

    @property
    def answer(self) -> Outcome | None:
        """A person's answer, in time or late."""
        if self.status is Status.ANSWERED:
            return self.outcome
        return self.late

    @property
    def grant(self) -> Grant | None:
        """What a person allowed with it beyond one use."""
        return self.outcome.grant if self.outcome else None

    @property
    def approval_channels(self) -> tuple[str, ...]:
        """Channels that could settle it when it was asked."""
        return self.questions[0].channels if self.questions else ()


def is_approval(questions: tuple[Question, ...]) -> bool:
    return questions[0].type is QuestionType.APPROVAL


@dataclass(frozen=True, slots=True, kw_only=True)
class CallName:
    """The identity of a call, also when it is repeated. `request` is the JSON-RPC id as JSON."""

    link: str
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One caller of an ask, waiting or ended."""

    name: CallName
    ask_id: str
    question_ids: tuple[str, ...]
    started_at: float
    ended_at: float | None = None  # It got its outcome, was cancelled, or its link closed
    delivered_at: float | None = None
    ticket: bool = False  # Its response was a ticket, so its delivery does not deliver the answer
    late: bool = False  # It received a kept answer
    counts_until: float | None = None  # A later response reaches nobody: the client gave up

    @property
    def live(self) -> bool:
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A card on one surface of a channel: its place, and the revision that it shows."""

    ask_id: str
    surface: str
    place: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """A stored value of a channel, such as its cursor, which is committed together with the effect
    of what was read."""

    channel: str
    key: str
    value: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest(_Content):
    """A request for an ask, before it has a row, a deadline or a caller."""

    timeout: float | None = None  # None: the owner's default. Infinite: no deadline.
    priority: Priority = Priority.NORMAL
    quiet: QuietRule | None = None  # The project's own quiet hours

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", _fingerprint(self))


def _fingerprint(request: AskRequest) -> str:
    """Hash the project, the tool and the texts. Ids and the time-out do not count."""
    content = [
        request.project.key,
        request.tool,
        request.dialect,
        request.title,
        [
            [q.text, q.type, [[o.label, o.description] for o in q.options], q.required]
            for q in request.questions
        ],
    ]
    subjects = [q.subject for q in request.questions if q.subject]
    if subjects:
        content.append([[s.code, s.language, s.file, s.leads_to, s.folder] for s in subjects])
    if request.files:
        places = [tuple(o.image for o in q.options) for q in request.questions]
        places.append(request.attachments)
        content.append([[a and [a.digest, a.caption] for a in files] for files in places])
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


GLYPHS = {Level.INFO: "ℹ️", Level.WARNING: "⚠️", Level.ERROR: "❌"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEnd:
    """The end of an operation that nobody waited for."""

    id: str
    title: str  # Display name of the command: `cargo build`
    succeeded: bool
    how: str  # How it failed, such as `exit 1` or `timed out`. Empty if it succeeded.
    took: float
    tail: str = ""  # Of a failure: its last lines of output
    whole: bool = False  # Whether there is more output than the tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    id: str
    call: CallName  # A repeated call has the same notice
    project: Project
    agent: Agent
    message: str
    title: str = ""
    level: Level = Level.INFO
    at: float
    attachments: tuple[Attachment, ...] = ()
    operation: OperationEnd | None = None
    """The operation, if chatbridge itself sends the notice. `message` then says the same in one
    line."""
