"""`AskUserQuestion`, Claude Code's own tool for questions, as a form and its answers as an input.

Whatever does not fit the form to the letter is no form: it is shown as any other tool's use.
"""

from __future__ import annotations

from typing import Any

from chatbridge.core.model import Answer, Option, Question, QuestionType

Json = dict[str, Any]

TOOL = "AskUserQuestion"
MOST_QUESTIONS, MOST_OPTIONS = 10, 20
LONGEST = 4_000


def questions_of(given: Json) -> tuple[Question, ...] | None:
    """None if they cannot be asked, or their answers could not be told apart."""
    found = given.get("questions")
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_QUESTIONS:
        return None
    questions = [_question(one, number) for number, one in enumerate(found, 1)]
    known = tuple(question for question in questions if question is not None)
    distinct = {question.text for question in known}
    return known if len(distinct) == len(found) else None


def answered(given: Json, answers: tuple[Answer, ...]) -> Json:
    """The input with the answers in it: with it the tool returns them to the model."""
    said = {
        one["question"]: _said(one, answer)
        for one, answer in zip(given["questions"], answers, strict=True)
    }
    return {"questions": given["questions"], "answers": said}


def _question(one: object, number: int) -> Question | None:
    if not isinstance(one, dict):
        return None
    text, header = one.get("question"), one.get("header")
    multi = one.get("multiSelect", False)
    options = _options(one.get("options"))
    if not _is_text(text) or not isinstance(multi, bool) or options is None:
        return None
    return Question(
        id=f"q_{number}",
        text=str(text),
        title=str(header) if _is_text(header) else None,
        type=QuestionType.MULTI_SELECT if multi else QuestionType.SELECT,
        options=options,
    )


def _options(found: object) -> tuple[Option, ...] | None:
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_OPTIONS:
        return None
    options = []
    for one in found:
        label = one.get("label") if isinstance(one, dict) else None
        if not _is_text(label):
            return None
        description = one.get("description")
        options.append(
            Option(
                label=str(label), description=str(description) if _is_text(description) else None
            )
        )
    return tuple(options) if len({option.label for option in options}) == len(options) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST


def _said(question: Json, answer: Answer) -> str | list[str]:
    own = [] if answer.custom_text is None else [answer.custom_text]
    said = [*answer.values, *own]
    return said if question.get("multiSelect") else "".join(said[:1])
