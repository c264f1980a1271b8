"""What a card says about what can be done with it, and until when.

`button_hints` is for chats whose cards have buttons, `reaction_hints` for those where people react
or type. Both return lines, and the second one joins its sentences on the last line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chatbridge.channels.chat.document import Faint, Inline, Line, Name, Strong, Time
from chatbridge.channels.chat.keyboard import MOST_OPTIONS
from chatbridge.core.asks.deadlines import MORE_TIME_BEFORE
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card, Role, State
from chatbridge.core.cards.phrases import UNSENT, format_only_on
from chatbridge.core.forms import emoji_shortcuts
from chatbridge.core.model import QuestionType, View
from chatbridge.core.text import clipped, one_line

ENTERED_LENGTH, DECLARED_LENGTH = 100, 200
CHOSEN_AT_MOST, CHOSEN_LENGTH = 12, 20
"""How many of the chosen options a line names, and how much of each."""
ASK_BACK = "Reply “explain”, or “rephrase”, to ask back instead."
LATE = "The agent has moved on. Your answer is kept for it."
NO_LIMIT = "No time limit"
ORPHANED = Faint("The agent is not waiting now. An answer is kept for its next call.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionView:
    """How a card is seen where people react or type."""

    now: float
    reactions: bool = True
    """Otherwise everything is typed, and the card says so."""
    reacted: frozenset[int] = frozenset()
    """The options, from 0, that people's reactions on this very message show as picked."""
    viewer: str | None = None
    """The person whose private room this is."""
    unsent: bool = False
    """Not all of what an approval is about is out yet, so that it cannot be allowed."""


# ── lines that all chats share ────────────────────────────────────────────────────────────────────


def _last_change(card: Card) -> Line:
    by = card.changed_by
    who = (by.name or outcome_text.where(by)) if by else ""
    return ("Last change: ", Name(clipped(one_line(who), outcome_text.MAX_NAME_CHARACTERS)))


def _declared(card: Card) -> Line:
    by: Line = (" by ", Time(card.deadline)) if card.deadline is not None else ()
    declared = Strong(Name(clipped(card.declared or "", DECLARED_LENGTH)))
    return ("Used if nobody answers", *by, ": ", declared)


def _so_far(answer: str) -> Line:
    return ("Your answer so far: ", Name(clipped(one_line(answer), ENTERED_LENGTH)))


def _soon(card: Card, now: float) -> bool:
    return card.soon_at is not None and now >= card.soon_at


def _which(card: Card) -> str:
    return "this question" if card.count == 1 else f"all {card.count} questions"


# ── with buttons ──────────────────────────────────────────────────────────────────────────────────


def button_hints(
    card: Card, *, private: bool, now: float, again: bool, unsent: bool
) -> Iterator[Line]:
    """`again`: the card was posted again after a gap in which taps were not kept."""
    if card.view is View.CANCEL:
        yield (Strong(f"Cancel {_which(card)}?"),)
        how = "Send a reason as text" if private else "Reply with a reason"
        yield (f"The agent is told that you will not answer. {how}, or:",)
    elif card.view is View.EXPLAIN:
        yield (Strong("What should be explained?"),)
        yield ("Send it as text, or:" if private else "Reply with it, or:",)
    elif card.view is View.REVIEW:
        yield ("Nothing has been sent yet.",)
        if card.changed_by is not None and not private:
            yield _last_change(card)
    elif not card.approval:
        yield from _question_hints(card, private=private)
    if again:
        yield ("Taps of more than a day ago were not kept. Tap again.",)
    if card.approval:
        yield from _approval_hints(card, private=private, now=now, unsent=unsent)
        return
    if card.state is State.LATE:
        yield (LATE,)
        return
    if card.declared:
        yield _declared(card)
    if card.orphaned:
        yield (ORPHANED,)
    yield _ends(card, now)


def _question_hints(card: Card, *, private: bool) -> Iterator[Line]:
    if len(card.choices) > MOST_OPTIONS:
        yield (f"Options {MOST_OPTIONS + 1} to {len(card.choices)}: reply with the number.",)
    multi = card.type is QuestionType.MULTI_SELECT
    if card.entered and not multi:
        yield _so_far(card.entered)
    if card.view is View.OTHER:
        yield ("Write your own answer." if private else "Reply with your own answer.",)
    elif card.type is QuestionType.TEXT:
        alone, group = "Type your answer and send it.", "Reply to this message with your answer."
        yield (alone if private else group,)
    elif multi:
        yield ("Choose any number, then Done.",)


def _approval_hints(card: Card, *, private: bool, now: float, unsent: bool) -> Iterator[Line]:
    if card.only_on:
        yield (format_only_on(card.only_on),)
    elif unsent and card.view is not View.OTHER:
        yield (UNSENT,)
    elif card.view is View.OTHER:
        yield ("Send the reason as text." if private else "Reply with the reason.",)
    denied = ("Denied if nobody answers. ",) if card.deadline is not None else ()
    yield (*denied, *_ends(card, now))


def _ends(card: Card, now: float) -> Line:
    if card.deadline is None:
        return (NO_LIMIT,)
    at = Time(card.deadline)
    return (Strong(("Ends ", at, ", soon.")),) if _soon(card, now) else ("Ends ", at)


# ── with reactions, or typed ──────────────────────────────────────────────────────────────────────


def reaction_hints(card: Card, seen: ReactionView) -> Iterator[Line]:
    """The lines below a question or the review."""
    if card.view is View.QUESTION:
        yield _chosen(card, seen)
        yield _without_reactions(card, seen)
    elif card.view is View.REVIEW and card.changed_by is not None and seen.viewer is None:
        yield _last_change(card)
    if card.declared and card.state is not State.LATE:
        yield _declared(card)
    if card.orphaned:
        yield (ORPHANED,)
    yield sentences(((_how(card, seen),), (_words(card, seen),), time_left(card, seen)))


def sentences(lines: Iterable[Line]) -> Line:
    """Several on one line."""
    found = [line for line in lines if any(line)]
    return tuple(part for line in found for part in (" ", *line))[1:]


def _chosen(card: Card, seen: ReactionView) -> Line:
    """What is chosen, where the reactions on this message do not show it."""
    picked = [choice for choice in card.choices if choice.picked]
    if card.type is not QuestionType.MULTI_SELECT:
        answer = card.entered or (picked[0].label if picked else "")
        return _so_far(answer) if one_line(answer) else ()
    if {choice.number - 1 for choice in picked} == seen.reacted and card.entered is None:
        return ()
    chosen: list[Line] = [
        (f"{choice.number} ", Name(clipped(choice.label, CHOSEN_LENGTH)))
        for choice in picked[:CHOSEN_AT_MOST]
    ]
    if len(picked) > CHOSEN_AT_MOST:
        chosen.append((f"{len(picked) - CHOSEN_AT_MOST} more",))
    if card.entered is not None:
        chosen.append(("Other: ", Name(clipped(one_line(card.entered), ENTERED_LENGTH))))
    listed: list[Inline] = [part for each in chosen for part in (", ", *each)][1:] or ["nothing"]
    change = " To change that, reply with all the numbers you want." if picked else ""
    return ("Chosen so far: ", *listed, f".{change}")


def _without_reactions(card: Card, seen: ReactionView) -> Line:
    first, last = len(emoji_shortcuts.NUMBERS) + 1, len(card.choices)
    if last < first or not seen.reactions:
        return ()
    which = f"Options {first} to {last}" if last > first else f"Option {last}"
    if card.type is QuestionType.MULTI_SELECT:
        return (f"{which}: reply with all the numbers you want, for example 1,{last}.",)
    return (f"{which}: reply with the number.",)


def _how(card: Card, seen: ReactionView) -> str:
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


def _words(card: Card, seen: ReactionView) -> str:
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


def cancel_hint(card: Card, seen: ReactionView) -> Line:
    if seen.reactions:
        how = "Reply with a reason, or ✅ without one. ↩️ keeps it open."
    else:
        how = "Reply with a reason, or cancel to give none. Reply back to keep it open."
    asking: Line = (ASK_BACK,) if card.button(Role.EXPLAIN) else ()
    return sentences(((f"Cancel {_which(card)}? {how}",), asking))


def explain_hint(seen: ReactionView) -> Line:
    if seen.reactions:
        how = "Reply with it, or ✅ to just ask for more. ↩️ goes back."
    else:
        how = "Reply with it, or explain to just ask for more. Reply back to go back."
    return (f"What should be explained? {how}",)


def time_left(card: Card, seen: ReactionView) -> Line:
    if card.state is State.LATE:
        return (LATE,)
    if card.deadline is None:
        return (f"{NO_LIMIT}.",)
    at = Time(card.deadline)
    end: Line = ("Ends ", at, ".")
    if _soon(card, seen.now):
        end = (Strong(("Ends ", at, ", soon.")),)
    near = card.deadline - seen.now < MORE_TIME_BEFORE
    denied: Line = ("Denied if nobody answers.",) if card.approval else ()
    return sentences((denied, end, more_time(card) if near else ()))


def more_time(card: Card) -> Line:
    return ("Reply +15 for more time.",) if card.button(Role.EXTEND) else ()
