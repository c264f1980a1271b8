"""Interpretation of typed text: as an option by its number or label, as the answer itself, or, in
channels without buttons, as a word or emoji that stands for a button."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.cards.build import SIDE_VIEWS, build_card
from chatbridge.core.cards.card import AskAction, Card, Choice, Role
from chatbridge.core.forms import approval_form, filling, form
from chatbridge.core.forms.emoji_shortcuts import reaction_for
from chatbridge.core.forms.form import Event
from chatbridge.core.forms.typed_times import WRITE_TIME, NextTime, read_later, read_plus
from chatbridge.core.forms.yes_no import read_yes_no
from chatbridge.core.model import ALLOW, DENY, Ask, Question, QuestionType, View
from chatbridge.core.nights.later import NO_MORE_TIME, LaterOption
from chatbridge.core.people.sharing import Colleague
from chatbridge.core.text import isolated, one_line, shortened, split_recommended

MIN_PREFIX_CHARACTERS = 2  # Minimum length of a label prefix that selects the option
SAID, LABEL, NAMED = 40, 40, 5  # Characters of a text and a label, and labels, in a reply

_LATER_WORDS = ("later", "more time", "snooze")
_SHARING_WORDS = {
    "take": Role.TAKE,
    "take it": Role.TAKE,
    "release": Role.RELEASE,
    "hand over": Role.HAND_OVER,
}
_WORDS = {
    "done": (Role.DONE,),
    "send": (Role.SEND, Role.SEND_HEARD, Role.SEND_ATTACHED),
    "remove": (Role.DROP_ATTACHED,),
    "skip": (Role.SKIP,),
    "back": (Role.BACK,),
    "cancel": (Role.CANCEL, Role.CANCEL_NOW),
    **dict.fromkeys(_LATER_WORDS, (Role.LATER,)),
    **{word: (role,) for word, role in _SHARING_WORDS.items()},
}
_CANCEL_WORDS = {
    **dict.fromkeys(("back", "keep", "keep it open", "no", "n"), Role.BACK),
    **dict.fromkeys(("yes", "y", "cancel"), Role.CANCEL_NOW),
}
"""Words on the cancel screen. Without them, "no" would become the reason for the agent."""
_ASKING_BACK = ("explain", "rephrase", "ask back")

_DENY_REASON = re.compile(r"deny\s*:(.*)", re.IGNORECASE | re.DOTALL)
RUN_IT = "run it"
SESSION = approval_form.LASTING.index(None)
_APPROVAL_WORDS = {
    "allow": Role.ALLOW,
    "more": Role.MORE,
    "yes": Role.MORE_NOW,
    "all": Role.SHOW_ALL,
    "why": Role.DENY_WHY,
    "back": Role.BACK,
    **dict.fromkeys(_LATER_WORDS, Role.LATER),
    **_SHARING_WORDS,
}
_SHOW_NOW = ("show", "show now")
_FOR_TEXT = (View.OTHER, View.CANCEL, View.EXPLAIN, View.HEARD)

Action = Event | AskAction
Names = Mapping[str, Sequence[int]]  # Positions of options by their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """The text changes nothing. The channel replies with `why`."""

    why: str


YES_OR_NO = Unclear(why="Reply yes or no.")
UNDO_FIRST = Unclear(why="Your answer is about to be sent. Reply undo to take it back.")
SEND_OR_NUMBER = Unclear(why="Reply send, or the number of the answer to change.")
USUAL = form.Extend(minutes=15)
HOW_MUCH_LATER = Unclear(why="Reply with a number, or words such as +1h or snooze 1h, or back.")


TO_WHOM = Unclear(why="Reply with a number or a name, or back.")


def takes_text(ask: Ask) -> bool:
    """Whether the form expects a text: an answer, an Other, a reason, what to explain, or what was
    really said. A card that is snoozed asks for none, though a reply to it counts."""
    draft = ask.draft
    if ask.attention.snoozed_until is not None:
        return False
    if draft.view is View.QUESTION:
        return ask.questions[draft.at].type is QuestionType.TEXT
    return draft.view in _FOR_TEXT


def takes_words(ask: Ask) -> bool:
    """Whether a text can be an answer on the current screen, also as an option or a yes or no."""
    return takes_text(ask) or (ask.draft.view is View.QUESTION and not ask.approval)


def asks_yes_or_no(ask: Ask) -> bool:
    on_question = ask.draft.view is View.QUESTION
    return on_question and ask.questions[ask.draft.at].type is QuestionType.CONFIRM


def interpret_beside_buttons(ask: Ask, text: str) -> tuple[Event, ...] | Unclear:
    """Return the events that this text stands for on the current screen: at least one."""
    step = ask.draft.step
    if ask.draft.view is View.QUESTION and not takes_text(ask) and not ask.approval:
        question = ask.questions[ask.draft.at]
        if question.type is QuestionType.CONFIRM:
            return _say_yes_or_no(step, text)
        if question.type is QuestionType.MULTI_SELECT:
            picks = _find_options(question, text)
            if picks:
                return tuple(form.Toggle(step=step, option=i, on=True) for i in picks)
        elif (pick := _find_option(question, text, _map_names(question))) is not None:
            return (form.Choose(step=step, option=pick),)
    return (form.Text(text=text, step=step),)


def _say_yes_or_no(step: int, text: str) -> tuple[Event, ...] | Unclear:
    said = read_yes_no(text)
    if said is None:
        return YES_OR_NO
    return (form.Choose(step=step, option=said.option, remark=said.remark),)


def _find_options(question: Question, text: str) -> list[int]:
    """Return all options that a list names, or none if a part of it names none."""
    names = _map_names(question)
    for parts in ([text], _split_list(text)):
        picks = [_find_option(question, part, names) for part in parts]
        known = [pick for pick in picks if pick is not None]
        if len(known) == len(picks):
            return known
    return []


def _split_list(text: str) -> list[str]:
    separator = r"[,;\s]+" if re.fullmatch(r"[\d,;\s]+", text) else r"[,;]"
    return [part for part in re.split(separator, text.strip()) if part.strip()]


def _find_option(question: Question, text: str, names: Names) -> int | None:
    """Return the option of this label or number. Labels come first, as they may be numbers."""
    said = _fold(text)
    if said in names:
        return names[said][0]
    if re.fullmatch(r"[1-9][0-9]{0,3}", said) and int(said) <= len(question.choices):
        return int(said) - 1
    return None


def _fold(text: str) -> str:
    return one_line(text).casefold()


def _map_names(question: Question) -> Names:
    """Map the labels, with and without "(recommended)", to the options. Done once for a text,
    because it may have many parts."""
    names: dict[str, list[int]] = {}
    for i, option in enumerate(question.choices):
        label = _fold(option.label)
        for name in {label, split_recommended(label)[0]}:
            names.setdefault(name, []).append(i)
    return names


def interpret(
    ask: Ask,
    text: str,
    *,
    next_time: NextTime,
    replies: Sequence[str] = (),
    later: Sequence[LaterOption] = (),
    colleagues: Sequence[Colleague] | None = None,
) -> tuple[Action, ...] | Unclear:
    """Return what this text does in a channel without buttons. Never raises. `replies`: the owner's
    quick answers, which go by their numbers. `later`: the ways to postpone the ask now.
    `colleagues`: to whom it can be handed."""
    card = build_card(ask, channel="", replies=replies, later=later, colleagues=colleagues)
    said = _fold(text)
    if undo := card.button(Role.UNDO):
        taken_back = said.removeprefix("!") in ("undo", "back") or reaction_for(card, text.strip())
        return (undo.action,) if taken_back else UNDO_FIRST
    show_now = card.button(Role.SHOW_NOW)
    if show_now and said.removeprefix("!") in _SHOW_NOW:
        return (show_now.action,)
    if ask.approval and ask.open:
        if postponed := _postpone(ask, card, said, next_time):
            return postponed
        return interpret_approval(card, text) or Unclear(why=format_approval_help(card))
    question = ask.questions[ask.draft.at] if card.type is not None else None
    if takes_late_answer(ask) and not ask.draft.late and said == "anyway":
        return (form.AnswerAnyway(step=ask.draft.step),)
    names = _map_names(question) if card.choices and question is not None else {}
    if said not in names:
        if shortcut := reaction_for(card, text.strip()):
            return (shortcut.action,)
        begins_label = any(name.startswith(said) for name in names)
        if not begins_label and (postponed := _postpone(ask, card, said, next_time)):
            return postponed
        meant_as_label = begins_label and said in (*_LATER_WORDS, *_SHARING_WORDS)
        if not meant_as_label and (control := _find_control(ask, card, said)):
            return control
    if card.view is View.REVIEW:
        return _on_review(card, said)
    if card.view is View.LATER:
        return next(((c.action,) for c in card.choices if said in _called(c)), HOW_MUCH_LATER)
    if card.view is View.HAND_OVER:
        return next(((c.action,) for c in card.choices if said in _called(c)), TO_WHOM)
    if card.view is not View.QUESTION or question is None or not card.choices:
        return (form.Text(text=text, step=card.step),)
    if question.type is QuestionType.CONFIRM:
        return _say_yes_or_no(card.step, text)
    return _pick_options(card, names, text, multi=question.type is QuestionType.MULTI_SELECT)


def _postpone(
    ask: Ask, card: Card, said: str, next_time: NextTime
) -> tuple[Action] | Unclear | None:
    """More time, or a snooze. Where any word may be an answer, only +15 counts without an
    exclamation mark."""
    if not ask.open:
        return None
    word, asks_for_text = said.removeprefix("!"), card.view in _FOR_TEXT
    asks_for_text |= card.view is View.QUESTION and card.type is QuestionType.TEXT
    if asks_for_text and word == said:
        how: form.Later | None = read_plus(said)
        how = how if how == USUAL else None
    else:
        how = read_later(word, next_time)
        if how is None and word.startswith("snooze "):
            return Unclear(why=WRITE_TIME)
    if how is None or (ask.deadline is None and isinstance(how, form.Extend | form.ExtendUntil)):
        return None
    return (how,)


def _called(choice: Choice) -> tuple[str, str]:
    return str(choice.number), _fold(choice.label)


def _find_control(ask: Ask, card: Card, said: str) -> tuple[Action, ...] | Unclear | None:
    """Return the action of a word that stands for a button; None if none does."""
    word = said[1:]
    if said[:1] == "!" and (number := _parse_number(word)) and number <= len(card.replies):
        return (card.replies[number - 1],)
    if said[:1] == "!" and word in (*_WORDS, *_ASKING_BACK):
        find = _ask_back_events if word in _ASKING_BACK else _find_word_action
        needed = word == "skip" and card.view is View.QUESTION and card.required
        why = form.REQUIRED.why if needed else form.UNFIT.why
        return find(ask, card, word) or Unclear(why=why)
    if card.view is View.QUESTION and card.type is QuestionType.TEXT:
        return None  # any word is an answer
    if said in _ASKING_BACK and card.view not in (View.OTHER, View.HEARD):
        return _ask_back_events(ask, card, said)
    if card.view is View.CANCEL:
        button = card.button(_CANCEL_WORDS[said]) if said in _CANCEL_WORDS else None
        return (button.action,) if button else None
    if card.view is View.HEARD and said.removeprefix("!") == "discard":
        return (form.Back(step=card.step),)
    return _find_word_action(ask, card, said)


def _find_word_action(ask: Ask, card: Card, word: str) -> tuple[Action, ...] | Unclear | None:
    for role in _WORDS.get(word, ()):
        if button := card.button(role):
            return (button.action,)
    if _WORDS.get(word) == (Role.LATER,) and ask.open and card.view not in SIDE_VIEWS:
        return Unclear(why=NO_MORE_TIME.why)
    if word == "cancel" and card.view in (View.OTHER, View.EXPLAIN) and ask.open:
        return (form.AskCancel(step=card.step),)
    return None


def _ask_back_events(ask: Ask, card: Card, word: str) -> tuple[Action, ...] | None:
    """Return the events that ask back, by way of its screen."""
    if not ask.open or ask.what_next or not filling.can_ask_back(ask.questions, ask.draft):
        return None
    there = card.view is View.EXPLAIN
    way = () if there else (form.AskExplain(step=card.step),)
    step = card.step + len(way)
    if word == "rephrase":
        return (*way, form.Rephrase(step=step))
    return (form.Explain(step=step),) if there else way


def _on_review(card: Card, said: str) -> tuple[Action, ...] | Unclear:
    if said == "yes" and (send := card.button(Role.SEND)):
        return (send.action,)
    number = _parse_number(said)
    if number is not None and 1 <= number <= len(card.lines):
        return (form.Edit(step=card.step, question=number - 1),)
    return SEND_OR_NUMBER


def _pick_options(
    card: Card, names: Names, text: str, *, multi: bool
) -> tuple[Action, ...] | Unclear:
    """A list is the complete choice and finishes it. Any other text is added as Other."""
    labels = [_fold(choice.label) for choice in card.choices]
    picks = [_match_option(card, names, labels, text)]
    if multi and picks == [None]:
        picks = [_match_option(card, names, labels, part) for part in _split_list(text)]
    if not picks or None in picks:
        return (form.Text(text=text, step=card.step),)
    if unclear := next((pick for pick in picks if isinstance(pick, Unclear)), None):
        return unclear
    chosen = [pick for pick in picks if isinstance(pick, int)]
    if not multi:
        return (form.Choose(step=card.step, option=chosen[0]),)
    picked = form.Select(step=card.step, options=frozenset(chosen))
    return (picked, form.Done(step=card.step))


def _match_option(
    card: Card, names: Names, labels: Sequence[str], text: str
) -> int | Unclear | None:
    """Return the option that this text names, by label, number or prefix. `labels` are the
    displayed ones."""
    said = _fold(text)
    if named := names.get(said):
        return named[0] if len(named) == 1 else _ask_which(card, text, named)
    if said.isascii() and said.isdigit():
        number = _parse_number(said)
        if number is not None and 1 <= number <= len(card.choices):
            return number - 1
        there = f"options 1 to {len(card.choices)}" if len(card.choices) > 1 else "only option 1"
        return Unclear(why=f"There is no option {shortened(said, 8)}. This question has {there}.")
    if len(said) < MIN_PREFIX_CHARACTERS:
        return None
    begun = [i for i, label in enumerate(labels) if label.startswith(said)]
    if not begun:
        return None
    after = labels[begun[0]][len(said) : len(said) + 1]
    return begun[0] if len(begun) == 1 and not after.isalnum() else _ask_which(card, text, begun)


def _parse_number(said: str) -> int | None:
    return int(said) if re.fullmatch(r"[0-9]{1,4}", said) else None


def _ask_which(card: Card, text: str, options: Sequence[int]) -> Unclear:
    quoted = f"“{isolated(shortened(one_line(text), SAID))}”"
    if len(options) == 1:
        choice = card.choices[options[0]]
        how = f"Reply {choice.number} to choose it, or say more."
        return Unclear(why=f"{quoted} fits {_format_choice(choice)}. {how}")
    names = [_format_choice(card.choices[i]) for i in options]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return Unclear(why=f"{quoted} fits {listed}. Reply with the number.")


def _format_choice(choice: Choice) -> str:
    return f"{choice.number} {isolated(shortened(choice.label, LABEL))}"


def interpret_approval(card: Card, text: str) -> tuple[Event, ...] | None:
    """Return the events that this text stands for; None if there are none. Only exact words
    decide."""
    word = _fold(text).removeprefix("!")
    if word == "deny":
        return (form.Choose(step=card.step, option=DENY),)
    if word == RUN_IT:  # typing the words is the second step
        now = card.button(Role.RUN_NOW)
        if not now and not (card.button(Role.ALLOW) and is_destructive(card)):
            return None
        steps = range(card.step, card.step + (1 if now else 2))
        return tuple(form.Choose(step=step, option=ALLOW) for step in steps)
    for choice in card.choices:
        if word in _called(choice):
            return (choice.action,)
    if word == "session":  # the shortest way to it
        more = form.AskMore(step=card.step), form.Pick(step=card.step + 1, option=SESSION)
        about = card.subject
        asks_more = about is not None and (len(about.scopes) > 1 or about.shared_session)
        return (more[:1] if asks_more else more) if card.button(Role.MORE) else None
    if (because := _DENY_REASON.fullmatch(text.strip())) is not None:
        return _denial_events(card, because[1].strip())
    if word in _APPROVAL_WORDS:
        button = card.button(_APPROVAL_WORDS[word])
        return (button.action,) if button and not isinstance(button.action, AskAction) else None
    return (form.Text(text=text, step=card.step),) if card.view is View.OTHER else None


def is_destructive(card: Card) -> bool:
    return bool(card.subject and card.subject.destructive)


def _denial_events(card: Card, reason: str) -> tuple[Event, ...]:
    """Return the events that deny with a reason; without one, those that ask for it."""
    way: list[Event] = []
    if card.view is not View.OTHER:
        way.append(form.Other(step=card.step))
    if reason or not way:
        way.append(form.Text(text=reason, step=card.step + len(way)))
    return tuple(way)


def format_approval_help(card: Card) -> str:
    """The reply to a text that decides nothing."""
    if card.view is View.OTHER:
        return "Reply with the reason, or back."
    if card.view is View.CONFIRM_GRANT:
        how = "Reply yes to allow it, or deny, or back"
    elif card.choices:
        how = "Reply with a number, or deny, or back"
    elif card.view is View.CONFIRM_DESTRUCTIVE:
        how = f"Reply {RUN_IT} to run it, or deny, or back"
    elif card.button(Role.SHOW_ALL):
        how = "Reply all to see all of it first, or deny"
    else:
        allow = RUN_IT if is_destructive(card) else "allow"
        how = f"Reply {allow}, deny, or “deny:” and why"
        if card.button(Role.MORE):
            how = f"Reply {allow}, deny, “deny:” and why, or more"
    return f"Nothing was decided. {how}."
