"""Asks for the tests of Telegram's drawing, and how a drawing is read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.document import Key, Rows, Time, paragraph
from chatbridge.core.asks import transitions as steps
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.forms import form
from chatbridge.core.model import (
    Agent,
    Ask,
    CallName,
    Draft,
    Level,
    Notice,
    Option,
    Person,
    Project,
    Question,
    QuestionType,
    Subject,
    new_draft,
)
from chatbridge.core.nights.later import LaterOption, options
from chatbridge.core.nights.nights import Nights
from tests.fakes.telegram import limits
from tests.fakes.telegram.entities import Formatted, formatted, width
from tests.fakes.telegram.html import parse_html
from tests.telegram_html import write

ID = "0b2c5f1e-8a34-4d6b-9f10-3c5d7e9a1b2c"
NOW = 1_794_780_000.0
HOUR = 3600.0
ADA = Person(name="Ada", channel="telegram", place="7")
PRIVATE = Seen(private=True, viewer="7", now=NOW)


def time_tag(at: float, *, now: float) -> str:
    return write(paragraph(Time(at)), now=now)


def select(text: str, *labels: str, multi: bool = False, required: bool = True) -> Question:
    """A label may have a description after " | "."""
    options = tuple(
        Option(label=label, description=description or None)
        for label, _, description in (label.partition(" | ") for label in labels)
    )
    kind = QuestionType.MULTI_SELECT if multi else QuestionType.SELECT
    return Question(id=text[:12], text=text, type=kind, options=options, required=required)


def confirm(text: str) -> Question:
    return Question(id=text[:12], text=text, type=QuestionType.CONFIRM)


def text(question: str, *, placeholder: str | None = None, required: bool = True) -> Question:
    return Question(id=question[:12], text=question, placeholder=placeholder, required=required)


def approval(
    code: str = "make test",
    *,
    question: str = "Run this command?",
    language: str | None = "bash",
    **details: Any,
) -> Question:
    """`details`: further fields of its subject."""
    subject = Subject(code=code, language=language, **details)
    return Question(id="q", text=question, type=QuestionType.APPROVAL, subject=subject)


def stepped(shown: Ask, *events: form.Event) -> Ask:
    """The ask after these events, each of them for the step that it meets."""
    for event in events:
        step = steps.apply_event(shown, replace(event, step=shown.draft.step))
        assert isinstance(step, form.Moved), step
        shown = replace(shown, draft=step.draft)
    return shown


def ask(
    *questions: Question,
    id: str = ID,
    project: str = "shop-api",
    agent: str = "Claude Code",
    title: str | None = None,
    draft: Draft | None = None,
    deadline: float | None = NOW + HOUR,
) -> Ask:
    return Ask(
        id=id,
        project=Project(key=f"/code/{project}", name=project),
        agent=Agent(client="client", name=agent),
        tool="ask_user",
        dialect="questions",
        title=title,
        questions=questions,
        fingerprint="f",
        created_at=NOW,
        deadline=deadline,
        draft=draft or new_draft(questions),
    )


def named(name: str) -> Project:
    return Project(key="/code/p", name=name)


def notice(
    message: str,
    *,
    title: str = "",
    level: Level = Level.INFO,
    project: str = "shop-api",
    agent: str = "Claude Code",
    id: str = ID,
) -> Notice:
    return Notice(
        id=id,
        call=CallName(link="link", request="1"),
        project=named(project),
        agent=Agent(client="client", name=agent),
        message=message,
        title=title,
        level=level,
        at=NOW,
    )


NEXT_TIME = partial(Nights().hours.next_time, after=NOW)


def later(shown: Ask) -> tuple[LaterOption, ...]:
    """More time, if eight hours are allowed and the morning is in four."""
    return options(shown, now=NOW, latest=shown.created_at + 8 * HOUR, morning=NOW + 4 * HOUR)


def card(shown: Ask) -> Card:
    return build_card(shown, channel="telegram", later=later(shown))


def labels(rows: Rows) -> list[list[str]]:
    return [[key.text.replace("\ufe0e", "") for key in row] for row in rows]


def keys(rows: Rows) -> list[Key]:
    return [key for row in rows for key in row]


def read(html: str) -> Formatted:
    """The message as Telegram takes it. Fails on what it refuses, and on tags without effect."""
    assert len(html.encode()) <= limits.SOURCE_BYTES
    source, entities = parse_html(html)
    assert width(source) <= limits.TEXT
    shown = formatted(source, entities)
    assert not shown.lost, (html, shown.lost)
    return shown


def read_plainly(html: str) -> str:
    """What a person reads of it."""
    return read(html).text.replace("\u2068", "").replace("\u2069", "")
