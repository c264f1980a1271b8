"""The questions of an ask as one form of a client's window: flat, one or two fields a question.

A select's Other is a field of its own, so that a form of the protocol's few types can have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatbridge.core.asks.answers import check_answers
from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.model import YES_NO, Answer, Question, QuestionType
from chatbridge.core.text import one_line, shortened
from chatbridge.tools.elicitation.elicitation import Window

LONGEST_TITLE = 60


def window_of(questions: Sequence[Question], *, title: str | None) -> Window:
    """The form; what comes back incomplete, or is closed, changes nothing."""
    properties: dict[str, Any] = {}
    for name, question in _named(questions):
        properties |= _fields(name, question)
    # A select that has to be answered can be answered by its Other: neither field is required.
    required = [name for name, q in _named(questions) if q.required and not q.takes_other]

    def read(content: Mapping[str, Any]) -> tuple[Answer, ...]:
        given = {q.id: _answer(name, q, content) for name, q in _named(questions)}
        return check_answers(questions, given)

    return Window(
        message=_message(questions, title),
        schema={"type": "object", "properties": properties, "required": required},
        read=read,
    )


def _named(questions: Sequence[Question]) -> list[tuple[str, Question]]:
    """Ids are the agent's own and can be anything."""
    return [(f"q{number}", question) for number, question in enumerate(questions, start=1)]


def _message(questions: Sequence[Question], title: str | None) -> str:
    if len(questions) == 1:
        return questions[0].text
    texts = [f"{number}. {question.text}" for number, question in enumerate(questions, start=1)]
    return "\n".join([title, *texts] if title else texts)


def _fields(name: str, question: Question) -> dict[str, Any]:
    shown = {
        "title": shortened(one_line(question.text), LONGEST_TITLE),
        "description": _description(question),
    }
    labels = [option.label for option in question.options]
    other = {f"{name}_other": {"type": "string", "title": "Other", "description": _OTHER}}
    match question.type:
        case QuestionType.SELECT:
            return {name: {"type": "string", **shown, "enum": labels}, **other}
        case QuestionType.MULTI_SELECT:
            items = {"type": "string", "enum": labels}
            return {name: {"type": "array", **shown, "items": items}, **other}
        case QuestionType.CONFIRM:
            return {name: {"type": "boolean", **shown}}
        case _:
            return {name: {"type": "string", **shown}}


_OTHER = "An answer in your own words, if none of the options fits"


def _description(question: Question) -> str:
    lines = [question.text]
    lines += [f"{o.label}: {o.description}" for o in question.options if o.description]
    if question.placeholder:
        lines.append(question.placeholder)
    return "\n".join(lines)


def _answer(name: str, question: Question, content: Mapping[str, Any]) -> Answer:
    """:raises InvalidAnswer: it is of another type than the form's."""
    given = content.get(name)
    match question.type:
        case QuestionType.CONFIRM:
            if given is not None and not isinstance(given, bool):
                raise InvalidAnswer(name, "neither true nor false")
            values = [] if given is None else [YES_NO[0 if given else 1].label]
        case QuestionType.MULTI_SELECT:
            values = [] if given is None else given
            if not isinstance(values, list):
                raise InvalidAnswer(name, "no list")
        case _:
            if given is not None and not isinstance(given, str):
                raise InvalidAnswer(name, "no text")
            values = [given] if given and given.strip() else []
    if not question.takes_other:
        return Answer(values=tuple(values))
    other = content.get(f"{name}_other")
    if not isinstance(other, str) or not other.strip():
        return Answer(values=tuple(values))
    # Some clients send an enum's first value though nobody chose it: words were meant.
    kept = () if question.type is QuestionType.SELECT else tuple(values)
    return Answer(values=kept, custom_text=other)
