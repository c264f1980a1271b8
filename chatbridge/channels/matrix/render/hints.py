"""What a card says about what can be done with it, and until when. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from chatbridge.channels.matrix.render import reactions
from chatbridge.channels.matrix.render.drawing import Seen
from chatbridge.channels.matrix.render.html import (
    NOTHING,
    Words,
    clipped,
    faint,
    name,
    sentences,
    strong,
    trusted,
)
from chatbridge.core.asks.deadlines import MORE_TIME_BEFORE
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card, Role, State
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.model import QuestionType, View
from chatbridge.core.text import one_line

ENTERED, DECLARED = 100, 200
CHOSEN, CHOSEN_LABEL = 12, 20
"""How many of the chosen options a line names, and how much of each."""
ASK_BACK = "Reply “explain”, or “rephrase”, to ask back instead."


def hints(card: Card, seen: Seen) -> Iterator[Words]:
    """The lines below a question or the review."""
    if card.view is View.QUESTION:
        yield _so_far(card, seen)
        yield _unseeded(card, seen)
    elif card.view is View.REVIEW and card.changed_by is not None and seen.viewer is None:
        who = card.changed_by.name or outcome_text.where(card.changed_by)
        yield trusted("Last change: ") + name(
            clipped(one_line(who), outcome_text.MAX_NAME_CHARACTERS)
        )
    if card.declared and card.state is not State.LATE:
        by = f" by {format_time(card.deadline, now=seen.now)}" if card.deadline is not None else ""
        declared = strong(name(clipped(card.declared, DECLARED)))
        yield trusted(f"Used if nobody answers{by}: ") + declared
    if card.orphaned:
        yield faint(trusted("The agent is not waiting now. An answer is kept for its next call."))
    yield sentences(
        (trusted(_hint(card, seen)), trusted(_words(card, seen)), time_left(card, seen))
    )


def _so_far(card: Card, seen: Seen) -> Words:
    """What is chosen, where the reactions on this message do not show it."""
    picked = [choice for choice in card.choices if choice.picked]
    if card.type is not QuestionType.MULTI_SELECT:
        answer = one_line(card.entered or (picked[0].label if picked else ""))
        said = trusted("Your answer so far: ") + name(clipped(answer, ENTERED))
        return said if answer else NOTHING
    if {choice.number - 1 for choice in picked} == seen.reacted and card.entered is None:
        return NOTHING
    chosen = [
        trusted(f"{choice.number} ") + name(clipped(choice.label, CHOSEN_LABEL))
        for choice in picked[:CHOSEN]
    ]
    if len(picked) > CHOSEN:
        chosen.append(trusted(f"{len(picked) - CHOSEN} more"))
    if card.entered is not None:
        chosen.append(trusted("Other: ") + name(clipped(one_line(card.entered), ENTERED)))
    listed = chosen[0] if chosen else trusted("nothing")
    for each in chosen[1:]:
        listed += trusted(", ") + each
    change = " To change that, reply with all the numbers you want." if picked else ""
    return trusted("Chosen so far: ") + listed + trusted(f".{change}")


def _unseeded(card: Card, seen: Seen) -> Words:
    first, last = reactions.SEEDED_OPTIONS + 1, len(card.choices)
    if last < first or not seen.reactions:
        return NOTHING
    which = f"Options {first} to {last}" if last > first else f"Option {last}"
    if card.type is QuestionType.MULTI_SELECT:
        return trusted(f"{which}: reply with all the numbers you want, for example 1,{last}.")
    return trusted(f"{which}: reply with the number.")


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


# ── screens of one paragraph ──────────────────────────────────────────────────────────────────────


def cancel_hint(card: Card, seen: Seen) -> Words:
    which = "this question" if card.count == 1 else f"all {card.count} questions"
    if seen.reactions:
        how = "Reply with a reason, or ✅ without one. ↩️ keeps it open."
    else:
        how = "Reply with a reason, or cancel to give none. Reply back to keep it open."
    asking = trusted(ASK_BACK) if card.button(Role.EXPLAIN) else NOTHING
    return sentences((trusted(f"Cancel {which}? {how}"), asking))


def explain_hint(seen: Seen) -> Words:
    if seen.reactions:
        how = "Reply with it, or ✅ to just ask for more. ↩️ goes back."
    else:
        how = "Reply with it, or explain to just ask for more. Reply back to go back."
    return trusted(f"What should be explained? {how}")


# ── time ──────────────────────────────────────────────────────────────────────────────────────────


def time_left(card: Card, seen: Seen) -> Words:
    if card.state is State.LATE:
        return trusted("The agent has moved on. Your answer is kept for it.")
    if card.deadline is None:
        return trusted("No time limit.")
    at = format_time(card.deadline, now=seen.now)
    soon = card.soon_at is not None and seen.now >= card.soon_at
    end = strong(trusted(f"Ends {at}, soon.")) if soon else trusted(f"Ends {at}.")
    near = card.deadline - seen.now < MORE_TIME_BEFORE
    denied = trusted("Denied if nobody answers.") if card.approval else NOTHING
    return sentences((denied, end, more_time(card) if near else NOTHING))


def more_time(card: Card) -> Words:
    return trusted("Reply +15 for more time.") if card.button(Role.EXTEND) else NOTHING
