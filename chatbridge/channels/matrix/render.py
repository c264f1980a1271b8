"""Cards as Matrix shows them: a message's plain body and its HTML. Pure.

Owns the form's screens, the root above a thread, the steps that are over, and the reminder. How an
ask ended is in `ending`, the reactions in `keyboard`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from chatbridge.channels.matrix import ending, keyboard
from chatbridge.channels.matrix.html import (
    LIMIT,
    NOTHING,
    Words,
    clipped,
    faint,
    lines,
    name,
    numbered,
    ours,
    paragraph,
    paragraphs,
    question,
    sentences,
    size,
    strong,
    theirs,
)
from chatbridge.core import ends
from chatbridge.core.card import Card, Choice, Line, Role, State
from chatbridge.core.draw import draw
from chatbridge.core.model import Ask, QuestionType, Status, View
from chatbridge.core.text import isolated, one_line, shortened, visible
from chatbridge.core.timing import MORE_TIME_BEFORE
from chatbridge.core.words import time_near

CHANNEL = "matrix"
AGENT = 14
TITLE, LABEL = 28, 18
ROOT_LINE = 100
PAST_QUESTION, PAST_ANSWER = 300, 1_500
REMINDER_QUESTION = 60
ENTERED, DECLARED = 100, 200
CHOSEN, CHOSEN_LABEL = 12, 20
"""How many of the chosen options a line names, and how much of each."""
BOXED_ABOVE = 120
"""A longer description keeps its lines, in a frame of its own: they cannot pass for ours."""
ALL = 10_000

LEFT_OUT = paragraph(ours("… The whole question is in the web inbox."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    body: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where and when a card is seen."""

    now: float
    reactions: bool = True
    """Otherwise everything is typed, and the card says so."""
    reacted: frozenset[int] = frozenset()
    """The options, from 0, that people's reactions on this very message show as picked."""
    viewer: str | None = None
    """The person whose private room this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """How much of each part is shown."""

    question: int
    """In bytes."""
    label: int = ALL
    description: int = 0
    options: int = ALL
    part: int = 1
    """Answers are cut to this part of their usual length."""


_ROOMS = (
    _Room(question=22_000, description=10_000),
    _Room(question=12_000, description=2_000),
    _Room(question=8_000, label=200, description=300),
    _Room(question=4_000, label=100, description=120, part=2),
    _Room(question=4_000, label=100, part=2),
    _Room(question=4_000, label=40, part=4),
    _Room(question=4_000, label=12, part=4),
    _Room(question=2_000, label=40, options=40, part=4),
    _Room(question=2_000, label=20, options=20, part=4),
)
"""The first in which everything fits an event."""


def _fitted(make: Callable[[_Room], Words]) -> Drawing:
    for room in _ROOMS:
        words = make(room)
        if size(words) < LIMIT:
            break
    return _drawing(words)


def _drawing(words: Words) -> Drawing:
    return Drawing(body=words.body, html=words.html)


# ── the screen to be answered ─────────────────────────────────────────────────────────────────────


def draw_card(card: Card, seen: Seen) -> Drawing:
    if card.view is None:
        viewer, now = seen.viewer, seen.now
        return _fitted(lambda room: ending.ended(card, viewer=viewer, now=now, part=room.part))
    if card.view is View.CANCEL:
        return _drawing(paragraph(_cancel_hint(card, seen)))
    return _fitted(lambda room: _screen(card, seen, room))


def _screen(card: Card, seen: Seen, room: _Room) -> Words:
    shown = _shown(card, room)
    apart = "\n\n" if "\n" in shown.body and card.view is not View.REVIEW else "\n"
    below = paragraphs((_options(card, room), paragraph(lines(_hints(card, seen)))))
    head = paragraph(lines(_head(card)))
    return paragraphs((head, paragraphs((shown, below), apart=apart)))


def _head(card: Card) -> Iterator[Words]:
    project = ending.project(card)
    if card.state is State.LATE:
        yield ours(f"{card.glyph} ") + strong(ours("Late answer")) + ours(" · ") + project
    else:
        agent = name(shortened(card.agent, AGENT))
        yield ours(f"{card.glyph} ") + strong(project) + ours(" · ") + agent
    label = shortened(card.label or "", LABEL)
    title = shortened(card.title or "", TITLE - len(label))  # together: the question comes early
    parts = [isolated(words) for words in (label, title) if words]
    if card.view is View.REVIEW:
        parts.append("check and send")
    elif card.count > 1 and card.type is not None:
        parts.append(f"{card.number} of {card.count}")
    yield theirs(" · ".join(parts))


def _shown(card: Card, room: _Room) -> Words:
    if card.view is View.REVIEW:
        return ending.pairs(card.lines, part=room.part)
    return question(card.question, room=room.question, left_out=LEFT_OUT)


def _options(card: Card, room: _Room) -> Words:
    if card.type is QuestionType.CONFIRM or not card.choices:
        return NOTHING
    listed = numbered((_option(c, room) for c in card.choices[: room.options]), mark=" ")
    more = len(card.choices) - room.options
    rest = ours(f"… and {more} more. The whole question is in the web inbox.")
    return paragraphs((listed, paragraph(rest) if more > 0 else NOTHING))


def _option(choice: Choice, room: _Room) -> Words:
    label = strong(name(clipped(choice.label, room.label)))
    first = label + ours(" (recommended)") if choice.recommended else label
    said = clipped(choice.description or "", room.description) if room.description else ""
    if not said.strip():
        return first
    line = theirs(one_line(said))
    in_html = f"<br>{line.html}"
    if len(said) > BOXED_ABOVE:
        boxed = theirs(said.strip("\n"))
        in_html = f"<blockquote>{boxed.html}</blockquote>"
    return first + Words(f": {isolated(line.body)}", in_html)


# ── what can be done ──────────────────────────────────────────────────────────────────────────────


def _hints(card: Card, seen: Seen) -> Iterator[Words]:
    if card.view is View.QUESTION:
        yield _so_far(card, seen)
        yield _unseeded(card, seen)
    elif card.view is View.REVIEW and card.changed_by is not None and seen.viewer is None:
        yield ours("Last change: ") + name(clipped(one_line(card.changed_by.name), ends.NAME))
    if card.declared and card.state is not State.LATE:
        by = f" by {time_near(card.deadline, now=seen.now)}" if card.deadline is not None else ""
        declared = strong(name(clipped(card.declared, DECLARED)))
        yield ours(f"Used if nobody answers{by}: ") + declared
    if card.alone:
        yield faint(ours("The agent is not waiting now. An answer is kept for its next call."))
    yield sentences((ours(_hint(card, seen)), ours(_words(card, seen)), _ends(card, seen)))


def _so_far(card: Card, seen: Seen) -> Words:
    """What is chosen, where the reactions on this message do not show it."""
    picked = [choice for choice in card.choices if choice.picked]
    if card.type is not QuestionType.MULTI_SELECT:
        answer = one_line(card.entered or (picked[0].label if picked else ""))
        said = ours("Your answer so far: ") + name(clipped(answer, ENTERED))
        return said if answer else NOTHING
    if {choice.number - 1 for choice in picked} == seen.reacted and card.entered is None:
        return NOTHING
    chosen = [
        ours(f"{choice.number} ") + name(clipped(choice.label, CHOSEN_LABEL))
        for choice in picked[:CHOSEN]
    ]
    if len(picked) > CHOSEN:
        chosen.append(ours(f"{len(picked) - CHOSEN} more"))
    if card.entered is not None:
        chosen.append(ours("Other: ") + name(clipped(one_line(card.entered), ENTERED)))
    listed = chosen[0] if chosen else ours("nothing")
    for each in chosen[1:]:
        listed += ours(", ") + each
    change = " To change that, reply with all the numbers you want." if picked else ""
    return ours("Chosen so far: ") + listed + ours(f".{change}")


def _unseeded(card: Card, seen: Seen) -> Words:
    first, last = keyboard.SEEDED_OPTIONS + 1, len(card.choices)
    if last < first or not seen.reactions:
        return NOTHING
    which = f"Options {first} to {last}" if last > first else f"Option {last}"
    if card.type is QuestionType.MULTI_SELECT:
        return ours(f"{which}: reply with all the numbers you want, for example 1,{last}.")
    return ours(f"{which}: reply with the number.")


def _hint(card: Card, seen: Seen) -> str:
    if card.view is View.OTHER:
        return "Reply with your own words." + (" ↩️ shows the options." if seen.reactions else "")
    if card.view is View.REVIEW:
        if seen.reactions:
            return "✅ sends. To change one, reply with its number."
        return "Reply send to send, or with a number to change one."
    match card.type:
        case QuestionType.SELECT if seen.reactions:
            return "React with a number, or reply with a number or your own words."
        case QuestionType.SELECT:
            return "Reply with a number or your own words."
        case QuestionType.MULTI_SELECT if seen.reactions:
            return f"React with every number you want, then ✅. Or reply {_example(card)}."
        case QuestionType.MULTI_SELECT:
            return f"Reply with the numbers, for example {_example(card)}."
        case QuestionType.CONFIRM:
            return "👍 yes, 👎 no." if seen.reactions else "Reply yes or no."
        case _:
            return "Reply in this thread."


def _example(card: Card) -> str:
    return {1: "1", 2: "1,2"}.get(len(card.choices), "1,3")


def _words(card: Card, seen: Seen) -> str:
    """The words that stand for buttons where there are no reactions."""
    if seen.reactions:
        return ""
    chosen = any(choice.picked for choice in card.choices) or card.entered is not None
    words = [
        _word(card, role)
        for role in (Role.DONE, Role.SKIP, Role.BACK, Role.CANCEL)
        if card.button(role) and (chosen or role is not Role.DONE)
    ]
    if not words:
        return ""
    listed = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    return f"Or reply {listed}."


def _word(card: Card, role: Role) -> str:
    """A plain word where it can be nothing else."""
    answers = card.type is QuestionType.TEXT
    answers |= any(choice.label.casefold() == role.value for choice in card.choices)
    return f"!{role.value}" if answers else role.value


def _cancel_hint(card: Card, seen: Seen) -> Words:
    which = "this question" if card.count == 1 else f"all {card.count} questions"
    if seen.reactions:
        how = "Reply with a reason, or ✅ without one. ↩️ keeps it open."
    else:
        how = "Reply with a reason, or cancel to give none. Reply back to keep it open."
    return ours(f"Cancel {which}? {how}")


def _ends(card: Card, seen: Seen) -> Words:
    if card.state is State.LATE:
        return ours("The agent has moved on. Your answer is kept for it.")
    if card.deadline is None:
        return ours("No time limit.")
    at = time_near(card.deadline, now=seen.now)
    soon = card.soon_at is not None and seen.now >= card.soon_at
    end = strong(ours(f"Ends {at}, soon.")) if soon else ours(f"Ends {at}.")
    near = card.deadline - seen.now < MORE_TIME_BEFORE
    return sentences((end, _more_time(card))) if near else end


def _more_time(card: Card) -> Words:
    return ours("Reply +15 for more time.") if card.button(Role.EXTEND) else NOTHING


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────


def draw_root(card: Card, seen: Seen) -> Drawing:
    """The root while the screen to be answered is further down in its thread."""
    first, *_ = _head(card)
    asked = ending.asked_line(card.question, ROOT_LINE)
    if card.count > 1:
        title = shortened(card.title or "", ROOT_LINE)
        asked = name(title) if title else ours(f"{card.count} questions")
    done = ours(f"{card.done} of {card.count} answered.") if card.count > 1 else NOTHING
    go_on = (done, ours("Go on in the thread."), _ends(card, seen))
    return _drawing(
        paragraphs((paragraph(first), paragraph(strong(asked)), paragraph(sentences(go_on))))
    )


def draw_past(ask: Ask, *, view: View, at: int) -> Drawing:
    """A screen that was left, or that the end has overtaken."""
    outcome = ask.late or ask.outcome
    answered = bool(outcome and outcome.answers)
    going_on = ask.open or (ask.status is Status.TIMED_OUT and ask.draft.late and not answered)
    if view is View.CANCEL:
        ended = "Cancelled." if ask.status is Status.CANCELLED else "Not cancelled."
        return _drawing(paragraph(ours("Kept open." if going_on else ended)))
    if view is View.REVIEW or at >= len(ask.questions):
        ended = "Checked and sent." if answered else "Not sent."
        return _drawing(paragraph(ours("Not sent yet. It goes on below." if going_on else ended)))
    return _drawing(_past_question(ask, at))


def _past_question(ask: Ask, at: int) -> Words:
    line = _line(ask, at)
    number = ours(f"{at + 1}. ") if len(ask.questions) > 1 else NOTHING
    asked = number + ending.asked_line(visible(ask.questions[at].text), PAST_QUESTION)
    said = ending.answer(line, PAST_ANSWER) if line else NOTHING
    return paragraph(lines((asked, said)))


def _line(ask: Ask, at: int) -> Line | None:
    """What was answered in the end, or else so far; None: nothing yet."""
    outcome, entry = ask.late or ask.outcome, ask.draft.entries[at]
    if outcome and outcome.answers:
        return draw(ask, channel=CHANNEL).lines[at]
    if not entry.done and not entry.picked and entry.text is None:
        return None
    review = replace(ask.draft, view=View.REVIEW, at=len(ask.questions))
    return draw(replace(ask, status=Status.OPEN, draft=review), channel=CHANNEL).lines[at]


def draw_reminder(card: Card, seen: Seen) -> Drawing:
    at = f" · ends {time_near(card.deadline, now=seen.now)}" if card.deadline is not None else ""
    source = card.question or (card.lines[0].question if card.lines else card.title or "")
    return _drawing(
        paragraphs(
            (
                paragraph(ours("⏳ ") + strong(ending.project(card)) + ours(at)),
                paragraph(ending.asked_line(source, REMINDER_QUESTION)),
                paragraph(_more_time(card)),
            )
        )
    )
