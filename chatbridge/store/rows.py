"""Asks, calls and notices as rows of the schema, and back.

Owns which field goes into which column, and what becomes of rows that cannot be read. The
statements are in `transaction`, `sqlite` and `operations`.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from chatbridge.core.cards.row import Row, Summary
from chatbridge.core.model import (
    Agent,
    Ask,
    Call,
    CallName,
    ChannelState,
    Draft,
    Level,
    Notice,
    OperationEnd,
    Outcome,
    Post,
    Project,
    Question,
    Status,
)
from chatbridge.store.ask_summary import as_text, summary_of

log = logging.getLogger(__name__)

T = TypeVar("T")

NUMBER = int | float

_OF_AN_AGENT = ("id", "project", "client", "project_name", "agent_name")
OF_A_CALL = ("link", "request")
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
    return {**_content_row(ask), **state_row(ask)}


def _content_row(ask: Ask) -> dict[str, Any]:
    """What never changes."""
    return {
        "id": ask.id,
        "project": ask.project.key,
        "client": ask.agent.client,
        "fingerprint": ask.fingerprint,
        "created_at": ask.created_at,
        "project_name": ask.project.name,
        "project_label": ask.project.label,
        "agent_name": ask.agent.name,
        "tool": ask.tool,
        "dialect": ask.dialect,
        "title": ask.title,
        "questions": as_json(_QUESTIONS, ask.questions),
    }


def state_row(ask: Ask) -> dict[str, Any]:
    """What a change can touch."""
    return {
        "status": ask.status.value,
        "revision": ask.revision,
        "deadline": ask.deadline,
        "settled_at": ask.settled_at,
        "delivered_at": ask.delivered_at,
        "kept": ask.kept,
        "kept_until": ask.kept_until,
        "discarded": ask.discarded,
        "alone_since": ask.orphaned_since,
        "alone": ask.orphaned,
        "words": _words(ask),
        "summary": as_text(summary_of(ask)),
        "draft": as_json(Draft, ask.draft),
        "outcome": ask.outcome and as_json(Outcome, ask.outcome),
        "late": ask.late and as_json(Outcome, ask.late),
    }


def ask_of(row: sqlite3.Row) -> Ask:
    """:raises ValueError: :raises TypeError: it is not as this version writes it."""
    _check_listed(row)
    check_types(row, ("fingerprint", "tool", "dialect"), str)
    check_types(row, ("title",), str | None)
    check_types(row, ("revision",), NUMBER)
    check_types(row, ("kept_until", "alone_since"), NUMBER | None)
    ask = _ask(row)
    _check_parts(ask)
    return ask


def check_types(row: sqlite3.Row, columns: tuple[str, ...], kind: Any) -> None:
    """SQLite keeps a value of any type in any column."""
    for column in columns:
        if not isinstance(row[column], kind):
            raise TypeError(column)


def check_agent(row: sqlite3.Row) -> None:
    """What every row has that an agent caused."""
    check_types(row, _OF_AN_AGENT, str)
    check_types(row, ("project_label",), str | None)


def _check_listed(row: sqlite3.Row) -> None:
    check_agent(row)
    check_types(row, ("created_at",), NUMBER)
    check_types(row, ("deadline", "settled_at", "delivered_at"), NUMBER | None)


def texts(rows: Iterable[sqlite3.Row]) -> list[str]:
    """The first column."""
    return [row[0] for row in rows if isinstance(row[0], str)]


def _check_parts(ask: Ask) -> None:
    """That its parts fit one another: whoever draws or ends it relies on that."""
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


def _ask(row: sqlite3.Row) -> Ask:
    return Ask(
        id=row["id"],
        project=Project(key=row["project"], name=row["project_name"], label=row["project_label"]),
        agent=Agent(client=row["client"], name=row["agent_name"]),
        tool=row["tool"],
        dialect=row["dialect"],
        title=row["title"],
        questions=adapter(_QUESTIONS).validate_json(row["questions"]),
        fingerprint=row["fingerprint"],
        created_at=row["created_at"],
        deadline=row["deadline"],
        draft=adapter(Draft).validate_json(row["draft"]),
        status=Status(row["status"]),
        revision=row["revision"],
        settled_at=row["settled_at"],
        outcome=from_json(Outcome, row["outcome"]),
        late=from_json(Outcome, row["late"]),
        delivered_at=row["delivered_at"],
        kept=bool(row["kept"]),
        kept_until=row["kept_until"],
        discarded=bool(row["discarded"]),
        orphaned_since=row["alone_since"],
        orphaned=bool(row["alone"]),
    )


ROW_COLUMNS = (
    "seq", "id", "project", "project_name", "project_label", "client", "agent_name", "status",
    "created_at", "deadline", "settled_at", "delivered_at", "late IS NOT NULL AS is_late", "alone",
    "summary",
)  # fmt: skip
"""What a row of a list is made of."""


def row_of(row: sqlite3.Row, summary: Summary) -> Row:
    _check_listed(row)
    return Row(
        id=row["id"],
        seq=row["seq"],
        project=Project(key=row["project"], name=row["project_name"], label=row["project_label"]),
        agent=Agent(client=row["client"], name=row["agent_name"]),
        status=Status(row["status"]),
        created_at=row["created_at"],
        deadline=row["deadline"],
        settled_at=row["settled_at"],
        delivered_at=row["delivered_at"],
        late=bool(row["is_late"]),
        orphaned=bool(row["alone"]),
        summary=summary,
    )


def call_row(call: Call) -> dict[str, Any]:
    return {
        "link": call.name.link,
        "request": call.name.request,
        "ask_id": call.ask_id,
        "question_ids": json.dumps(call.question_ids, ensure_ascii=False),
        "started_at": call.started_at,
        "ended_at": call.ended_at,
        "delivered_at": call.delivered_at,
        "ticket": call.ticket,
        "late": call.late,
        "counts_until": call.counts_until,
    }


def call_of(row: sqlite3.Row) -> Call:
    check_types(row, (*OF_A_CALL, "ask_id"), str)
    check_types(row, ("started_at",), NUMBER)
    check_types(row, ("ended_at", "delivered_at", "counts_until"), NUMBER | None)
    return Call(
        name=CallName(link=row["link"], request=row["request"]),
        ask_id=row["ask_id"],
        question_ids=adapter(_QUESTION_IDS).validate_json(row["question_ids"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        delivered_at=row["delivered_at"],
        ticket=bool(row["ticket"]),
        late=bool(row["late"]),
        counts_until=row["counts_until"],
    )


def notice_row(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "link": notice.call.link,
        "request": notice.call.request,
        "project": notice.project.key,
        "client": notice.agent.client,
        "project_name": notice.project.name,
        "project_label": notice.project.label,
        "agent_name": notice.agent.name,
        "title": notice.title,
        "message": notice.message,
        "level": notice.level.value,
        "at": notice.at,
        "operation": notice.operation and as_json(OperationEnd, notice.operation),
    }


def notice_of(row: sqlite3.Row) -> Notice:
    check_agent(row)
    check_types(row, (*OF_A_CALL, "title", "message"), str)
    check_types(row, ("at",), NUMBER)
    return Notice(
        id=row["id"],
        call=CallName(link=row["link"], request=row["request"]),
        project=Project(key=row["project"], name=row["project_name"], label=row["project_label"]),
        agent=Agent(client=row["client"], name=row["agent_name"]),
        title=row["title"],
        message=row["message"],
        level=Level(row["level"]),
        at=row["at"],
        operation=from_json(OperationEnd, row["operation"]),
    )


def post_of(row: sqlite3.Row) -> Post:
    check_types(row, ("ask_id", "surface", "place"), str)
    check_types(row, ("revision",), int)
    return Post(
        ask_id=row["ask_id"],
        surface=row["surface"],
        place=row["place"],
        revision=row["revision"],
    )


def note_of(row: sqlite3.Row) -> ChannelState:
    """A cursor that is damaged is still one: without it, what waits would be passed over."""
    at = row["at"] if isinstance(row["at"], NUMBER) else 0.0
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


def from_json(kind: Any, text: str | None) -> Any:
    """None stays None."""
    return adapter(kind).validate_json(text) if text else None


LISTED = 1_000
NAMES = {
    "question": ("id",),
    "call": ("link", "request"),
    "post": ("ask_id", "surface"),
    "notice": ("id",),
    "command": ("id",),
}
"""What each kind of row is known by."""
UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)
"""What making a value from a row may raise."""


def row_name(kind: str, row: sqlite3.Row) -> str:
    parts = [row[part] for part in NAMES[kind]]
    return " ".join(part if isinstance(part, str) else "?" for part in parts)


class UnreadableRows:
    """Rows that this version cannot read: a newer one wrote them, or something damaged them.

    Such a row stays as it is and is left out of what is read, so that everything else goes on. Each
    is logged once, and all of them are listed for whoever asks how the store is.
    """

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
