"""Parse and check whole answers, given at once by a script instead of step by step.

The form's own entries need no checks: only fitting events make them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.forms.form import MAX_TEXT
from chatbridge.core.model import Answer, Question, QuestionType
from chatbridge.core.text import encodable

FIELDS = ("questionId", "values", "customText")
JSON_TYPES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def wrong_type(value: object, accepted: type) -> str:
    """In the words of the inbox's API."""
    return f"given {JSON_TYPES[type(value)]}; accepted: {JSON_TYPES[accepted]}"


def check_type(
    value: Any, kind: type, path: str, describe: Callable[[object, type], str] = wrong_type
) -> Any:
    """:raises InvalidAnswer:"""
    if not isinstance(value, kind):
        raise InvalidAnswer(path, describe(value, kind))
    return value


def check_keys(given: Mapping[str, Any], prefix: str, accepted: Sequence[str]) -> None:
    """:raises InvalidAnswer:"""
    for key in given:
        if key not in accepted:
            raise InvalidAnswer(f"{prefix}{key}", f"unknown; accepted: {', '.join(accepted)}")


def parse_answers(
    questions: Sequence[Question],
    given: object,
    describe: Callable[[object, type], str] = wrong_type,
) -> tuple[Answer, ...]:
    """The list of answers that a script sends. `describe` words that a value has a wrong type.
    :raises InvalidAnswer: with the path of the field that does not fit."""
    found: dict[str, Answer] = {}
    for i, item in enumerate(check_type(given, list, "answers", describe)):
        path = f"answers[{i}]"
        check_keys(check_type(item, dict, path, describe), f"{path}.", FIELDS)
        question_id = check_type(item.get("questionId"), str, f"{path}.questionId", describe)
        if question_id in found:
            raise InvalidAnswer(f"{path}.questionId", f"{question_id!r} was answered before")
        values = check_type(item.get("values", []), list, f"{path}.values", describe)
        for j, value in enumerate(values):
            check_type(value, str, f"{path}.values[{j}]", describe)
        custom = item.get("customText")
        if custom is not None:
            check_type(custom, str, f"{path}.customText", describe)
        found[question_id] = Answer(values=tuple(values), custom_text=custom)
    return check_answers(questions, found)


def check_answers(questions: Sequence[Question], given: dict[str, Answer]) -> tuple[Answer, ...]:
    """Check answers by question id and return them in the order of the questions.
    :raises InvalidAnswer: with the path of the invalid field."""
    ids = [q.id for q in questions]
    for i, unknown in enumerate(given):
        if unknown not in ids:
            raise InvalidAnswer(
                f"answers[{i}].questionId", f"{unknown!r} is not one of {', '.join(ids)}"
            )
    paths = {question_id: f"answers[{i}]" for i, question_id in enumerate(given)}
    return tuple(
        _checked(q, given.get(q.id, Answer()), paths.get(q.id, "answers")) for q in questions
    )


def _checked(question: Question, answer: Answer, path: str) -> Answer:
    if answer.skipped:
        if question.required:
            raise InvalidAnswer(path, f"question {question.id!r} needs an answer")
        return Answer()
    custom = answer.custom_text
    if custom is not None:
        if not question.takes_other and question.type is not QuestionType.CONFIRM:
            raise InvalidAnswer(f"{path}.customText", f"a {question.type} question takes none")
        custom = _checked_text(custom, f"{path}.customText")
    if question.type is QuestionType.TEXT:
        if len(answer.values) != 1:
            raise InvalidAnswer(f"{path}.values", "a text question takes one value")
        return Answer(values=(_checked_text(answer.values[0], f"{path}.values[0]"),))
    labels = [o.label for o in question.choices]
    for i, value in enumerate(answer.values):
        if value not in labels:
            listed = ", ".join(labels)
            raise InvalidAnswer(f"{path}.values[{i}]", f"{value!r} is not one of {listed}")
    if question.type is QuestionType.MULTI_SELECT:
        ordered = tuple(label for label in labels if label in answer.values)
        return Answer(values=ordered, custom_text=custom)
    own = custom is not None and question.takes_other  # of a confirm it is a remark
    if len(answer.values) + own != 1:
        raise InvalidAnswer(f"{path}.values", f"a {question.type} question takes one value")
    return Answer(values=answer.values, custom_text=custom)


def _checked_text(text: str, path: str) -> str:
    text = encodable(text)
    if not text.strip():
        raise InvalidAnswer(path, "an empty text is no answer")
    if len(text) > MAX_TEXT:
        raise InvalidAnswer(path, f"{len(text):,} characters, at most {MAX_TEXT:,}")
    return text
