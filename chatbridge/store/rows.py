"""Asks, calls and notices as rows of the schema, and back.

Owns which field goes into which column, the summary beside each ask, and what becomes of rows that
cannot be read. The statements are in `transaction`, `sql_store` and `operations`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from chatbridge.core.cards.build import drawn_subject, said_to, state_of, verdict_of
from chatbridge.core.cards.card import State
from chatbridge.core.cards.grants import allowed_words
from chatbridge.core.cards.phrases import FINISHED
from chatbridge.core.cards.row import Row, Summary
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    Call,
    CallName,
    ChannelState,
    Notice,
    Post,
    Project,
    Status,
    View,
)
from chatbridge.core.operation import Operation
from chatbridge.core.text import one_line, prose, shortened
from chatbridge.markdown import HEADLINE_SOURCE, headline
from chatbridge.store.database import Record

log = logging.getLogger(__name__)

MAX_SUMMARY = 300
MAX_ANSWERS, MAX_VALUES = 3, 5  # How many answers, and how many values of each, are summed up

T = TypeVar("T")

PARTS: dict[type, dict[str, str]] = {
    Project: {"key": "project", "name": "project_name", "label": "project_label"},
    Agent: {"client": "client", "name": "agent_name"},
    CallName: {"link": "link", "request": "request"},
}
"""Values that are stored with a column for each of their fields."""
RENAMED = {
    "orphaned_since": "alone_since",
    "orphaned": "alone",
    "group": "group_name",
    "grant": "grant_key",
}
"""Fields whose column has another name."""
SINGLE = (str, int, float, NoneType)  # What has a column as it is. Everything else is JSON.
STATE = (
    "status", "revision", "deadline", "settled_at", "delivered_at", "kept", "kept_until",
    "discarded", "orphaned_since", "orphaned", "draft", "outcome", "late", "attention",
)  # fmt: skip
"""What a change of an ask can touch."""
SUMMED_UP = frozenset(("status", "kept", "discarded", "draft", "outcome", "late"))
"""What of it is in the summary, or in the words that are searched. That an answer is delivered is
read from its column: it would cost a second summary for each answer."""
UNDELIVERED = (State.HANDING_OVER, State.KEPT)
_as_json = json.JSONEncoder(ensure_ascii=False).encode


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def prepare() -> None:
    """Make what else the first ask and the first answer would have to wait for. Any thread may."""
    for kind in (Ask, Call, Post):
        _fields(kind)
        adapter(kind)
    adapter(Summary)


def insert(table: str, row: Mapping[str, Any]) -> str:
    """The statement that adds this row, by its keys."""
    values = ", ".join(f":{key}" for key in row)
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"  # noqa: S608 - our names


@cache
def insert_of_ask(table: str, row: tuple[str, ...], *, key: tuple[str, ...]) -> str:
    """The statement that adds a row of an ask, or replaces the one with the same key."""
    names = [name for name in row if name != "ask_id"]
    values = ", ".join(f":{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in ("ask", *names) if name not in key)
    return (
        f"INSERT INTO {table} (ask, {', '.join(names)}) "  # noqa: S608 - our names
        f"SELECT seq, {values} FROM asks WHERE id = :ask_id "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
    )


def assignments(row: Iterable[str]) -> str:
    return ", ".join(f"{key} = :{key}" for key in row)


class _Fields:
    """How fields of a dataclass are stored: in which columns, and which of them as JSON."""

    def __init__(self, kind: Any, names: tuple[str, ...]) -> None:
        self.columns: dict[str, tuple[str, str]] = {}  # Each with its field, and the part of that
        self.json: dict[str, TypeAdapter[Any]] = {}
        for name, hint in _hints(kind).items():
            kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
            if names and name not in names:
                continue
            if hint in PARTS:
                self.columns |= {column: (name, part) for part, column in PARTS[hint].items()}
                continue
            self.columns[RENAMED.get(name, name)] = name, ""
            if not all(isinstance(each, type) and issubclass(each, SINGLE) for each in kinds):
                self.json[name] = adapter(hint)
        paths = {column: ".".join(filter(None, path)) for column, path in self.columns.items()}
        self.readers = {column: attrgetter(path) for column, path in paths.items()}


_hints = cache(get_type_hints)


@cache
def _fields(kind: Any, names: tuple[str, ...] = ()) -> _Fields:
    return _Fields(kind, names)


def columns(value: object, *names: str) -> dict[str, Any]:
    """A value as a row: all of its fields, or those that are named."""
    kind: Any = type(value)
    fields = _fields(kind, names)
    found = {column: read(value) for column, read in fields.readers.items()}
    for name, written in fields.json.items():
        if found[name] is not None:
            # Not dump_json: it raises on a lone surrogate, which the connection replaces.
            found[name] = _as_json(written.dump_python(found[name]))
    return found


def make(kind: type[T], row: Record, **given: Any) -> T:
    """Build a value from its columns, and from what is given. SQLite keeps a value of any type in
    any column. :raises ValueError: one of them does not fit."""
    hashable: Any = kind
    fields, found = _fields(hashable), dict[str, Any]()
    for column, (name, part) in fields.columns.items():
        if part:
            found.setdefault(name, {})[part] = row[column]
        elif name not in given:
            found[name] = row[column]
    for name, written in fields.json.items():
        if name not in given:
            found[name] = written.validate_json(found[name]) if found[name] else None
    return cast("T", adapter(hashable).validate_python({**found, **given}))


def ask_row(ask: Ask) -> dict[str, Any]:
    """All of its columns, and what is looked up of it."""
    return {**columns(ask), **_looked_up(ask)}


def changed_row(ask: Ask, before: Ask | None) -> dict[str, Any]:
    """The columns in which it differs from what is stored, or all that a change can touch."""
    changed = [
        name
        for name in STATE
        if before is None or name == "revision" or getattr(ask, name) is not getattr(before, name)
    ]
    looked_up = {} if SUMMED_UP.isdisjoint(changed) else _looked_up(ask)
    return {**columns(ask, *changed), **looked_up}


def _looked_up(ask: Ask) -> dict[str, Any]:
    summary = summary_of(ask)
    return {
        "words": _words(ask),
        "summary": adapter(Summary).dump_json(summary, exclude_defaults=True).decode(),
        "approval": summary.approval,
    }


def ask_of(row: Record) -> Ask:
    """:raises ValueError: it is not as this version writes it."""
    ask = make(Ask, row)
    _check_parts(ask)
    return ask


def prefixed(prefix: str) -> dict[str, str]:
    """Parameters for what begins so: from `prefix` on, before `beyond`."""
    return {"prefix": prefix, "beyond": f"{prefix}\U0010ffff"}


def texts(rows: Iterable[Record]) -> list[str]:
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
    "attention", "summary",
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
    question = headline(prose(first.text[:HEADLINE_SOURCE]))
    question = shortened(f"{FINISHED}{question}" if ask.what_next else question, MAX_SUMMARY)
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
        lasting=allowed_words(ask.grant) if ask.grant else None,
        beyond=bool(subject and subject.beyond),
        what_next=ask.what_next,
        said=_said(ask, state),
        ended_at=outcome.at if outcome else None,
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


def row_of(row: Record, summary: Summary) -> Row:
    if row["delivered_at"] is not None and summary.state in UNDELIVERED:
        summary = replace(summary, state=State.ANSWERED)
    return make(Row, row, late=row["is_late"], summary=summary)


def note_of(row: Record) -> ChannelState:
    """Keep also a damaged cursor: without it, what waits would be skipped."""
    at = row["at"] if isinstance(row["at"], int | float) else 0.0
    return ChannelState(channel=row["channel"], key=row["key"], value=str(row["value"]), at=at)


def notice_row(notice: Notice) -> dict[str, Any]:
    """All of its columns, and what is searched."""
    return {**columns(notice), "words": f"{notice.title}\n{notice.message}".casefold()}


def _words(ask: Ask) -> str:
    """Folded, as what is searched for: SQLite ignores case in ASCII only."""
    words = [ask.title, *(question.text for question in ask.questions)]
    for outcome in (ask.outcome, ask.late):
        if outcome is not None:
            words.append(outcome.reason)
            for answer in outcome.answers:
                words += (*answer.values, answer.custom_text)
    return "\n".join(word for word in words if word).casefold()


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of rows: what one is called, the columns that identify it, and how it is read."""

    name: str
    key: tuple[str, ...]
    read: Callable[[Record], T]

    def name_of(self, row: Record) -> str:
        parts = [row[part] for part in self.key]
        return " ".join(part if isinstance(part, str) else "?" for part in parts)


QUESTION = Kind("question", ("id",), ask_of)
CALL = Kind("call", ("link", "request"), partial(make, Call))
POST = Kind("post", ("ask_id", "surface"), partial(make, Post))
NOTICE = Kind("notice", ("id",), partial(make, Notice))
MESSAGE = Kind("message", ("id",), partial(make, OwnerMessage))
COMMAND = Kind("command", ("id",), partial(make, Operation))

LISTED = 1_000
UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)  # Raised by unreadable rows
STORED: tuple[tuple[Kind[Any], str], ...] = (
    (QUESTION, "SELECT * FROM asks"),
    (CALL, "SELECT calls.*, asks.id AS ask_id FROM calls JOIN asks ON seq = ask"),
    (NOTICE, "SELECT * FROM notices"),
    (COMMAND, "SELECT * FROM operations"),
)
"""What a look through the whole database reads."""


def unreadable(kind: Kind[Any], rows: Iterable[Record]) -> Iterator[str]:
    """What the rows are called that this version cannot read."""
    for row in rows:
        try:
            kind.read(row)
        except UNREADABLE:
            yield f"{kind.name} {kind.name_of(row)}"


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

    def read(self, kind: Kind[T], rows: Iterable[Record]) -> list[T]:
        """Those that can be read."""
        found = []
        for row in rows:
            try:
                found.append(kind.read(row))
            except UNREADABLE as error:
                self._add(kind, row, error)
        return found

    def first(self, kind: Kind[T], rows: Iterable[Record]) -> T | None:
        """The first that can be read; the rest is not looked at."""
        return next((each for row in rows for each in self.read(kind, (row,))), None)

    def _add(self, kind: Kind[Any], row: Record, error: Exception) -> None:
        if kind.name == "question" and row["status"] == "open":
            self._open_asks.add(row["seq"])
        known = kind.name, kind.name_of(row)
        if known in self._known or len(self._known) >= LISTED:
            return
        self._known[known] = None
        # Only the error's kind: its text would quote what the row holds.
        why = type(error).__name__
        log.error("%s %s cannot be read by this version and is set aside (%s)", *known, why)
