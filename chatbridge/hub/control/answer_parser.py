"""Parse an answer that a person wrote behind a command: words, numbers, or the script's JSON.

`core.asks.answers` checks whether it fits, as for every script.
"""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.asks.answers import check_answers, parse_answers
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import SAID, interpret_beside_buttons
from chatbridge.core.model import Answer, Ask, Question, QuestionType, new_draft
from chatbridge.core.text import one_line, shortened

_NUMBER = 4
"""Digits; a longer one is nobody's option."""
_TYPES: dict[type, str] = {list: "a list", dict: "an object", str: "a text"}


def from_words(ask: Ask, words: list[str]) -> tuple[Answer, ...]:
    """The answer to an ask of one question, as words of a command line.

    :raises ChatbridgeError: what does not fit, in words for the person who typed it.
    """
    if len(ask.questions) > 1:
        raise ChatbridgeError(
            f"There are {len(ask.questions)} questions in it. Leave the values out to answer them "
            "one by one, or use --json"
        )
    question = ask.questions[0]
    if question.type is QuestionType.TEXT:
        answer = Answer(values=(" ".join(words),))
    elif question.type is QuestionType.MULTI_SELECT:
        answer = _several(ask, question, words)
    else:
        answer = _one(ask, question, " ".join(words))
    return check_answers(ask.questions, {question.id: answer})


def from_json(ask: Ask, given: object) -> tuple[Answer, ...]:
    """Whole answers, in the form that the inbox's API takes.

    :raises InvalidAnswer: with the path of the field that does not fit.
    """
    return parse_answers(ask.questions, given, _wrong_type)


def _wrong_type(_value: object, accepted: type) -> str:
    return f"accepted is {_TYPES[accepted]}"


def _one(ask: Ask, question: Question, text: str) -> Answer:
    picked = _picked(ask, question, text)
    if picked:
        return Answer(values=picked)
    if question.type is QuestionType.CONFIRM:
        raise ChatbridgeError(f"“{_quoted(text)}” is neither yes nor no.")
    return Answer(custom_text=text)


def _several(ask: Ask, question: Question, words: list[str]) -> Answer:
    values: list[str] = []
    own: list[str] = []
    for word in words:
        picked = _picked(ask, question, word)
        values += picked
        own += [] if picked else [word]
    return Answer(values=tuple(values), custom_text=" ".join(own) or None)


def _picked(ask: Ask, question: Question, text: str) -> tuple[str, ...]:
    """The labels that a text names, by its words or its number, as in a chat."""
    blank = replace(ask, draft=new_draft(ask.questions))
    labels = [
        question.choices[event.option].label
        for event in interpret_beside_buttons(blank, text)
        if isinstance(event, form.Choose | form.Toggle)
    ]
    digits = text.strip()
    if not labels and digits.isascii() and digits.isdecimal() and len(digits) <= _NUMBER:
        raise ChatbridgeError(
            f"There is no option {digits}. This question has 1 to {len(question.choices)}."
        )
    return tuple(labels)


def _quoted(text: str) -> str:
    return shortened(one_line(text), SAID)
