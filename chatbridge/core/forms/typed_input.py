"""What a typed text means for an ask: an option by its number or its words, or the text itself;
and, where everything can be typed, a word or an emoji that stands for a button."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction, Card, Choice, Role
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import list_shortcuts, normal
from chatbridge.core.forms.form import Event
from chatbridge.core.forms.typed_approval import format_approval_help, interpret_approval
from chatbridge.core.model import Ask, Question, QuestionType, View
from chatbridge.core.text import isolated, one_line, shortened, split_recommended

SHORT_YES_NO = {"y": 0, "n": 1}

TELLING = 2
"""So many characters of a label can be meant for it."""
SAID, LABEL, NAMED = 40, 40, 5
"""How much of a text, of a label, and how many labels a question back repeats."""

_MORE_TIME = re.compile(r"\+ ?15( ?(m|min|minutes))?", re.IGNORECASE)
_WORDS = {
    "done": (Role.DONE,),
    "send": (Role.SEND,),
    "skip": (Role.SKIP,),
    "back": (Role.BACK,),
    "cancel": (Role.CANCEL, Role.CANCEL_NOW),
}
_CANCEL_WORDS = {
    "back": Role.BACK,
    "keep": Role.BACK,
    "keep it open": Role.BACK,
    "no": Role.BACK,
    "n": Role.BACK,
    "yes": Role.CANCEL_NOW,
    "y": Role.CANCEL_NOW,
    "cancel": Role.CANCEL_NOW,
    "explain": Role.EXPLAIN,
    "rephrase": Role.REPHRASE,
}
"""On the cancel screen. No agent should read "no" as the reason."""
_ASKING_BACK = ("explain", "rephrase")

Action = Event | AskAction
Names = Mapping[str, Sequence[int]]
"""Options, by what they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """Nothing is put in. `why` is said to the person, kindly, by the channel."""

    why: str


YES_OR_NO = Unclear(why="Reply yes or no.")
SEND_OR_NUMBER = Unclear(why="Reply send, or the number of the answer to change.")


def takes_text(ask: Ask) -> bool:
    """Whether the form waits for a text now: an answer, an Other, a reason, what to explain."""
    draft = ask.draft
    if draft.view is View.QUESTION:
        return ask.questions[draft.at].type is QuestionType.TEXT
    return draft.view in (View.OTHER, View.CANCEL, View.EXPLAIN)


# ── beside buttons ────────────────────────────────────────────────────────────────────────────────


def typed(ask: Ask, text: str) -> tuple[Event, ...]:
    """The events that this text stands for where the form is now: at least one."""
    step = ask.draft.step
    if ask.draft.view is View.QUESTION and not takes_text(ask) and not ask.approval:
        question = ask.questions[ask.draft.at]
        if question.type is QuestionType.MULTI_SELECT:
            picks = _several(question, text)
            if picks:
                return tuple(form.Toggle(step=step, option=i, on=True) for i in picks)
        elif (pick := _one(question, text, _names(question))) is not None:
            return (form.Choose(step=step, option=pick),)
    return (form.Text(text=text, step=step),)


def _several(question: Question, text: str) -> list[int]:
    """All the options that a list names; nothing if any part of it names none."""
    names = _names(question)
    whole = _one(question, text, names)
    if whole is not None:
        return [whole]
    picks = [_one(question, part, names) for part in _parts(text)]
    known = [pick for pick in picks if pick is not None]
    return known if len(known) == len(picks) else []


def _parts(text: str) -> list[str]:
    separator = r"[,;\s]+" if re.fullmatch(r"[\d,;\s]+", text) else r"[,;]"
    return [part for part in re.split(separator, text.strip()) if part.strip()]


def _one(question: Question, text: str, names: Names) -> int | None:
    """An option's own words come before numbers: they may be numbers themselves."""
    said = _folded(text)
    if said in names:
        return names[said][0]
    if question.type is QuestionType.CONFIRM:
        return SHORT_YES_NO.get(said)
    if re.fullmatch(r"[1-9][0-9]{0,3}", said) and int(said) <= len(question.choices):
        return int(said) - 1
    return None


def _folded(text: str) -> str:
    return one_line(text).casefold()


def _names(question: Question) -> Names:
    """The options by their whole labels, with and without "(recommended)". Made once for a text:
    both its parts and the labels may be many."""
    names: dict[str, list[int]] = {}
    for i, option in enumerate(question.choices):
        label = _folded(option.label)
        for name in {label, split_recommended(label)[0]}:
            names.setdefault(name, []).append(i)
    return names


# ── instead of buttons ────────────────────────────────────────────────────────────────────────────


def interpret(ask: Ask, text: str) -> tuple[Action, ...] | Unclear:
    """What this text does where everything can be typed. Never raises, whatever the text."""
    card, said = build_card(ask, channel=""), _folded(text)
    if ask.approval and ask.open:
        return _on_approval(ask, card, text, said)
    question = ask.questions[ask.draft.at] if card.type is not None else None
    if takes_late_answer(ask) and not ask.draft.late and said == "anyway":
        return (form.AnswerAnyway(step=ask.draft.step),)
    names = _names(question) if card.choices and question is not None else {}
    if said not in names:
        found = _control(ask, card, text.strip(), said)
        if found is not None:
            return found
    if card.view is View.REVIEW:
        return _on_review(card, said)
    if card.view is not View.QUESTION or question is None or not card.choices:
        return (form.Text(text=text, step=card.step),)
    match question.type:
        case QuestionType.CONFIRM:
            pick = _one(question, text, names)
            return YES_OR_NO if pick is None else (card.choices[pick].action,)
        case QuestionType.MULTI_SELECT:
            return _set(card, names, text)
        case _:
            option = _option(card, names, _shown(card), text)
            if isinstance(option, Unclear):
                return option
            if option is None:
                return (form.Text(text=text, step=card.step),)
            return (form.Choose(step=card.step, option=option),)


def _control(ask: Ask, card: Card, text: str, said: str) -> tuple[Action, ...] | Unclear | None:
    """What stands for a button: an emoji, "+15", or a word. None: it stands for none."""
    for emoji, action in list_shortcuts(card):
        if normal(emoji) == normal(text):
            return (action,)
    if _asks_for_more_time(ask, said):
        return (AskAction.EXTEND,)
    if said[:1] == "!" and said[1:] in _ASKING_BACK:
        return _asking_back(ask, card, said[1:]) or _unfit(card, said[1:])
    if said[:1] == "!" and said[1:] in _WORDS:
        return _by_word(ask, card, said[1:]) or _unfit(card, said[1:])
    if card.view is View.CANCEL:
        button = card.button(_CANCEL_WORDS[said]) if said in _CANCEL_WORDS else None
        return (button.action,) if button else None
    if card.view is View.EXPLAIN and said == "explain":
        return _asking_back(ask, card, said)
    any_word_is_an_answer = card.view is View.QUESTION and card.type is QuestionType.TEXT
    return None if any_word_is_an_answer else _by_word(ask, card, said)


def _by_word(ask: Ask, card: Card, word: str) -> tuple[Action, ...] | None:
    for role in _WORDS.get(word, ()):
        if button := card.button(role):
            return (button.action,)
    if word == "cancel" and card.view in (View.OTHER, View.EXPLAIN) and ask.open:
        return (form.AskCancel(step=card.step),)
    return None


def _asking_back(ask: Ask, card: Card, word: str) -> tuple[Action, ...] | None:
    """Over the cancel screen, where that is not shown already."""
    if not ask.open or not form.can_ask_back(ask.questions, ask.draft):
        return None
    explain = word == "explain"
    if explain and card.view is View.EXPLAIN:
        return (form.Explain(step=card.step),)
    way: tuple[Action, ...] = (form.AskCancel(step=card.step),)
    if card.view is View.CANCEL:
        way = ()
    elif card.view is View.EXPLAIN:
        way = (form.Back(step=card.step),)
    step = card.step + len(way)
    return (*way, form.AskExplain(step=step) if explain else form.Rephrase(step=step))


def _on_approval(ask: Ask, card: Card, text: str, said: str) -> tuple[Action, ...] | Unclear:
    if _asks_for_more_time(ask, said):
        return (AskAction.EXTEND,)
    return interpret_approval(card, text) or Unclear(why=format_approval_help(card))


def _asks_for_more_time(ask: Ask, said: str) -> bool:
    return bool(_MORE_TIME.fullmatch(said)) and ask.open and ask.deadline is not None


def _unfit(card: Card, word: str) -> Unclear:
    needed = word == "skip" and card.view is View.QUESTION and card.required
    return Unclear(why=form.REQUIRED.why if needed else form.UNFIT.why)


def _on_review(card: Card, said: str) -> tuple[Action, ...] | Unclear:
    if said == "yes" and (send := card.button(Role.SEND)):
        return (send.action,)
    number = _number(said)
    if number is not None and 1 <= number <= len(card.lines):
        return (form.Edit(step=card.step, question=number - 1),)
    return SEND_OR_NUMBER


def _set(card: Card, names: Names, text: str) -> tuple[Action, ...] | Unclear:
    """A list is the whole choice, and finishes it. Any other text joins what is picked."""
    labels = _shown(card)
    whole = _option(card, names, labels, text)
    picks = [whole]
    if whole is None:
        picks = [_option(card, names, labels, part) for part in _parts(text)]
    if not picks or None in picks:
        return (form.Text(text=text, step=card.step),)
    chosen = set()
    for pick in picks:
        if isinstance(pick, Unclear):
            return pick
        chosen.add(pick)
    # All of them, whatever is picked now: another channel may be toggling at this moment.
    toggles = [form.Toggle(step=card.step, option=c.number - 1, on=False) for c in card.choices]
    toggles = [t for t in toggles if t.option not in chosen]
    toggles += [
        form.Toggle(step=card.step, option=c.number - 1, on=True)
        for c in card.choices
        if c.number - 1 in chosen
    ]
    return (*toggles, form.Done(step=card.step))


def _shown(card: Card) -> list[str]:
    return [_folded(choice.label) for choice in card.choices]


def _option(card: Card, names: Names, labels: Sequence[str], text: str) -> int | Unclear | None:
    """The one option that this text names, by its words, its number or its beginning. `labels` are
    those that are shown."""
    said = _folded(text)
    if named := names.get(said):
        return named[0] if len(named) == 1 else _fits(card, text, named)
    if said.isascii() and said.isdigit():
        number = _number(said)
        if number is not None and 1 <= number <= len(card.choices):
            return number - 1
        return _no_option(card, said)
    if len(said) < TELLING:
        return None
    begun = [i for i, label in enumerate(labels) if label.startswith(said)]
    if not begun:
        return None
    after = labels[begun[0]][len(said) : len(said) + 1]
    return begun[0] if len(begun) == 1 and not after.isalnum() else _fits(card, text, begun)


def _number(said: str) -> int | None:
    return int(said) if re.fullmatch(r"[0-9]{1,4}", said) else None


def _no_option(card: Card, said: str) -> Unclear:
    count = len(card.choices)
    there = f"1 to {count}" if count > 1 else "only option 1"
    return Unclear(why=f"There is no option {shortened(said, 8)}. This question has {there}.")


def _fits(card: Card, text: str, options: Sequence[int]) -> Unclear:
    quoted = f"“{isolated(shortened(one_line(text), SAID))}”"
    if len(options) == 1:
        choice = card.choices[options[0]]
        how = f"Reply {choice.number} to choose it, or say more."
        return Unclear(why=f"{quoted} fits {_called(choice)}. {how}")
    names = [_called(card.choices[i]) for i in options]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return Unclear(why=f"{quoted} fits {listed}. Reply with the number.")


def _called(choice: Choice) -> str:
    return f"{choice.number} {isolated(shortened(choice.label, LABEL))}"
