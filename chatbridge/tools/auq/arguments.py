"""The arguments of auq's tools: their JSON schemas, and how to parse them.

A refusal's first line is the contract's sentence; the second says where, what and what else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatbridge.core.model import Option, Question, QuestionType
from chatbridge.tools.auq.results import SHORT
from chatbridge.tools.definition import (
    flag_field,
    invalid_arguments,
    object_schema,
    refused,
    text_field,
)

FEWEST_OPTIONS = 2
MAX_NAME = 1_000
MAX_PROMPT = 100_000

NO_QUESTION = "At least one question is required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one call may ask."""

    questions: int
    options: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuqInput:
    questions: tuple[Question, ...]
    wait: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchInput:
    session: str
    """The id, or how it begins."""
    wait: bool


# ── the arguments' shape ──────────────────────────────────────────────────────────────────────────


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Option(_Shape):
    label: str = Field(max_length=MAX_NAME)
    description: str | None = Field(default=None, max_length=MAX_PROMPT)


class _Question(_Shape):
    prompt: str = Field(max_length=MAX_PROMPT)
    title: str = Field(max_length=MAX_NAME)
    options: list[_Option]
    multiSelect: bool | None = None  # noqa: N815 - the contract's name


class _Arguments(_Shape):
    questions: list[_Question] | None = None
    nonBlocking: bool | None = None  # noqa: N815 - the contract's name


class _Fetch(_Shape):
    session_id: str = Field(max_length=MAX_NAME)
    blocking: bool | None = None


_FIELDS = {
    name for shape in (_Arguments, _Question, _Option, _Fetch) for name in shape.model_fields
}


# ── from arguments to questions ───────────────────────────────────────────────────────────────────


def parse(arguments: Mapping[str, Any], limits: Limits) -> AuqInput:
    """:raises ToolInputError:"""
    _check_count(arguments.get("questions"), limits)
    try:
        given = _Arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise invalid_arguments(error, _FIELDS) from None
    questions = tuple(_question(q, i, limits) for i, q in enumerate(given.questions or ()))
    return AuqInput(questions=questions, wait=not given.nonBlocking)


def parse_fetch(arguments: Mapping[str, Any]) -> FetchInput:
    """:raises ToolInputError:"""
    try:
        given = _Fetch.model_validate(dict(arguments))
    except ValidationError as error:
        raise invalid_arguments(error, _FIELDS) from None
    session = given.session_id.strip().lower()
    if len(session) < SHORT:
        raise refused(
            "Validation error: session_id is too short",
            "session_id",
            given.session_id,
            f"the whole id of a session, or its first {SHORT} characters",
        )
    return FetchInput(session=session, wait=bool(given.blocking))


def _check_count(questions: object, limits: Limits) -> None:
    """Before anything else: a call that asks too much is told so at once."""
    accepted = f"1 to {limits.questions} questions"
    if questions is None or questions == []:
        raise refused(NO_QUESTION, "questions", questions, accepted)
    if isinstance(questions, list) and len(questions) > limits.questions:
        raise refused(
            f"Validation error: at most {limits.questions} questions are allowed in one call",
            "questions",
            f"{len(questions)} questions",
            accepted,
        )


def _question(given: _Question, index: int, limits: Limits) -> Question:
    path = f"questions[{index}]"
    _check_text(given.prompt, f"{path}.prompt")
    _check_text(given.title, f"{path}.title")
    return Question(
        id=f"q{index + 1}",
        text=given.prompt,
        title=given.title,
        type=QuestionType.MULTI_SELECT if given.multiSelect else QuestionType.SELECT,
        options=_options(given.options, f"{path}.options", limits),
        required=False,
        takes_ask_back=True,
    )


def _options(given: list[_Option], path: str, limits: Limits) -> tuple[Option, ...]:
    if not FEWEST_OPTIONS <= len(given) <= limits.options:
        raise refused(
            "Validation error: a question has too few or too many options",
            path,
            f"{len(given)} options",
            f"{FEWEST_OPTIONS} to {limits.options} options",
        )
    labels = [option.label.strip() for option in given]
    for i, label in enumerate(labels):
        _check_text(label, f"{path}[{i}].label")
        if label in labels[:i]:
            sentence = "Validation error: option labels must be unique"
            raise refused(sentence, f"{path}[{i}].label", label, "another label")
    return tuple(Option(label=o.label, description=o.description) for o in given)


def _check_text(text: str, path: str) -> None:
    if not text.strip():
        raise refused(f"Validation error: {path} is required", path, text, "some text")


# ── the schemas, with the limits in force ─────────────────────────────────────────────────────────


def ask_schema(limits: Limits) -> dict[str, Any]:
    option = object_schema(
        {
            "label": text_field(
                'What the person taps; short. Your advice ends in "(recommended)"', minLength=1
            ),
            "description": text_field("What choosing it means"),
        },
        "label",
    )
    question = object_schema(
        {
            "prompt": text_field("The whole question; basic markdown is shown", minLength=1),
            "title": text_field(
                'A name of one or two words for it, such as "Database"', minLength=1
            ),
            "options": {
                "type": "array",
                "description": "What can be chosen, without an Other: that one is always there",
                "minItems": FEWEST_OPTIONS,
                "maxItems": limits.options,
                "items": option,
            },
            "multiSelect": flag_field(
                "true: any number of options may be chosen, also none", default=False
            ),
        },
        "prompt",
        "title",
        "options",
    )
    return object_schema(
        {
            "questions": {
                "type": "array",
                "description": "The questions, asked one after another; 1 to 3 are best",
                "minItems": 1,
                "maxItems": limits.questions,
                "items": question,
            },
            "nonBlocking": flag_field(
                "true: return at once and fetch the answers later with get_answered_questions",
                default=False,
            ),
        },
        "questions",
    )


def fetch_schema() -> dict[str, Any]:
    return object_schema(
        {
            "session_id": text_field(
                f"The session's id, whole or its first {SHORT} characters", minLength=SHORT
            ),
            "blocking": flag_field("true: wait until the person has answered", default=False),
        },
        "session_id",
    )
