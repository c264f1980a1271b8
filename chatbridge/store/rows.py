"""Asks, calls and notices as rows of the schema, and back.

Owns which field goes into which column, the summary beside each ask, and what becomes of rows that
cannot be read. The statements are in `transaction`, `sqlite` and `operations`.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from chatbridge.core.cards.build import drawn_subject, said_to, state_of, verdict_of
from chatbridge.core.cards.card import State
from chatbridge.core.cards.row import Row, Summary
from chatbridge.core.model import (
    Answer,
    Ask,
    Call,
    ChannelState,
    Draft,
    Notice,
    OperationEnd,
    Outcome,
    Post,
    Question,
    Status,
    View,
)
from chatbridge.core.operation import Operation
from chatbridge.core.text import one_line, prose, shortened
from chatbridge.markdown import HEADLINE_SOURCE, headline

log = logging.getLogger(__name__)

MAX_SUMMARY = 300
MAX_ANSWERS, MAX_VALUES = 3, 5  # How many answers, and how many values of each, are summed up

T = TypeVar("T")

_TIMES = ("deadline", "settled_at", "delivered_at")
_CALL_TIMES = ("ended_at", "delivered_at", "counts_until")
_QUESTIONS = tuple[Question, ...]
_QUESTION_IDS = tuple[str, ...]


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def insert(table: str, row: Mapping[str, Any]) -> str:
    """The statement that adds this row, by its keys."""
    values = ", ".join(f":{key}" for key in row)
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"  # noqa: S608 - our names


def assignments(row: Iterable[str]) -> str:
    return ", ".join(f"{key} = :{key}" for key in row)


def ask_row(ask: Ask) -> dict[str, Any]:
    return {
        **agent_row(ask),
        **attributes(ask, "fingerprint", "created_at", "tool", "dialect", "title"),
        "questions": as_json(_QUESTIONS, ask.questions),
        **state_row(ask),
    }


def state_row(ask: Ask) -> dict[str, Any]:
    """What a change can touch."""
    return {
        **attributes(ask, "revision", *_TIMES, "kept", "kept_until", "discarded"),
        "status": ask.status.value,
        "alone_since": ask.orphaned_since,
        "alone": ask.orphaned,
        "words": _words(ask),
        "summary": adapter(Summary).dump_json(summary_of(ask), exclude_defaults=True).decode(),
        "draft": as_json(Draft, ask.draft),
        "outcome": ask.outcome and as_json(Outcome, ask.outcome),
        "late": ask.late and as_json(Outcome, ask.late),
    }


def ask_of(row: sqlite3.Row) -> Ask:
    """:raises ValueError: it is not as this version writes it."""
    ask = make(
        Ask,
        row,
        **agent_of(row),
        questions=adapter(_QUESTIONS).validate_json(row["questions"]),
        draft=adapter(Draft).validate_json(row["draft"]),
        outcome=optional_json(Outcome, row["outcome"]),
        late=optional_json(Outcome, row["late"]),
        orphaned_since=row["alone_since"],
        orphaned=row["alone"],
    )
    _check_parts(ask)
    return ask


def make(kind: type[T], row: sqlite3.Row, **parts: Any) -> T:
    """Build a value from the columns that are called as its fields, and from these parts. SQLite
    keeps a value of any type in any column. :raises ValueError: one of them does not fit."""
    hashable: Any = kind
    columns = {name: row[name] for name in _field_names(hashable) if name not in parts}
    return cast("T", adapter(hashable).validate_python({**columns, **parts}))


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Those that are columns of the same name."""
    return {name: getattr(value, name) for name in names}


def agent_row(of: Ask | Notice | Operation) -> dict[str, Any]:
    """What every row has that an agent caused."""
    return {
        "id": of.id,
        "project": of.project.key,
        "project_name": of.project.name,
        "project_label": of.project.label,
        "client": of.agent.client,
        "agent_name": of.agent.name,
    }


def agent_of(row: sqlite3.Row) -> dict[str, Any]:
    """`agent_row` backwards, but for the id."""
    names = {"key": row["project"], "name": row["project_name"], "label": row["project_label"]}
    return {"project": names, "agent": {"client": row["client"], "name": row["agent_name"]}}


def call_name_of(row: sqlite3.Row) -> dict[str, Any]:
    return {"link": row["link"], "request": row["request"]}


def texts(rows: Iterable[sqlite3.Row]) -> list[str]:
    """The first column."""
    return [row[0] for row in rows if isinstance(row[0], str)]


def _check_parts(ask: Ask) -> None:
    """Check that its parts fit one another: drawing and ending it rely on that. :raises
    ValueError:"""
    number = len(ask.questions)
    if not number or len(ask.draft.entries) != number or not 0 <= ask.draft.at <= number:
        raise ValueError("draft")
    for question, entry in zip(ask.questions, ask.draft.entries, strict=True):
        if any(not 0 <= at < len(question.choices) for at in entry.picked):
            raise ValueError("picked")
    answers = ask.answer.answers if ask.answer is not None else None
    if len(answers or ()) != (0 if answers is None else number):
        raise ValueError("answers")
    if ask.status is Status.ANSWERED and answers is None:
        raise ValueError("outcome")


ROW_COLUMNS = (
    "seq", "id", "project", "project_name", "project_label", "client", "agent_name", "status",
    "created_at", "deadline", "settled_at", "delivered_at", "late IS NOT NULL AS is_late", "alone",
    "summary",
)  # fmt: skip
"""What a row of a list is made of."""


def summary_in(text: str | None) -> Summary | None:
    """None if there is none, or another version of chatbridge has written it."""
    try:
        return None if text is None else cast("Summary", adapter(Summary).validate_json(text))
    except ValidationError:
        return None


def summary_of(ask: Ask) -> Summary:
    """The texts of an ask for lists. Every text is cut before it is looked at, so that a summary
    costs the same for a short ask and a long one."""
    if not ask.questions:  # no tool asks nothing, but the store keeps whatever it is given
        return Summary(question="", count=0)
    first, draft, state = ask.questions[0], ask.draft, state_of(ask)
    subject, outcome = first.subject, ask.late or ask.outcome
    question = shortened(headline(prose(first.text[:HEADLINE_SOURCE])), MAX_SUMMARY)
    return Summary(
        question=question,
        title=_title(ask, question),
        subject=_subject(ask),
        language=subject.language if subject else None,
        file=bool(subject and subject.file),
        approval=ask.approval,
        channels=ask.approval_channels,
        count=len(ask.questions),
        at=draft.at,
        done=sum(entry.done for entry in draft.entries),
        review=draft.view is View.REVIEW,
        state=state,
        verdict=verdict_of(ask),
        beyond=bool(subject and subject.beyond),
        said=_said(ask, state),
        ended_at=outcome.at if outcome else None,
        by=outcome.by.channel if outcome and outcome.by else None,
    )


def _subject(ask: Ask) -> str | None:
    first = ask.questions[0]
    if first.subject is None:
        return None
    code = first.subject.code.strip()[:MAX_SUMMARY]
    short = replace(first, subject=replace(first.subject, code=code))
    drawn = drawn_subject(replace(ask, questions=(short,)))
    return (drawn.file or drawn.code)[:MAX_SUMMARY] if drawn else None


def _title(ask: Ask, question: str) -> str | None:
    title = shortened(one_line((ask.title or ask.questions[0].title or "")[:1_000]), MAX_SUMMARY)
    repeated = len(ask.questions) == 1 and title.casefold() in question.casefold()
    return None if not title or repeated else title


def _said(ask: Ask, state: State) -> str | None:
    outcome = ask.late or ask.outcome
    if outcome is None:
        return None
    if state is State.CANCELLED:
        said = outcome.reason
    elif ask.approval:
        said = outcome.answers[0].custom_text if outcome.answers else None
    else:
        pairs = zip(ask.questions, outcome.answers[:MAX_ANSWERS], strict=False)
        texts = (said_to(question, _cut(answer)) for question, answer in pairs)
        said = " · ".join(text for text in texts if text)
    return shortened(one_line(said[: 4 * MAX_SUMMARY]), MAX_SUMMARY) if said else None


def _cut(answer: Answer) -> Answer:
    own = answer.custom_text
    return replace(
        answer,
        values=tuple(value[:MAX_SUMMARY] for value in answer.values[:MAX_VALUES]),
        custom_text=None if own is None else own[:MAX_SUMMARY],
    )


def row_of(row: sqlite3.Row, summary: Summary) -> Row:
    parts = agent_of(row)
    return make(Row, row, **parts, late=row["is_late"], orphaned=row["alone"], summary=summary)


def call_row(call: Call) -> dict[str, Any]:
    return {
        "link": call.name.link,
        "request": call.name.request,
        "question_ids": json.dumps(call.question_ids, ensure_ascii=False),
        **attributes(call, "ask_id", "started_at", *_CALL_TIMES, "ticket", "late"),
    }


def call_of(row: sqlite3.Row) -> Call:
    question_ids = adapter(_QUESTION_IDS).validate_json(row["question_ids"])
    return make(Call, row, name=call_name_of(row), question_ids=question_ids)


def notice_row(notice: Notice) -> dict[str, Any]:
    return {
        **agent_row(notice),
        "link": notice.call.link,
        "request": notice.call.request,
        **attributes(notice, "title", "message", "at"),
        "level": notice.level.value,
        "operation": notice.operation and as_json(OperationEnd, notice.operation),
    }


def notice_of(row: sqlite3.Row) -> Notice:
    operation = optional_json(OperationEnd, row["operation"])
    return make(Notice, row, **agent_of(row), call=call_name_of(row), operation=operation)


def post_of(row: sqlite3.Row) -> Post:
    return make(Post, row)


def note_of(row: sqlite3.Row) -> ChannelState:
    """Keep also a damaged cursor: without it, what waits would be skipped."""
    at = row["at"] if isinstance(row["at"], int | float) else 0.0
    return ChannelState(channel=row["channel"], key=row["key"], value=str(row["value"]), at=at)


def folded(text: str) -> str:
    """SQLite ignores case in ASCII only, so both sides of a search are folded here."""
    return text.casefold()


def _words(ask: Ask) -> str:
    words = [ask.title, *(question.text for question in ask.questions)]
    for outcome in (ask.outcome, ask.late):
        if outcome is not None:
            words.append(outcome.reason)
            for answer in outcome.answers:
                words += (*answer.values, answer.custom_text)
    return folded("\n".join(word for word in words if word))


def as_json(kind: Any, value: object) -> str:
    # Not dump_json: it raises on a lone surrogate, which the connection replaces.
    return json.dumps(adapter(kind).dump_python(value), ensure_ascii=False)


def optional_json(kind: Any, text: str | None) -> Any:
    """None where there is no text. :raises ValueError:"""
    return adapter(kind).validate_json(text) if text else None


LISTED = 1_000
NAMES = {
    "question": ("id",),
    "call": ("link", "request"),
    "post": ("ask_id", "surface"),
    "notice": ("id",),
    "command": ("id",),
}
"""Columns that identify a row of each kind."""
UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)  # Raised by unreadable rows


def row_name(kind: str, row: sqlite3.Row) -> str:
    parts = [row[part] for part in NAMES[kind]]
    return " ".join(part if isinstance(part, str) else "?" for part in parts)


class UnreadableRows:
    """Rows that this version cannot read: a newer one wrote them, or something damaged them. Such a
    row stays as it is and is left out of what is read, so that everything else goes on. Each is
    logged once, and all of them are listed for whoever asks how the store is."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], None] = {}
        self._open_asks: set[int] = set()

    @property
    def listed(self) -> Sequence[tuple[str, str]]:
        """The kind and the name of each."""
        return list(self._known)

    @property
    def open_asks(self) -> str:
        """The `seq` of each open ask among them, as JSON."""
        return json.dumps(list(self._open_asks))

    def read(
        self, kind: str, rows: Iterable[sqlite3.Row], make: Callable[[sqlite3.Row], T]
    ) -> list[T]:
        """Those that can be read."""
        found = []
        for row in rows:
            try:
                found.append(make(row))
            except UNREADABLE as error:
                self._add(kind, row, error)
        return found

    def first(
        self, kind: str, rows: Iterable[sqlite3.Row], make: Callable[[sqlite3.Row], T]
    ) -> T | None:
        """The first that can be read; the rest is not looked at."""
        return next((each for row in rows for each in self.read(kind, (row,), make)), None)

    def _add(self, kind: str, row: sqlite3.Row, error: Exception) -> None:
        if kind == "question" and row["status"] == "open":
            self._open_asks.add(row["seq"])
        name = row_name(kind, row)
        if (kind, name) in self._known or len(self._known) >= LISTED:
            return
        self._known[kind, name] = None
        # Only the error's kind: its text would quote what the row holds.
        why = type(error).__name__
        log.error("%s %s cannot be read by this version and is set aside (%s)", kind, name, why)
