"""What a bot says outside of cards: lists of asks, remarks, and what an agent tells.

An agent's words share a line with ours here: they are one line, cut, and isolated.
"""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.callback_data import (
    NEITHER,
    Action,
    Show,
    Tap,
    Use,
    encode,
    question_shown,
)
from chatbridge.channels.chat.callback_data import Output as OutputTap
from chatbridge.channels.chat.callback_data import Quiet as QuietTap
from chatbridge.channels.chat.capabilities import Capabilities, T
from chatbridge.channels.chat.keyboard import distinct, in_rows
from chatbridge.channels.chat.outcome import agent, project
from chatbridge.core.cards.card import State
from chatbridge.core.cards.operation_summary import output_name, summarize_operation
from chatbridge.core.cards.phrases import FINISHED, REMARK_GLYPH, REMARK_HEADING
from chatbridge.core.cards.row import Row, Rows
from chatbridge.core.exact_text import exact_line
from chatbridge.core.forms.typed_input import asks_yes_or_no
from chatbridge.core.forms.yes_no import NO, YES, read_yes_no
from chatbridge.core.model import (
    GLYPHS,
    Ask,
    Level,
    Notice,
    OperationEnd,
    Question,
    Subject,
)
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.switching import format_quiet, offered
from chatbridge.core.text import clipped, one_line, prose, visible
from chatbridge.markdown import HEADLINE_SOURCE, headline

LISTED_AT_MOST = 20
QUIET_WORDS = "Send !quiet 2h, !quiet until 08:00 or !quiet off."
LIST_QUESTION, ONE_QUESTION = 50, 60
REMARK_LENGTH = 1_000
TYPED_LENGTH, ANSWER_LENGTH = 200, 60
IN_A_LINE = 200
NUMBERS_A_ROW = 5
COMMAND_LENGTH, HOW_LENGTH = 60, 200
MOST_OUTPUTS = 10
"""A list with more of them is no longer one to read: the next one begins."""
OUTPUT_FILE_BYTES = 20 * 1024 * 1024
"""Telegram takes 50 MB, and not every connection does."""
WHOLE_IN_INBOX = "The whole output is in the web inbox."

NOTHING_WAITS = "Nothing is waiting."
ONLY_SNOOZED = f"{NOTHING_WAITS} To answer a snoozed question, reply to its message."
FILES_TOO = "a photo, a file or a voice message works, too"
ONLY_TEXT = "Only text can be an answer here."


# ── quiet hours ───────────────────────────────────────────────────────────────────────────────────


def quiet(nights: Nights, *, now: float) -> doc.Message:
    """The quiet hours, how they are now, and a button for each way to switch them."""
    keys = [
        doc.Key(text=label, data=encode(QuietTap(words=words)))
        for label, words in offered(nights, now=now)
    ]
    document = doc.paragraph(format_quiet(nights, now=now))
    return doc.Message(document=document, rows=tuple(in_rows(keys, 2)))


# ── which question a text is for ──────────────────────────────────────────────────────────────────


def which_one(text: str, asks: Sequence[Ask], *, spoken: bool = False) -> doc.Message:
    """Several questions could be meant. The text is already typed: nobody types it again.
    `spoken`: only later it is known what was said."""
    uses = [
        (f"{word}{project(ask.project.name).text}: {current_question(ask)}", ask, use)
        for ask in asks[:LISTED_AT_MOST]
        for word, use in _uses(ask, text, spoken=spoken)
    ]
    whole = [words for words, *_ in uses]
    labels = distinct(whole, [f"{number} · {label}" for number, label in enumerate(whole, 1)])
    keys = [_key(ask, label, use) for label, (_, ask, use) in zip(labels, uses, strict=True)]
    document = doc.Group(
        (
            doc.line(doc.strong("Which question is this for?")),
            doc.Quote(clipped(visible(text), TYPED_LENGTH)),
            doc.line("You can also reply to the card you mean."),
        )
    )
    return doc.Message(document=(document,), rows=(*in_rows(keys, 1), (_no("Neither"),)))


def _uses(ask: Ask, text: str, *, spoken: bool) -> Sequence[tuple[str, Use]]:
    """What a text can be for an ask, in one word where that is not clear."""
    step = ask.draft.step
    if spoken or not asks_yes_or_no(ask) or read_yes_no(text) is not None:
        return [("", Use(step=step))]
    return [("Yes · ", Use(step=step, option=YES)), ("No · ", Use(step=step, option=NO))]


def yes_or_no(ask: Ask) -> doc.Message:
    """To a text that says neither clearly. It is typed already, and goes along as the remark."""
    step = ask.draft.step
    rows = (
        (_key(ask, "Yes, with this remark", Use(step=step, option=YES)),),
        (_key(ask, "No, with this remark", Use(step=step, option=NO)),),
        (_no("Neither"),),
    )
    return doc.Message(document=doc.paragraph(*yes_or_no_question(ask)), rows=rows)


def yes_or_no_question(ask: Ask) -> doc.Line:
    asked = doc.Name(current_question(ask), ONE_QUESTION)
    return ("Is this yes or no to “", asked, "”?")


def use_it(ask: Ask) -> doc.Message:
    rows = ((_key(ask, "Use it", Use(step=ask.draft.step)), _no("No")),)
    return doc.Message(document=doc.paragraph(*use_it_question(ask)), rows=rows)


def use_it_question(ask: Ask) -> doc.Line:
    asked = doc.Name(current_question(ask), ONE_QUESTION)
    return ("Use this as your answer to “", asked, "”?")


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


def _key(ask: Ask, text: str, action: Action) -> doc.Key:
    tap = Tap(ask_id=ask.id, question=question_shown(ask), action=action)
    return doc.Key(text=text, data=encode(tap))


def _no(text: str) -> doc.Key:
    return doc.Key(text=text, data=encode(NEITHER))


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


def pending(listed: Rows) -> doc.Message:
    """The open asks, of which `listed` has at most `LISTED_AT_MOST` rows."""
    total = listed.total
    if not total:
        return doc.Message(document=doc.paragraph(NOTHING_WAITS))
    first = "1 question is open" if total == 1 else f"{total} questions are open"
    items = [
        (row.id, min(row.summary.at, row.summary.count - 1), (*row_entry(row), *_until(row)))
        for row in listed.rows
    ]
    return _with_numbers(first, items, total=total)


def open_asks(first: str, asks: Sequence[Ask]) -> doc.Message:
    items = [
        (ask.id, question_shown(ask), (*ask_entry(ask), *ends(ask.deadline)))
        for ask in asks[:LISTED_AT_MOST]
    ]
    return _with_numbers(first, items, total=len(asks))


def _with_numbers(
    first: str, items: Sequence[tuple[str, int, doc.Line]], *, total: int
) -> doc.Message:
    """A list with a button for each ask, which shows its card anew."""
    taps = [Tap(ask_id=ask_id, question=at, action=Show()) for ask_id, at, _ in items]
    keys = [doc.Key(text=str(i), data=encode(tap)) for i, tap in enumerate(taps, 1)]
    document = numbered(first, [entry for *_, entry in items], total=total)
    return doc.Message(document=document, rows=tuple(in_rows(keys, NUMBERS_A_ROW)))


def numbered(first: str, entries: Sequence[doc.Line], *, total: int) -> doc.Document:
    more: doc.Line = (f"and {total - len(entries)} more",) if total > len(entries) else ()
    items = doc.Numbered(items=tuple((each,) for each in entries))
    return (doc.line(first), doc.Group((items, doc.Lines((more,))), tight=True))


def history(rows: Sequence[Row]) -> doc.Document:
    """Ended asks, the newest first."""
    if not rows:
        return doc.paragraph("Nothing has ended yet.")
    return tuple(_ended(row) for row in rows)


def _ended(row: Row) -> doc.Lines:
    about, how = row.summary, row.how_it_ended
    # A reason is no answer: it stands on the card.
    answered = about.said and not about.approval and about.state is not State.CANCELLED
    said: doc.Line = (
        (": ", doc.strong(doc.Name(about.said or "", ANSWER_LENGTH))) if answered else ()
    )
    return doc.Lines(
        ((f"{row.glyph} ", *row_entry(row)), (how, *said, " · ", doc.Time(row.ended_at)))
    )


def ask_entry(ask: Ask) -> doc.Line:
    """Project and question. Several questions go by their title, if they have one."""
    title = one_line(ask.title or "") if len(ask.questions) > 1 else ""
    only = current_question(ask) if ask.approval else _headline(ask.questions[0])
    return _entry(ask.project.name, title or (f"{FINISHED}{only}" if ask.what_next else only))


def row_entry(row: Row) -> doc.Line:
    about = row.summary
    title = about.title if about.count > 1 else None
    subject = about.subject if about.approval else None
    return _entry(row.project.name, title or " ".join(f"{about.question} {subject or ''}".split()))


def _entry(name: str, words: str) -> doc.Line:
    return (doc.strong(project(name)), ": ", doc.Name(words, LIST_QUESTION))


def _until(row: Row) -> doc.Line:
    snoozed = row.attention.snoozed_until
    return ends(row.deadline) if snoozed is None else (" · snoozed until ", doc.Time(snoozed))


def ends(deadline: float | None) -> doc.Line:
    return () if deadline is None else (" · ends ", doc.Time(deadline))


# ── about the chat ────────────────────────────────────────────────────────────────────────────────


def remark(text: str) -> doc.Document:
    """What the owner should know about the set-up."""
    first: doc.Line = (f"{REMARK_GLYPH} ", doc.strong(REMARK_HEADING))
    return (doc.Lines((first, (doc.Untrusted(clipped(text, REMARK_LENGTH)),))),)


def not_here(room: str, setting: str) -> doc.Document:
    """Said to someone who may answer, in a chat that gets no questions."""
    how = ("To get them here, add ", doc.InlineCode(room), " to ", doc.InlineCode(setting), ".")
    return (doc.Lines((("Questions do not arrive in this chat.",), how)),)


def paired(host: str, *, here: bool) -> doc.Document:
    """`here`: in a chat that gets questions."""
    name = doc.strong(one_line(host))
    if here:
        return doc.paragraph("This chat is paired with ", name, ". Agents' questions arrive here.")
    return doc.paragraph("You are paired with ", name, ", and may answer its agents' questions.")


def unreachable(service: str, *, since: float, now: float) -> doc.Document:
    """Stands above cards that come late."""
    was = f"{service} was unreachable from "
    return doc.paragraph(was, doc.Time(since), " to ", doc.Time(now), ". Shown now:")


# ── what agents and operations tell ───────────────────────────────────────────────────────────────


def notice_heading(notice: Notice) -> doc.Line:
    names: list[doc.Inline] = [project(notice.project.name), agent(notice.agent.name)]
    if notice.level is not Level.INFO:
        names.insert(0, notice.level.value.capitalize())
    first, *rest = names
    others = (part for name in rest for part in (" · ", name))
    return (f"{GLYPHS[notice.level]} ", doc.strong(first), *others)


def operation_end(notice: Notice, end: OperationEnd, chat: Capabilities[T]) -> doc.Message:
    """How one operation ended. All that it printed is sent on a tap, or is in the web inbox."""
    said = summarize_operation(end)
    title = doc.strong(doc.Name(said.title, COMMAND_LENGTH))
    first: doc.Line = (f"{said.glyph} ", title, f" {said.word} · ", project(notice.project.name))
    heading = doc.Lines((first, (doc.Untrusted(clipped(said.how, HOW_LENGTH)),)))
    whole: doc.Line = (WHOLE_IN_INBOX,) if end.whole and not chat.buttons else ()
    shown = doc.Group(
        (heading, doc.Output(said.tail, chat.output), doc.Lines((whole,))), tight=True
    )
    rows = ((_output_key(end, "Whole output"),),) if end.whole and chat.buttons else ()
    return doc.Message(document=(shown,), rows=rows)


def operation_ends(notices: Sequence[tuple[Notice, OperationEnd]]) -> doc.Message | None:
    """Several that ended well, a line each; None if they are too many for one message."""
    printed = [end for _, end in notices if end.whole]
    if len(printed) > MOST_OUTPUTS or len(notices) > 2 * MOST_OUTPUTS:
        return None
    count = doc.strong(f"{len(notices)} commands finished")
    first = doc.line("✅ ", count, " · ", project(notices[0][0].project.name))
    titles = [summarize_operation(end).title for end in printed]
    labels = distinct(
        [f"Output: {title}" for title in titles],
        [f"Output {number}: {title}" for number, title in enumerate(titles, 1)],
    )
    keys = [_output_key(end, label) for end, label in zip(printed, labels, strict=True)]
    document = (first, doc.Lines(tuple(_finished(end) for _, end in notices)))
    return doc.Message(document=document, rows=tuple(in_rows(keys, 1)))


def _finished(end: OperationEnd) -> doc.Line:
    said = summarize_operation(end)
    title, how = clipped(said.title, COMMAND_LENGTH), clipped(said.how, HOW_LENGTH)
    return ("• ", doc.Name(title), f" · {how}")


def _output_key(end: OperationEnd, label: str) -> doc.Key:
    return doc.Key(text=label, data=encode(OutputTap(operation_id=end.id)))


def output_file(operation_id: str, content: bytes) -> doc.File:
    """All of it or, if that is too much for a phone, both ends."""
    return doc.File(name=output_name(operation_id), content=bounded(content, OUTPUT_FILE_BYTES))


def bounded(content: bytes, most: int) -> bytes:
    if len(content) <= most:
        return content
    head, tail = content[: most // 2], content[-most // 2 :]
    head = head[: head.rfind(b"\n") + 1] or head
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = len(content) - len(head) - len(tail)
    return head + f"\n… {left_out:,} bytes are left out here …\n\n".encode() + tail
