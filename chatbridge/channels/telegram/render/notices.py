"""What the bot says outside of cards: lists, questions back, help.

An agent's words share a line with ours here: they are one line, cut, and kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbridge.channels.chat.callback_data import (
    NEITHER,
    Action,
    Show,
    Tap,
    Use,
    encode,
    question_shown,
)
from chatbridge.channels.chat.keyboard import PRIVATE, Key, Rows, beside_ours, fitted, in_rows
from chatbridge.channels.chat.outcome import PROJECT_LENGTH
from chatbridge.channels.telegram.render import approvals
from chatbridge.channels.telegram.render.card import Drawing
from chatbridge.channels.telegram.render.html import escape, headline, time_tag
from chatbridge.core.cards.card import State
from chatbridge.core.cards.phrases import REMARK_GLYPH, REMARK_HEADING
from chatbridge.core.cards.row import Row
from chatbridge.core.cards.row import Rows as Listed
from chatbridge.core.exact_text import exact_line
from chatbridge.core.forms import approval
from chatbridge.core.model import Ask, Project, Question
from chatbridge.core.text import clipped, isolated, one_line, prose, shortened, visible
from chatbridge.markdown import HEADLINE_SOURCE

CHANNEL = "telegram"
LISTED = 20
NUMBERS_A_ROW = 5
TYPED, QUESTION, LIST_QUESTION, ANSWER = 200, 60, 50, 60
REMARK = 1_000

COMMANDS = (
    ("pending", "Open questions"),
    ("history", "The last ten that have ended"),
    ("cancel", "Cancel an open question"),
    ("help", "What can be done here"),
)


# ── which question a text is for ──────────────────────────────────────────────────────────────────


def which_one(text: str, asks: Sequence[Ask]) -> Drawing:
    """Several questions could be meant. The text is already typed: nobody types it again."""
    typed = escape(clipped(visible(text), TYPED))
    buttons = [
        _key(ask, label, Use(step=ask.draft.step))
        for ask, label in zip(asks, _labels(asks[:LISTED]), strict=False)
    ]
    return Drawing(
        html=(
            f"<b>Which question is this for?</b>\n<blockquote>{typed}</blockquote>\n"
            "You can also reply to the card you mean."
        ),
        rows=(*in_rows(buttons, 1), (_no("Neither"),)),
    )


def use_it(ask: Ask) -> Drawing:
    question = escape(isolated(clipped(_question(ask), QUESTION)))
    return Drawing(
        html=f"Use this as your answer to “{question}”?",
        rows=((_key(ask, "Use it", Use(step=ask.draft.step)), _no("No")),),
    )


def reply_to_the_one_you_mean(asks: Sequence[Ask], *, now: float) -> Drawing:
    """For a text that fits no question while several are open."""
    return _of_asks("Reply to the question you mean.", asks, now=now)


def tap_it(asks: Sequence[Ask], *, now: float) -> Drawing:
    """For a text while nothing but approvals is open, which words do not settle."""
    return _of_asks(approval.TAP_IT.why, asks, now=now)


def _labels(asks: Sequence[Ask]) -> list[str]:
    """`project: question`, with a number where two would read the same."""
    whole = [
        f"{shortened(one_line(ask.project.name), PROJECT_LENGTH)}: {_question(ask)}" for ask in asks
    ]
    short = [fitted(label, PRIVATE.one) for label in whole]
    if len(set(short)) < len(short):
        short = [fitted(f"{i} · {label}", PRIVATE.one) for i, label in enumerate(whole, 1)]
    return [beside_ours(label) for label in short]


def _question(ask: Ask) -> str:
    """The question that is to be answered now, as one line."""
    question = ask.questions[question_shown(ask)]
    if ask.approval:
        about = approvals.about(question.subject)[: approvals.IN_A_LINE]
        return approvals.in_one_line(question.text, exact_line(about))
    return _headline(question)


def _key(ask: Ask, text: str, action: Action) -> Key:
    tap = Tap(ask_id=ask.id, question=question_shown(ask), action=action)
    return Key(text=text, data=encode(tap))


def _no(text: str) -> Key:
    return Key(text=text, data=encode(NEITHER))


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Item:
    """An ask in a list: what is said of it, and which question its button shows."""

    ask_id: str
    entry: str
    question: int
    deadline: float | None


def nothing_waits() -> Drawing:
    return Drawing(html="Nothing is waiting.")


def pending(listed: Listed, *, now: float) -> Drawing:
    """`listed` has at most `LISTED` rows."""
    total = listed.total
    if not total:
        return nothing_waits()
    first = "1 question is open" if total == 1 else f"{total} questions are open"
    items = [
        _Item(row.id, _row_entry(row), min(row.summary.at, row.summary.count - 1), row.deadline)
        for row in listed.rows
    ]
    return _list(first, items, total=total, now=now)


def _of_asks(first: str, asks: Sequence[Ask], *, now: float) -> Drawing:
    items = [_Item(ask.id, _entry(ask), question_shown(ask), ask.deadline) for ask in asks[:LISTED]]
    return _list(first, items, total=len(asks), now=now)


def _list(first: str, items: Sequence[_Item], *, total: int, now: float) -> Drawing:
    lines = [f"{i}. {item.entry}{_ends(item.deadline, now)}" for i, item in enumerate(items, 1)]
    more = [f"and {total - len(items)} more"] if total > len(items) else []
    taps = [Tap(ask_id=item.ask_id, question=item.question, action=Show()) for item in items]
    keys = [Key(text=str(i), data=encode(tap)) for i, tap in enumerate(taps, 1)]
    rows: Rows = tuple(in_rows(keys, NUMBERS_A_ROW))
    return Drawing(html="\n".join([first, "", *lines, *more]), rows=rows)


def history(rows: Sequence[Row], *, now: float) -> Drawing:
    """Ended asks, the newest first."""
    if not rows:
        return Drawing(html="Nothing has ended yet.")
    return Drawing(html="\n\n".join(_ended(row, now) for row in rows))


def _ended(row: Row, now: float) -> str:
    about, how = row.summary, row.how_it_ended(channel=CHANNEL)
    # A reason is no answer: it stands on the card.
    answered = about.said and not about.approval and about.state is not State.CANCELLED
    if answered:
        how += f": <b>{escape(isolated(clipped(about.said or '', ANSWER)))}</b>"
    return f"{row.glyph} {_row_entry(row)}\n{how} · {time_tag(row.ended_at, now=now)}"


def _row_entry(row: Row) -> str:
    about = row.summary
    title = about.title if about.count > 1 else None
    subject = about.subject if about.approval else None
    return _line(row.project, title or " ".join(f"{about.question} {subject or ''}".split()))


def _entry(ask: Ask) -> str:
    """Project and question; several questions go by their title, if they have one."""
    title = one_line(ask.title or "") if len(ask.questions) > 1 else ""
    words = title or (_question(ask) if ask.approval else _headline(ask.questions[0]))
    return _line(ask.project, words)


def _line(project: Project, words: str) -> str:
    name = escape(isolated(shortened(one_line(project.name), PROJECT_LENGTH)))
    return f"<b>{name}</b>: {escape(isolated(clipped(words, LIST_QUESTION)))}"


def _headline(question: Question) -> str:
    return headline(prose(question.text[:HEADLINE_SOURCE]))


def _ends(deadline: float | None, now: float) -> str:
    return "" if deadline is None else f" · ends {time_tag(deadline, now=now)}"


# ── about the chat ────────────────────────────────────────────────────────────────────────────────


def help_text(*, private: bool) -> str:
    own_words = "send it as a message" if private else "reply to the question"
    return "\n".join(
        (
            "Your agents' questions arrive here.",
            f"Tap a button to answer. For an answer in your own words, {own_words}.",
            "With several questions open, reply to the one you mean.",
            "/pending shows what is open, /history what has ended.",
            "/cancel tells an agent that you will not answer.",
            "What you answer after the time is up is kept for the agent's next call.",
        )
    )


def remark(text: str) -> str:
    """What the owner should know about the set-up."""
    return f"{REMARK_GLYPH} <b>{REMARK_HEADING}</b>\n{escape(clipped(text, REMARK))}"


def unreachable(*, since: float, now: float) -> str:
    """Above cards that come late."""
    between = f"from {time_tag(since, now=now)} to {time_tag(now, now=now)}"
    return f"Telegram was unreachable {between}. Shown now:"


def not_here(chat_id: int) -> str:
    """For someone who may answer, in a chat that gets no questions."""
    return (
        "Questions do not arrive in this chat.\n"
        f"To get them here, add <code>{chat_id}</code> to <code>telegram.chat_id</code>."
    )


def paired(host: str) -> str:
    return (
        f"This chat is paired with <b>{escape(one_line(host))}</b>. Agents' questions arrive here."
    )
