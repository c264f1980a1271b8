"""Cards in a chat: the form's screens, and the messages that go with a card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chatbridge.channels.chat import approvals, attachments, keyboard, long_questions
from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.capabilities import Capabilities, Lengths, Seen, T
from chatbridge.channels.chat.hints import (
    TO_EXPLAIN,
    hints,
    sentences,
    side_hint,
    time_left,
)
from chatbridge.channels.chat.outcome import (
    ONE_ANSWER,
    ONE_QUESTION,
    agent,
    answer,
    asked_block,
    asked_line,
    pairs,
    project,
    sentence,
)
from chatbridge.core.asks.transitions import grant_of
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.build import ASIDE_CHOICES, build_card
from chatbridge.core.cards.card import (
    APPROVAL_GLYPH,
    FINISHED_GLYPH,
    GLYPHS,
    SNOOZED_GLYPH,
    Card,
    Role,
    State,
)
from chatbridge.core.cards.card import Line as Answered
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Outcome, Status, View
from chatbridge.core.text import clipped, one_line, prose, shortened

TITLE_LENGTH, LABEL_LENGTH = 28, 18
ROOT_LENGTH, SNOOZED_CODE_LENGTH = 100, 60
TOAST_LENGTH, TOAST_LABEL_LENGTH = 60, 40
PLACEHOLDER_LENGTH = 64
EXCERPT_LINES = (12, 4)
"""How many lines of a text a card shows, if it has room for them."""
GOES_ON = "It goes on below."
CLOSED = "Closed."
DISCARDED = "Discarded."


# ── the card ──────────────────────────────────────────────────────────────────────────────────────


def draw_card(card: Card, seen: Seen, chat: Capabilities[T]) -> tuple[T, doc.Rows]:
    """The card, and its buttons where the channel has any."""
    question = card.view not in (None, *ASIDE_CHOICES) and not card.approval
    overflowed = question and (seen.overflowed or not long_questions.fits(card, chat))
    listed = overflowed or keyboard.needs_list(card, chat, private=seen.private)

    def document(lengths: Lengths, lines: int = 0) -> doc.Document:
        if card.view is None:
            return _ended(card, seen, chat, lengths)
        if card.snoozed_until is not None:
            return _snoozed(card, chat)
        if chat.threads and (side := side_hint(card, seen)):
            return (doc.line(*side), doc.Options(card.choices))
        shown = _screen(card, seen, chat, lengths, listed=listed, overflowed=overflowed)
        files = _files(card, seen, lines)
        return (heading(card), shown, *files, doc.Lines(hints(card, seen, chat)))

    rows = keyboard.rows(card, seen, chat.buttons, listed=listed) if chat.buttons else ()
    for lines in EXCERPT_LINES if any(each.excerpt for each in card.attachments) else ():
        written = chat.write(document(long_questions.largest(chat), lines), now=seen.now)
        if chat.size(written) < chat.card:
            return written, rows
    return long_questions.fitted(document, chat, now=seen.now), rows


def _files(card: Card, seen: Seen, lines: int) -> doc.Document:
    """What the agent shows with the question: so many lines of each text, and which files there
    are."""
    if card.view not in (View.QUESTION, View.OTHER):
        return ()
    shown = attachments.excerpts(card.attachments, lines)
    return (*shown, attachments.file_lines(card, seen.files.missing))


def _screen(
    card: Card,
    seen: Seen,
    chat: Capabilities[T],
    lengths: Lengths,
    *,
    listed: bool,
    overflowed: bool,
) -> doc.Block:
    if card.view is View.SENDING and not card.approval:
        return asked_block(card, lengths.scale)
    if card.view is View.REVIEW:
        return doc.Numbered(items=tuple(pairs(card.lines, scale=lengths.scale)), spaced=True)
    if card.view in (*form.ASIDE, View.HEARD):
        return doc.line(asked_line(card.question, ONE_QUESTION))
    if card.approval:
        return approvals.screen(card, seen, chat, listed=listed)
    return long_questions.question(card, chat, lengths, listed=listed, overflowed=overflowed)


def _snoozed(card: Card, chat: Capabilities[T]) -> doc.Document:
    """What is left of a card while it is out of the way."""
    until = doc.Time(card.snoozed_until or 0.0)
    first: doc.Line = (f"{SNOOZED_GLYPH} Snoozed until ", until, ". It comes back then.")
    about: doc.Line = (doc.strong(project(card.project)), ": ", _asked_in_short(card))
    if card.subject is not None:
        about = (*about, " ", doc.Name(one_line(card.subject.code), SNOOZED_CODE_LENGTH))
    how: doc.Line = () if chat.buttons else ("Reply show to see it now.",)
    return (doc.Lines((first, about, how)),)


def _ended(card: Card, seen: Seen, chat: Capabilities[T], lengths: Lengths) -> doc.Document:
    viewer = seen.viewer if seen.private else None
    how, where = doc.strong(outcome_text.heading(card)), project(card.project)
    first = doc.line(f"{card.glyph} ", how, " · ", where)
    asked = asked_block(card, lengths.scale)
    about = approvals.ended(card, chat, asked) if card.approval else (asked,)
    reason = sentence(outcome_text.reason(card))
    remarks = map(sentence, outcome_text.remarks(card, viewer=viewer, now=seen.now))
    if chat.buttons:
        return (first, *about, doc.line(*reason), doc.Lines((card.grant_text, *remarks)))
    offers = _offers(card, seen.now)
    return (first, *about, doc.Lines((reason, card.grant_text, *remarks, *offers)))


def _offers(card: Card, now: float) -> Iterator[doc.Line]:
    if card.button(Role.ANYWAY):
        yield ("Answer anyway: reply “anyway”.",)
    if card.button(Role.DISCARD) and (card.kept_until is None or card.kept_until > now):
        yield ("To discard it, reply “discard”.",)
    if card.button(Role.TAKE_BACK) and card.grant and card.grant.holds(now):
        yield ("To end this, reply “take back”.",)


def heading(card: Card) -> doc.Lines:
    """Who asks, and which question of how many."""
    names: list[doc.Inline] = [project(card.project), agent(card.agent)]
    if card.state is State.LATE:
        names = ["Late answer", names[0]]
    first: doc.Line = (f"{card.glyph} ", doc.strong(names[0]), " · ", names[1])
    if card.what_next:
        first = (*first[:2], " has finished")
    elif card.reminds:
        first = (*first[:3], "still open since ", doc.Time(card.created_at))
    label = shortened(card.label or "", LABEL_LENGTH)
    # Together they leave room for the question on a lock screen.
    title = "" if card.what_next else card.title or ""
    title = shortened(title, TITLE_LENGTH - len(label))
    parts: list[doc.Inline] = [doc.Name(words) for words in (label, title) if words]
    if card.urgency:
        parts.insert(0, card.urgency)
    if card.view is View.REVIEW:
        parts.append("check and send")
    elif card.count > 1 and card.type is not None:
        parts.append(f"{card.number} of {card.count}")
    second = [each for part in parts for each in (" · ", part)][1:]
    return doc.Lines((first, tuple(second)))


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────


def continued(card: Card) -> doc.Document:
    """What is left of a card that was posted again further down, or its next step."""
    own = APPROVAL_GLYPH if card.approval else FINISHED_GLYPH if card.what_next else None
    glyph = own if own and card.state is State.OPEN else GLYPHS[card.state]
    return doc.paragraph(f"{glyph} ", doc.strong(project(card.project)), " · continued below")


def closed() -> doc.Document:
    """What is left of a screen in a thread whose card is at the thread's root again."""
    return doc.paragraph(CLOSED)


def thread_root(card: Card, seen: Seen, chat: Capabilities[T]) -> doc.Document:
    """The root while the screen to be answered is further down in its thread."""
    asked = _asked_in_short(card)
    done: doc.Line = (f"{card.done} of {card.count} answered.",) if card.count > 1 else ()
    go_on = sentences((done, ("Go on in the thread.",), time_left(card, seen)))
    about = approvals.about_blocks(card, chat, limit=chat.root_code)
    return (
        doc.Lines(heading(card).lines[:1]),
        doc.line(doc.strong(asked)),
        *about,
        doc.Lines(card.sharing),
        doc.line(*go_on),
    )


def _asked_in_short(card: Card) -> doc.Inline:
    if card.count == 1:
        return asked_line(card.question, ROOT_LENGTH)
    title = shortened(card.title or "", ROOT_LENGTH)
    return doc.Name(title) if title else f"{card.count} questions"


def prompt_subject(card: Card) -> str:
    """What a message asks for that is there to be replied to."""
    if card.view is View.EXPLAIN:
        return "what to explain,"
    if card.what_next:
        return "the next task"
    return "your reason" if card.approval else "your answer"


def placeholder(card: Card) -> str:
    """What the field for the answer shows while it is empty."""
    if card.view is View.EXPLAIN:
        return TO_EXPLAIN
    if card.approval:
        return "Your reason"
    return clipped(card.placeholder or "Your answer", PLACEHOLDER_LENGTH)


def toast(ask_before: Ask, step: form.Step, *, kept: bool = False, asked_back: bool = False) -> str:
    """What the tap that led to `step` is answered with; nothing where the card says it all.
    `kept`: no agent waits for it now."""
    match step:
        case form.Refused(why=why):
            return clipped(why, TOAST_LENGTH)
        case form.Cancelled():
            return "Sent." if asked_back else "Cancelled."
        case form.Moved() | form.Postponed() | form.Shared():
            return ""
        case form.Answered(answers=answers):
            outcome = Outcome(at=0.0, answers=answers, grant=grant_of(ask_before, answers))
            after = _card(replace(ask_before, status=Status.ANSWERED, outcome=outcome))
            if ask_before.approval:
                return f"{outcome_text.heading(after)}."
            done = "Kept" if kept else "Sent"
            if len(answers) > 1:
                return f"{done}: {len(answers)} answers"
            if after.done_for_now:
                return f"{outcome_text.DONE}."
            said = shortened(one_line(after.lines[0].answer or ""), TOAST_LABEL_LENGTH)
            return f"{done}: {keyboard.beside_ours(said)}" if said else f"{done}."


def _card(ask: Ask) -> Card:
    """For what is the same on every channel."""
    return build_card(ask, channel="")


# ── steps that are over ───────────────────────────────────────────────────────────────────────────


def finished_step(ask: Ask, *, view: View, at: int) -> doc.Document:
    """The message of a screen that was left, or that the end has overtaken."""
    outcome = ask.late or ask.outcome
    answered = bool(outcome and outcome.answers)
    going_on = ask.open or (ask.status is Status.TIMED_OUT and ask.draft.late and not answered)
    if ask.approval:
        return doc.paragraph(GOES_ON if going_on else f"{outcome_text.heading(_card(ask))}.")
    if view is View.HEARD and ask.draft.view is View.HEARD and ask.open:
        return doc.paragraph(GOES_ON)
    if view in form.ASIDE:
        return doc.paragraph(_left_aside(ask, view, at, going_on=going_on))
    if view is View.REVIEW or at >= len(ask.questions):
        ended = "Checked and sent." if answered else "Not sent."
        return doc.paragraph(f"Not sent yet. {GOES_ON}" if going_on else ended)
    given = _given(ask, at)
    if view is View.HEARD and given is None:
        return doc.paragraph(DISCARDED)
    number: doc.Line = (f"{at + 1}. ",) if len(ask.questions) > 1 else ()
    asked = asked_line(prose(ask.questions[at].text), ONE_QUESTION)
    return (doc.Lines(((*number, asked), (answer(given, ONE_ANSWER),) if given else ())),)


def _left_aside(ask: Ask, view: View, at: int, *, going_on: bool) -> str:
    """The cancel screen, and those for asking back and for more time."""
    if view in ASIDE_CHOICES:
        return CLOSED
    if at < len(ask.questions) and ask.draft.entries[at].ask_back is not None:
        return "Asked back."
    if ask.status is Status.CANCELLED:
        return "Cancelled."
    if view is View.EXPLAIN:
        return "Not asked back."
    return "Kept open." if going_on else "Not cancelled."


def _given(ask: Ask, at: int) -> Answered | None:
    """What was answered in the end, or else so far; None: nothing yet."""
    outcome, entry = ask.late or ask.outcome, ask.draft.entries[at]
    if outcome and outcome.answers:
        return _card(ask).lines[at]
    if not entry.done and not entry.picked and entry.text is None:
        return None
    review = replace(ask.draft, view=View.REVIEW, at=len(ask.questions))
    return _card(replace(ask, status=Status.OPEN, draft=review)).lines[at]
