"""The words of the domain as immutable values.

Owns what an ask, a call and their parts are. How an ask changes is the form's and the broker's
business; how it is kept is the store's.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    label: str
    description: str | None = None


YES_NO = (Option(label="yes"), Option(label="no"))
ALLOW, ALLOW_SESSION, DENY = range(3)
VERDICTS = (Option(label="allow"), Option(label="session"), Option(label="deny"))
"""What an approval can be answered with, at the positions above."""


class AskBack(StrEnum):
    """What a person asks of the agent instead of answering."""

    EXPLAIN = "explain"
    REPHRASE = "rephrase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question's answer: labels in the options' order, or one text; nothing means skipped."""

    values: tuple[str, ...] = ()
    custom_text: str | None = None
    decided_by: str | None = None
    """"timeout" where a declared default stood in for the person."""
    ask_back: AskBack | None = None
    """The person asks back instead; `custom_text` is then what they want to know."""

    @property
    def skipped(self) -> bool:
        return not self.values and self.custom_text is None and self.ask_back is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an approval is about, to the letter."""

    code: str
    language: str | None = None
    file: str | None = None
    """The file that would be changed, as its path was given."""
    leads_to: str | None = None
    """Where that path, or one in the input, really leads, if it is another one."""
    folder: str | None = None
    """Where a command would run."""
    started: bool = False
    """The folder is only where the agent was started: it may have gone elsewhere since."""
    whole_first: bool = False
    """It is long, and cannot be undone: nothing can be allowed before all of it was shown."""
    latest: float | None = None
    """When its agent's client gives up at the latest: no deadline can be moved beyond."""
    destructive: bool = False
    """Marked as such by the owner: to allow it once takes a second tap."""
    beyond: str | None = None
    """What else is allowed with it, in our words, where allowing it allows more than itself."""

    @property
    def where(self) -> str:
        """What stands before the folder."""
        return "agent started in" if self.started else "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    id: str
    text: str
    type: QuestionType = QuestionType.TEXT
    options: tuple[Option, ...] = ()
    required: bool = True
    placeholder: str | None = None
    on_timeout: Answer | None = None
    """The declared default; used only where the owner's settings allow it, never for a confirm."""
    title: str | None = None
    """A short name of this one question."""
    takes_ask_back: bool = False
    """Asking back is an answer to this question. Otherwise it cancels the ask."""
    subject: Subject | None = None
    """Of an approval: what is to be allowed or denied."""
    channels: tuple[str, ...] = ()
    """Of an approval: where it may be settled, by the settings under which it was asked. Empty: it
    was asked before this was kept."""

    @property
    def choices(self) -> tuple[Option, ...]:
        """What can be picked by its position: the options, yes and no, or the verdicts."""
        if self.type is QuestionType.CONFIRM:
            return YES_NO
        return VERDICTS if self.type is QuestionType.APPROVAL else self.options

    @property
    def takes_other(self) -> bool:
        return self.type in (QuestionType.SELECT, QuestionType.MULTI_SELECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a person has put in for one question so far."""

    picked: tuple[int, ...] = ()
    text: str | None = None
    done: bool = False
    """The person has moved on from this question; with nothing put in, it is skipped."""
    ask_back: AskBack | None = None


class View(StrEnum):
    """Which of the form's screens is shown."""

    QUESTION = "question"
    OTHER = "other"
    REVIEW = "review"
    CANCEL = "cancel"
    EXPLAIN = "explain"
    SESSION = "session"
    CONFIRM_DESTRUCTIVE = "really"
    """A destructive command is about to be allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A half-filled form. `step` rises whenever another screen is shown, never for a toggle."""

    entries: tuple[Entry, ...]
    view: View = View.QUESTION
    at: int = 0
    step: int = 0
    editing: bool = False
    """The question was opened from the review and leads back to it."""
    late: bool = False
    """The person chose "Answer anyway" after the time-out."""
    by: Person | None = None
    """Who changed it last."""
    whole: bool = False
    """All of what an approval is about was shown."""


def new_draft(questions: tuple[Question, ...]) -> Draft:
    return Draft(entries=tuple(Entry() for _ in questions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where an ask comes from. `key` is the folder, or the link where there is no project."""

    key: str
    name: str
    label: str | None = None

    @property
    def party(self) -> str:
        """Who is counted together, and takes turns with others: the agents of one folder, of one
        token, of another user, or all that work outside of any project. All their keys are this
        or, where it ends with a colon, begin so. What agents call themselves does not count: they
        choose it."""
        kind, _, rest = self.key.partition(":")
        if kind in ("http", "uid"):
            return f"{kind}:{rest.partition(':')[0]}:"
        return "link:" if kind == "link" else self.key

    @property
    def outsider(self) -> bool:
        """Whether it is that of a token or of another user than the hub's own."""
        return self.key.startswith(("http:", "uid:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Who asks: the client's own name and the one shown to people."""

    client: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who put something in, and on which channel."""

    name: str
    channel: str
    place: str = ""
    """Where on that channel: which chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an ask ended, or the late answer given after it timed out."""

    at: float
    answers: tuple[Answer, ...] = ()
    """One for each question, in their order; empty unless answered."""
    reason: str | None = None
    by: Person | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One tool call's questions with their state. `revision` rises with every visible change."""

    id: str
    project: Project
    agent: Agent
    tool: str
    dialect: str
    """Which of the tool's forms was used: it decides how the outcome is written."""
    title: str | None
    questions: tuple[Question, ...]
    fingerprint: str
    created_at: float
    deadline: float | None
    draft: Draft
    status: Status = Status.OPEN
    revision: int = 1
    settled_at: float | None = None
    outcome: Outcome | None = None
    late: Outcome | None = None
    """An answer given after the time-out, kept beside the status."""
    delivered_at: float | None = None
    """When the answer is known to have reached an agent."""
    kept: bool = False
    """The answer waits for the agent's next identical ask."""
    kept_until: float | None = None
    discarded: bool = False
    orphaned_since: float | None = None
    """Since when no caller waits."""
    orphaned: bool = False
    """No caller has waited for so long that the card says so."""

    @property
    def open(self) -> bool:
        return self.status is Status.OPEN

    @property
    def answer(self) -> Outcome | None:
        """What a person answered, in time or late."""
        if self.status is Status.ANSWERED:
            return self.outcome
        return self.late

    @property
    def approval(self) -> bool:
        """Whether this allows the agent to do something, instead of telling it something."""
        return is_approval(self.questions)

    @property
    def approval_channels(self) -> tuple[str, ...]:
        """Where it may be settled, by the settings under which it was asked."""
        return self.questions[0].channels if self.questions else ()


def is_approval(questions: tuple[Question, ...]) -> bool:
    return questions[0].type is QuestionType.APPROVAL


@dataclass(frozen=True, slots=True, kw_only=True)
class CallName:
    """What makes a repeated call the same call. `request` is the JSON-RPC id as JSON."""

    link: str
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One caller of an ask, waiting or gone."""

    name: CallName
    ask_id: str
    question_ids: tuple[str, ...]
    started_at: float
    ended_at: float | None = None
    """When it stopped waiting, whether it got its outcome, left, or its link closed."""
    delivered_at: float | None = None
    ticket: bool = False
    """Its response was a ticket, so its delivery says nothing about the answer's."""
    late: bool = False
    """It took over an answer that had been kept."""
    counts_until: float | None = None
    """A response that is written later reaches nobody: the client gave up without saying so."""

    @property
    def live(self) -> bool:
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One card on one surface of a channel: where it is, and which revision it shows."""

    ask_id: str
    surface: str
    place: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """What a channel remembers: how far it has read its service (its cursor, committed together
    with what was read), or which topic a project has."""

    channel: str
    key: str
    value: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """What a tool asks for, before it has a row, a deadline or a caller."""

    project: Project
    agent: Agent
    tool: str
    dialect: str
    questions: tuple[Question, ...]
    title: str | None = None
    timeout: float | None = None
    """None: the owner's default. Infinite: there is no deadline."""
    fingerprint: str = ""
    """Made of the texts as the agent wrote them; `replace` keeps it."""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", _fingerprint(self))


def _fingerprint(request: AskRequest) -> str:
    """Same project, tool and words: the same fingerprint. Ids and the time-out do not count."""
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
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


GLYPHS = {Level.INFO: "ℹ️", Level.WARNING: "⚠️", Level.ERROR: "❌"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEnd:
    """That an operation has ended, which nobody waited for."""

    id: str
    title: str
    """The command as people say it: `cargo build`."""
    succeeded: bool
    how: str
    """How it ended, in our words: `exit 1`, `timed out`. Nothing where it succeeded."""
    took: float
    tail: str = ""
    """Of a failure: the last lines that it printed."""
    whole: bool = False
    """There is more of its output than the tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    id: str
    call: CallName
    """A repeated call is the same notice."""
    project: Project
    agent: Agent
    message: str
    title: str = ""
    level: Level = Level.INFO
    at: float
    operation: OperationEnd | None = None
    """What it is about, if it is chatbridge's own and about an operation. `message` then says the
    same in one line."""
