"""What a typed text means for an ask: an option by its number or its words, or the text itself."""

from __future__ import annotations

import re

from chatbridge.core import form
from chatbridge.core.form import Event
from chatbridge.core.model import Ask, Question, QuestionType, View
from chatbridge.core.text import one_line, split_recommended

SHORT_YES_NO = {"y": 0, "n": 1}


def takes_text(ask: Ask) -> bool:
    """Whether the form waits for a text now: an answer, an Other, or a reason."""
    draft = ask.draft
    if draft.view is View.QUESTION:
        return ask.questions[draft.at].type is QuestionType.TEXT
    return draft.view in (View.OTHER, View.CANCEL)


def typed(ask: Ask, text: str) -> tuple[Event, ...]:
    """The events that this text stands for where the form is now: at least one."""
    step = ask.draft.step
    if ask.draft.view is View.QUESTION and not takes_text(ask):
        question = ask.questions[ask.draft.at]
        if question.type is QuestionType.MULTI_SELECT:
            picks = _several(question, text)
            if picks:
                return tuple(form.Toggle(step=step, option=i, on=True) for i in picks)
        elif (pick := _one(question, text)) is not None:
            return (form.Choose(step=step, option=pick),)
    return (form.Text(text=text, step=step),)


def _several(question: Question, text: str) -> list[int]:
    """All the options that a list names; nothing if any part of it names none."""
    whole = _one(question, text)
    if whole is not None:
        return [whole]
    separator = r"[,;\s]+" if re.fullmatch(r"[\d,;\s]+", text) else r"[,;]"
    picks = [_one(question, part) for part in re.split(separator, text.strip()) if part.strip()]
    known = [pick for pick in picks if pick is not None]
    return known if len(known) == len(picks) else []


def _one(question: Question, text: str) -> int | None:
    """An option's own words come before numbers: they may be numbers themselves."""
    said = one_line(text).casefold()
    for i, option in enumerate(question.choices):
        label = one_line(option.label).casefold()
        if said in (label, split_recommended(label)[0]):
            return i
    if question.type is QuestionType.CONFIRM:
        return SHORT_YES_NO.get(said)
    if re.fullmatch(r"[1-9][0-9]{0,3}", said) and int(said) <= len(question.choices):
        return int(said) - 1
    return None
