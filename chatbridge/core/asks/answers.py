"""Checks of complete answers, as a script sends them. The form checks its own entries."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.forms.form import MAX_TEXT
from chatbridge.core.model import Answer, Question, QuestionType
from chatbridge.core.text import encodable


def check_answers(questions: Sequence[Question], given: dict[str, Answer]) -> tuple[Answer, ...]:
    """Check answers by question id and return them in the order of the questions.

    :raises InvalidAnswer: with the path of the invalid field.
    """
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
        if not question.takes_other:
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
    if len(answer.values) + (custom is not None) != 1:
        raise InvalidAnswer(f"{path}.values", f"a {question.type} question takes one value")
    return Answer(values=answer.values, custom_text=custom)


def _checked_text(text: str, path: str) -> str:
    text = encodable(text)
    if not text.strip():
        raise InvalidAnswer(path, "an empty text is no answer")
    if len(text) > MAX_TEXT:
        raise InvalidAnswer(path, f"{len(text):,} characters, at most {MAX_TEXT:,}")
    return text
