"""The audit trail: which changes of the store get a line, and what it says. Pure.

A line says who asked, who was shown it, who answered what, what was allowed, and what was run. What
agents wrote is in it in short; what people typed only by its length, unless the owner wants it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from chatbridge.core.messages.message import MessageState, OwnerMessage
from chatbridge.core.model import (
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Agent,
    Answer,
    Ask,
    Attachment,
    Notice,
    Outcome,
    Person,
    Priority,
    Project,
    Question,
    Status,
    Subject,
)
from chatbridge.core.operation import UNENDED, Operation, Stage
from chatbridge.core.text import one_line, shortened

MAX_CHARACTERS, MAX_TYPED, LOOKED_AT = 200, 2_000, 4_000
LONGEST_SECRET = 300
"""So that none is cut before it is looked for."""
MAX_QUESTIONS = 5
"""How many questions of an ask are quoted."""

What = Mapping[str, Any]


class Kind(StrEnum):
    ASKED = "asked"
    SHOWN = "shown"
    TAKEN = "taken"
    RELEASED = "released"
    HANDED_OVER = "handed_over"
    ANSWERED = "answered"
    ALLOWED = "allowed"
    GRANTED = "granted"  # Allowed beyond one use
    DENIED = "denied"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"
    LATE = "late"  # Answered after its time-out
    DELIVERED = "delivered"
    DISCARDED = "discarded"
    TAKEN_BACK = "taken_back"
    NOTIFIED = "notified"  # An agent has told people something
    TOLD = "told"  # A person has written to an agent
    EXPIRED = "expired"
    REQUESTED = "requested"  # An agent wants a command to run
    RUN = "run"
    ENDED = "ended"


class Thing(StrEnum):
    """What the id of a line belongs to."""

    ASK = "ask"
    RULE = "rule"  # Of `approvals.allow`, by its number
    NOTICE = "notice"
    MESSAGE = "message"
    COMMAND = "command"


ENDS = {
    Status.CANCELLED: Kind.CANCELLED,
    Status.TIMED_OUT: Kind.TIMED_OUT,
    Status.WITHDRAWN: Kind.WITHDRAWN,
}
VERDICT_KINDS: Mapping[tuple[str, ...], Kind] = {
    (VERDICTS[DENY].label,): Kind.DENIED,
    (VERDICTS[ALLOW_SESSION].label,): Kind.GRANTED,
}
MESSAGE_KINDS = {
    MessageState.DELIVERED: Kind.DELIVERED,
    MessageState.EXPIRED: Kind.EXPIRED,
    MessageState.TAKEN_BACK: Kind.TAKEN_BACK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is written down."""

    kind: Kind
    thing: Thing
    id: str
    project: Project
    agent: Agent
    by: Person | None = None
    surface: str = ""  # Where it happened
    what: What = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is read. `kind` and `thing` may be of another version."""

    seq: int
    at: float
    kind: str
    thing: str
    id: str
    project: str
    project_name: str
    client: str
    agent_name: str
    who: str
    who_id: str  # With the channel before it, as chats are named
    channel: str  # Where they did it; empty: nobody did
    surface: str
    what: What


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Auditor:
    """`texts`: also what people type. `chats`: whose private chat a surface is. `clean` takes
    secrets out of a text."""

    texts: bool = False
    chats: Mapping[str, str] = field(default_factory=dict)
    clean: Callable[[str], str] = _as_it_is

    # ── asks ──────────────────────────────────────────────────────────────────────────────────────

    def opened(self, ask: Ask) -> Entry:
        what: dict[str, Any] = {"tool": ask.tool, "about": self._about(ask)}
        if not ask.approval and (ask.title or len(ask.questions) > 1):
            what["questions"] = [self._short(it.text) for it in ask.questions[:MAX_QUESTIONS]]
        if more := len(ask.questions) - MAX_QUESTIONS:
            what |= {"more": more} if more > 0 else {}
        if ask.approval:
            what |= self._subject(ask.questions[0].subject)
        if ask.attention.priority is not Priority.NORMAL:
            what["priority"] = ask.attention.priority.value
        return self._of(ask, Kind.ASKED, {**what, **_files(ask.files)})

    def changed(self, before: Ask, after: Ask) -> Iterator[Entry]:
        """What has become of an ask by one change."""
        yield from self._sharing(before, after)
        outcome, late = after.outcome, after.late
        if before.open and outcome is not None and not after.open:
            yield self._of(after, _end_of(after), self._said(after, outcome), by=outcome.by)
        if late is not None and before.late is None:
            yield self._of(after, Kind.LATE, self._said(after, late), by=late.by)
        was, grant = before.grant, after.grant
        if grant and grant.taken_back_at is not None and not (was and was.taken_back_at):
            what = {"about": self._about(after)}
            yield self._of(after, Kind.TAKEN_BACK, what, by=grant.taken_back_by)
        if after.delivered_at is not None and before.delivered_at is None:
            yield self._of(after, Kind.DELIVERED)
        if after.discarded and not before.discarded:
            yield self._of(after, Kind.DISCARDED)

    def _sharing(self, before: Ask, after: Ask) -> Iterator[Entry]:
        was, now = before.attention, after.attention
        if len(now.handovers) > len(was.handovers):
            last = now.handovers[-1]
            yield self._of(after, Kind.HANDED_OVER, {"to": last.to}, by=last.by)
        elif now.taken_by is not None and now.taken_by != was.taken_by:
            yield self._of(after, Kind.TAKEN, by=now.taken_by)
        elif now.taken_by is None and was.taken_by is not None:
            yield self._of(after, Kind.RELEASED, by=was.taken_by)

    def shown(self, ask: Ask, surface: str) -> Entry:
        return self._of(ask, Kind.SHOWN, surface=surface, by=self._whose(surface))

    def _said(self, ask: Ask, outcome: Outcome) -> What:
        what: dict[str, Any] = {"about": self._about(ask)}
        pairs = zip(ask.questions, outcome.answers, strict=False)
        if ask.approval:
            reasons = (answer.custom_text for _, answer in pairs if answer.custom_text)
            what |= self._typed("reason", next(reasons, None))
        elif outcome.answers:
            what["answers"] = [self._answer(question, answer) for question, answer in pairs]
        what |= self._typed("reason", outcome.reason)
        if grant := outcome.grant:
            what |= {"folder": grant.folder} if grant.folder else {}
            what["until"] = grant.until  # None: the end of the session
        return what

    def _answer(self, question: Question, answer: Answer) -> What:
        labels = {option.label for option in question.choices}
        picked = [self._short(value) for value in answer.values if value in labels]
        typed = [value for value in answer.values if value not in labels]
        typed += [answer.custom_text] if answer.custom_text is not None else []
        what: dict[str, Any] = {"picked": picked} if picked else {}
        what |= self._typed("text", "\n".join(typed) if typed else None)
        if answer.ask_back:
            what["asked"] = answer.ask_back.value
        if answer.decided_by:
            what["decided_by"] = answer.decided_by
        return {**what, **_files(answer.attachments)}

    def _about(self, ask: Ask) -> str:
        first = ask.questions[0]
        if first.subject is None:
            return self._short(ask.title or first.text)
        return self._short(first.subject.file or first.subject.code)

    def _subject(self, subject: Subject | None) -> What:
        if subject is None:
            return {}
        named = {"folder": subject.folder, "leads_to": subject.leads_to, "beyond": subject.beyond}
        return {key: self._short(value) for key, value in named.items() if value}

    # ── what is allowed without an ask ────────────────────────────────────────────────────────────

    def allowed(
        self, subject: Subject, *, tool: str, project: Project, agent: Agent, by: Thing, id: str
    ) -> Entry:
        """`by`: a rule, or the ask with a grant that stands."""
        what = {
            "tool": tool,
            "about": self._short(subject.file or subject.code),
            **self._subject(subject),
        }
        kind = Kind.ALLOWED
        return Entry(kind=kind, thing=by, id=id, project=project, agent=agent, what=what)

    # ── notices, messages and commands ────────────────────────────────────────────────────────────

    def notified(self, notice: Notice) -> Entry:
        what = {"about": self._short(notice.title or notice.message), "level": notice.level}
        return self._of(notice, Kind.NOTIFIED, {**what, **_files(notice.attachments)})

    def notice_shown(self, notice: Notice, surface: str) -> Entry:
        return self._of(notice, Kind.SHOWN, surface=surface, by=self._whose(surface))

    def told(self, message: OwnerMessage) -> Entry:
        what = {**self._typed("text", message.text), **_files(message.attachments)}
        return self._of(message, Kind.TOLD, what, by=message.by)

    def message_changed(self, before: OwnerMessage, after: OwnerMessage) -> Iterator[Entry]:
        if after.state is not before.state and after.state in MESSAGE_KINDS:
            yield self._of(after, MESSAGE_KINDS[after.state])

    def requested(self, operation: Operation) -> Entry:
        plan = operation.plan
        what = {
            "about": self._short(operation.title),
            "command": self._short(shlex.join(plan.argv)),
            "folder": self._short(plan.folder),
        }
        return self._of(operation, Kind.REQUESTED, what)

    def operation_changed(self, was: Stage, after: Operation) -> Iterator[Entry]:
        about = {"about": self._short(after.title)}
        if after.stage is Stage.RUNNING and was is not Stage.RUNNING:
            asked = {"approval": after.ask_id} if after.ask_id else {}
            yield self._of(after, Kind.RUN, {**about, **asked})
        elif after.ended and was in UNENDED:
            result = after.result
            code = {"exit": result.exit_code, "signal": result.signal}
            known = {key: value for key, value in code.items() if value is not None}
            yield self._of(after, Kind.ENDED, {**about, "end": after.stage.value, **known})

    # ── parts ─────────────────────────────────────────────────────────────────────────────────────

    def _of(
        self,
        thing: Ask | Notice | OwnerMessage | Operation,
        kind: Kind,
        what: What | None = None,
        *,
        by: Person | None = None,
        surface: str = "",
    ) -> Entry:
        if by is not None and not surface:
            surface = f"{by.channel}:{by.place}" if by.place else by.channel
        return Entry(
            kind=kind,
            thing=THINGS[type(thing)],
            id=thing.id,
            project=thing.project,
            agent=thing.agent,
            by=by,
            surface=surface,
            what=what or {},
        )

    def _whose(self, surface: str) -> Person | None:
        if (name := self.chats.get(surface)) is None:
            return None
        channel, _, place = surface.partition(":")
        return Person(name=name, channel=channel, place=place, id=place)

    def _short(self, text: str, most: int = MAX_CHARACTERS) -> str:
        line = one_line(text[:LOOKED_AT])
        return shortened(self.clean(line[: most + LONGEST_SECRET]), most)

    def _typed(self, key: str, text: str | None) -> What:
        """What a person wrote: its length."""
        if not text:
            return {}
        return {key: self._short(text, MAX_TYPED) if self.texts else len(text)}


THINGS: dict[type, Thing] = {
    Ask: Thing.ASK,
    Notice: Thing.NOTICE,
    OwnerMessage: Thing.MESSAGE,
    Operation: Thing.COMMAND,
}


def _end_of(ask: Ask) -> Kind:
    if ask.status in ENDS:
        return ENDS[ask.status]
    if not ask.approval or ask.outcome is None:
        return Kind.ANSWERED
    values = ask.outcome.answers[0].values if ask.outcome.answers else ()
    return VERDICT_KINDS.get(values, Kind.ALLOWED)


def _files(files: Sequence[Attachment]) -> What:
    """Kinds alone: a name may say too much."""
    return {"files": [it.kind.value for it in files]} if files else {}
