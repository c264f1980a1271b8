"""What a bot says outside of cards: lists of asks, remarks, and what an agent tells.

An agent's words share a line with ours here: they are one line, cut, and isolated.
"""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat.callback_data import (
    NEITHER,
    Action,
    Show,
    Tap,
    Use,
    encode,
    question_shown,
)
from chatbridge.channels.chat.document import (
    Document,
    Key,
    Line,
    Lines,
    Message,
    Name,
    Numbered,
    Quote,
    Strong,
    Time,
    Untrusted,
    paragraph,
)
from chatbridge.channels.chat.keyboard import PRIVATE, beside_ours, fitted, in_rows
from chatbridge.channels.chat.outcome import AGENT_LENGTH, PROJECT_LENGTH
from chatbridge.core.cards.card import State
from chatbridge.core.cards.operation_summary import OperationSummary
from chatbridge.core.cards.phrases import REMARK_GLYPH, REMARK_HEADING
from chatbridge.core.cards.row import Row, Rows
from chatbridge.core.exact_text import exact_line
from chatbridge.core.model import GLYPHS, Ask, Level, Notice, Project, Question, Subject
from chatbridge.core.text import clipped, one_line, prose, shortened, visible
from chatbridge.markdown import HEADLINE_SOURCE, headline

LISTED_AT_MOST = 20
LIST_QUESTION, ONE_QUESTION = 50, 60
REMARK_LENGTH = 1_000
TYPED_LENGTH, ANSWER_LENGTH = 200, 60
IN_A_LINE = 200
NUMBERS_A_ROW = 5
COMMAND_LENGTH, HOW_LENGTH = 60, 200

NOTHING_WAITS = "Nothing is waiting."
ONLY_TEXT = "Only text can be an answer here."


# ── which question a text is for ──────────────────────────────────────────────────────────────────


def which_one(text: str, asks: Sequence[Ask]) -> Message:
    """Several questions could be meant. The text is already typed: nobody types it again."""
    buttons = [
        _key(ask, label, Use(step=ask.draft.step))
        for ask, label in zip(asks, _labels(asks[:LISTED_AT_MOST]), strict=False)
    ]
    document = (
        Lines(((Strong("Which question is this for?"),),)),
        Quote(clipped(visible(text), TYPED_LENGTH)),
        Lines((("You can also reply to the card you mean.",),)),
    )
    return Message(document=document, rows=(*in_rows(buttons, 1), (_no("Neither"),)))


def use_it(ask: Ask) -> Message:
    rows = ((_key(ask, "Use it", Use(step=ask.draft.step)), _no("No")),)
    return Message(document=paragraph(*use_it_question(ask)), rows=rows)


def use_it_question(ask: Ask) -> Line:
    asked = Name(clipped(current_question(ask), ONE_QUESTION))
    return ("Use this as your answer to “", asked, "”?")


def _labels(asks: Sequence[Ask]) -> list[str]:
    """`project: question`, with a number where two would read the same."""
    whole = [f"{_project(ask.project).text}: {current_question(ask)}" for ask in asks]
    short = [fitted(label, PRIVATE.one) for label in whole]
    if len(set(short)) < len(short):
        short = [fitted(f"{i} · {label}", PRIVATE.one) for i, label in enumerate(whole, 1)]
    return [beside_ours(label) for label in short]


def current_question(ask: Ask) -> str:
    """The question that is to be answered now, as one line."""
    question = ask.questions[question_shown(ask)]
    if not ask.approval:
        return _headline(question)
    return in_one_line(question.text, exact_line(about(question.subject)[:IN_A_LINE]))


def about(subject: Subject | None) -> str:
    return (subject.file or subject.code.strip()) if subject else ""


def in_one_line(question: str, about: str) -> str:
    """What is asked, and as much of what about, to the letter, as there is room for."""
    return " ".join(f"{headline(prose(question))} {about[:IN_A_LINE]}".split())


def _headline(question: Question) -> str:
    return headline(prose(question.text[:HEADLINE_SOURCE]))


def _key(ask: Ask, text: str, action: Action) -> Key:
    tap = Tap(ask_id=ask.id, question=question_shown(ask), action=action)
    return Key(text=text, data=encode(tap))


def _no(text: str) -> Key:
    return Key(text=text, data=encode(NEITHER))


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


def pending(listed: Rows) -> Message:
    """The open asks, of which `listed` has at most `LISTED_AT_MOST` rows."""
    total = listed.total
    if not total:
        return Message(document=paragraph(NOTHING_WAITS))
    first = "1 question is open" if total == 1 else f"{total} questions are open"
    items = [
        (row.id, min(row.summary.at, row.summary.count - 1), (*row_entry(row), *ends(row.deadline)))
        for row in listed.rows
    ]
    return _with_numbers(first, items, total=total)


def open_asks(first: str, asks: Sequence[Ask]) -> Message:
    items = [
        (ask.id, question_shown(ask), (*ask_entry(ask), *ends(ask.deadline)))
        for ask in asks[:LISTED_AT_MOST]
    ]
    return _with_numbers(first, items, total=len(asks))


def _with_numbers(first: str, items: Sequence[tuple[str, int, Line]], *, total: int) -> Message:
    """A list with a button for each ask, which shows its card anew."""
    taps = [Tap(ask_id=ask_id, question=at, action=Show()) for ask_id, at, _ in items]
    keys = [Key(text=str(i), data=encode(tap)) for i, tap in enumerate(taps, 1)]
    document = numbered(first, [line for *_, line in items], total=total)
    return Message(document=document, rows=tuple(in_rows(keys, NUMBERS_A_ROW)))


def numbered(first: str, entries: Sequence[Line], *, total: int) -> Document:
    more: Line = (f"and {total - len(entries)} more",) if total > len(entries) else ()
    return (Lines(((first,),)), Numbered(items=tuple((each,) for each in entries), more=more))


def history(rows: Sequence[Row], *, channel: str) -> Document:
    """Ended asks, the newest first."""
    if not rows:
        return paragraph("Nothing has ended yet.")
    return tuple(_ended(row, channel) for row in rows)


def _ended(row: Row, channel: str) -> Lines:
    about, how = row.summary, row.how_it_ended(channel=channel)
    # A reason is no answer: it stands on the card.
    answered = about.said and not about.approval and about.state is not State.CANCELLED
    said: Line = (": ", Strong(Name(clipped(about.said or "", ANSWER_LENGTH)))) if answered else ()
    return Lines(((f"{row.glyph} ", *row_entry(row)), (how, *said, " · ", Time(row.ended_at))))


def ask_entry(ask: Ask) -> Line:
    """Project and question. Several questions go by their title, if they have one."""
    title = one_line(ask.title or "") if len(ask.questions) > 1 else ""
    only = current_question(ask) if ask.approval else _headline(ask.questions[0])
    return _entry(ask.project, title or only)


def row_entry(row: Row) -> Line:
    about = row.summary
    title = about.title if about.count > 1 else None
    subject = about.subject if about.approval else None
    return _entry(row.project, title or " ".join(f"{about.question} {subject or ''}".split()))


def _entry(project: Project, words: str) -> Line:
    return (Strong(_project(project)), ": ", Name(clipped(words, LIST_QUESTION)))


def ends(deadline: float | None) -> Line:
    return () if deadline is None else (" · ends ", Time(deadline))


# ── about the chat ────────────────────────────────────────────────────────────────────────────────


def remark(text: str) -> Document:
    """What the owner should know about the set-up."""
    first: Line = (f"{REMARK_GLYPH} ", Strong(REMARK_HEADING))
    return (Lines((first, (Untrusted(clipped(text, REMARK_LENGTH)),))),)


def unreachable(service: str, *, since: float, now: float) -> Document:
    """Stands above cards that come late."""
    was = f"{service} was unreachable from "
    return paragraph(was, Time(since), " to ", Time(now), ". Shown now:")


# ── what agents and operations tell ───────────────────────────────────────────────────────────────


def notice_heading(notice: Notice) -> Line:
    project, agent = _project(notice.project), _agent(notice)
    if notice.level is Level.INFO:
        return (f"{GLYPHS[notice.level]} ", Strong(project), " · ", agent)
    level = Strong(notice.level.value.capitalize())
    return (f"{GLYPHS[notice.level]} ", level, " · ", project, " · ", agent)


def operation_heading(notice: Notice, end: OperationSummary) -> Lines:
    """Which command ended, how, and in which project."""
    title = Strong(Name(clipped(end.title, COMMAND_LENGTH)))
    first: Line = (f"{end.glyph} ", title, f" {end.word} · ", _project(notice.project))
    return Lines((first, (Untrusted(clipped(end.how, HOW_LENGTH)),)))


def _project(project: Project) -> Name:
    return Name(shortened(one_line(project.name), PROJECT_LENGTH))


def _agent(notice: Notice) -> Name:
    return Name(shortened(one_line(notice.agent.name), AGENT_LENGTH))
