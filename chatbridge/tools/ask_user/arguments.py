"""The arguments of `ask_user`: their JSON schema, and how to parse them into questions."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Answer, Option, Question, QuestionType
from chatbridge.tools.definition import (
    flag_field,
    invalid_arguments,
    object_schema,
    refused,
    text_field,
)

QUESTIONS, QUESTION = "questions", "question"
"""The dialects of an ask: how it was asked, and so how it is answered."""
SHORTEST_TIMEOUT = 10.0
MAX_QUESTIONS = 10
MAX_OPTIONS = 100
MAX_LABEL = 1_000
MAX_QUESTION = 1_000
MAX_SINGLE_QUESTION = 100_000
MAX_TITLE = 100

AskedType = Literal["text", "select", "multi-select", "confirm"]
"""An approval is none of them: an agent cannot make up a card for one."""
ASKED_TYPES: tuple[str, ...] = get_args(AskedType)

NO_QUESTION = "Validation error: questions array must have at least 1 item"
TOO_MANY = "Validation error: questions array exceeds maximum of 10"
NO_OPTIONS = "Validation error: Options required for select/multi-select types"
NO_TEXT = "Validation error: question text is required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The time-outs in force, in seconds."""

    default: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskUserInput:
    dialect: str
    title: str | None
    questions: tuple[Question, ...]
    timeout: float
    wait: bool


# ── the arguments' shape ──────────────────────────────────────────────────────────────────────────


def _labelled(value: object) -> object:
    return {"label": value} if isinstance(value, str) else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Option(_Shape):
    label: str = Field(min_length=1, max_length=MAX_LABEL)
    description: str | None = Field(default=None, max_length=MAX_SINGLE_QUESTION)


_Options = list[Annotated[_Option, BeforeValidator(_labelled)]]
_Text = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]


class _Question(_Shape):
    id: str | None = Field(default=None, min_length=1, max_length=200)
    question: _Text
    type: AskedType = "text"
    options: _Options | None = Field(default=None, max_length=MAX_OPTIONS)
    required: bool = True
    placeholder: str | None = Field(default=None, max_length=MAX_LABEL)
    onTimeout: str | list[str] | None = None  # noqa: N815 - the contract's name

    @model_validator(mode="before")
    @classmethod
    def _without_idle_options(cls, given: Any) -> Any:
        """Options of a text or a confirm are ignored, whatever they are."""
        if isinstance(given, dict) and given.get("type", "text") in ("text", "confirm"):
            return {name: value for name, value in given.items() if name != "options"}
        return given


class _Arguments(_Shape):
    questions: list[_Question] | None = Field(default=None, min_length=1, max_length=MAX_QUESTIONS)
    question: str | None = Field(default=None, min_length=1, max_length=MAX_SINGLE_QUESTION)
    options: _Options | None = Field(default=None, max_length=MAX_OPTIONS)
    multiSelect: bool | None = None  # noqa: N815 - the contract's name
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    timeout: Annotated[int | None, BeforeValidator(_whole)] = None
    wait: bool | None = None


_FIELDS = {name for shape in (_Arguments, _Question, _Option) for name in shape.model_fields}


# ── from arguments to questions ───────────────────────────────────────────────────────────────────


def parse(arguments: Mapping[str, Any], limits: Limits, *, declared_defaults: bool) -> AskUserInput:
    """:raises ToolInputError:"""
    try:
        given = _Arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise _refusal(error, arguments) from None
    dialect, questions = _asked(given, arguments, declared_defaults=declared_defaults)
    return AskUserInput(
        dialect=dialect,
        title=given.title.strip() or None if given.title else None,
        questions=questions,
        timeout=_timeout(given.timeout, limits),
        wait=given.wait is not False,
    )


def _asked(
    given: _Arguments, arguments: Mapping[str, Any], *, declared_defaults: bool
) -> tuple[str, tuple[Question, ...]]:
    if given.questions is None and given.question is None:
        raise refused(NO_QUESTION, "questions", arguments.get("questions"), "1 to 10 questions")
    if given.questions is not None and given.question is not None:
        raise refused(
            "Validation error: give either question or questions, not both",
            "question",
            given.question,
            "one of the two",
        )
    if given.questions is None:
        return QUESTION, (_single(given),)
    questions = tuple(
        _question(q, f"questions[{i}]", declared_defaults=declared_defaults)
        for i, q in enumerate(given.questions)
    )
    ids = [q.id for q in questions]
    for i, question_id in enumerate(ids):
        if question_id in ids[:i]:
            raise refused(
                "Validation error: question ids must be unique",
                f"questions[{i}].id",
                question_id,
                "another id, or none",
            )
    return QUESTIONS, questions


def _single(given: _Arguments) -> Question:
    text = given.question or ""
    _check_text(text, "question")
    if not given.options:
        return Question(id=_new_id(), text=text)
    kind = QuestionType.MULTI_SELECT if given.multiSelect else QuestionType.SELECT
    return Question(id=_new_id(), text=text, type=kind, options=_choices(given.options, ""))


def _question(given: _Question, path: str, *, declared_defaults: bool) -> Question:
    _check_text(given.question, f"{path}.question")
    choosing = given.type in (QuestionType.SELECT, QuestionType.MULTI_SELECT)
    if choosing and not given.options:
        raise refused(NO_OPTIONS, f"{path}.options", given.options, "at least one option")
    question = Question(
        id=given.id or _new_id(),
        text=given.question,
        type=QuestionType(given.type),
        options=_choices(given.options or [], path) if choosing else (),
        required=given.required,
        placeholder=given.placeholder,
    )
    if given.onTimeout is None:
        return question
    default = _default(question, given.onTimeout, f"{path}.onTimeout")
    if not declared_defaults:
        return question
    return replace(question, on_timeout=default)


def _choices(options: _Options, path: str) -> tuple[Option, ...]:
    labels = [o.label.strip() for o in options]
    for i, label in enumerate(labels):
        place = f"{path}.options[{i}]".lstrip(".")
        if not label:
            raise refused(
                "Validation error: an option needs a label", place, options[i].label, "some text"
            )
        if label in labels[:i]:
            raise refused(
                "Validation error: option labels must be unique", place, label, "another label"
            )
    return tuple(Option(label=o.label, description=o.description) for o in options)


def _default(question: Question, given: str | list[str], path: str) -> Answer:
    """The declared default as an answer; it must be one that a person could give."""
    values = (given,) if isinstance(given, str) else tuple(given)
    sentence = "Validation error: onTimeout does not fit the question"
    if question.type is QuestionType.CONFIRM:
        raise refused(sentence, path, given, "nothing: a confirm is never answered by silence")
    if question.type is QuestionType.TEXT:
        if len(values) != 1 or not values[0].strip():
            raise refused(sentence, path, given, "one text")
        return Answer(values=values)
    labels = [o.label for o in question.options]
    one = question.type is QuestionType.SELECT
    if not values or (one and len(values) != 1) or any(v not in labels for v in values):
        raise refused(sentence, path, given, ", ".join(labels))
    return Answer(values=tuple(label for label in labels if label in values))


def _check_text(text: str, path: str) -> None:
    if not text.strip():
        raise refused(NO_TEXT, path, text, "some text")


def _timeout(milliseconds: int | None, limits: Limits) -> float:
    if milliseconds is None:
        return limits.default
    try:
        seconds = milliseconds / 1000
    except OverflowError:
        seconds = math.inf
    if not SHORTEST_TIMEOUT <= seconds <= limits.longest:
        raise refused(
            "Validation error: timeout is out of range",
            "timeout",
            milliseconds,
            f"milliseconds from {SHORTEST_TIMEOUT * 1000:.0f} to {limits.longest * 1000:.0f}",
        )
    return seconds


def _new_id() -> str:
    return f"q_{secrets.token_hex(3)}"


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


def _refusal(error: ValidationError, arguments: Mapping[str, Any]) -> ToolInputError:
    """The first problem that the shape check found, in the contract's words where it has some."""
    first = error.errors(include_url=False)[0]
    kind, given, path = first["type"], first["input"], first["loc"]
    if path == ("questions",) and kind == "too_short":
        return refused(NO_QUESTION, "questions", given, "1 to 10 questions")
    if path == ("questions",) and kind == "too_long":
        count = len(arguments["questions"])
        return refused(TOO_MANY, "questions", f"{count} questions", "1 to 10 questions")
    refusal = invalid_arguments(error, _FIELDS)
    if path[-1] == "question" and kind in ("string_too_short", "missing"):
        given = None if kind == "missing" else given
        return refused(NO_TEXT, refusal.path, given, "some text")
    return refusal


_OPTION = object_schema(
    {
        "label": text_field("What the person taps; short"),
        "description": text_field("What choosing it means"),
    },
    "label",
)
_OPTIONS = {
    "type": "array",
    "description": "Options, as texts or as objects with label and description",
    "items": {"anyOf": [{"type": "string"}, _OPTION]},
    "maxItems": MAX_OPTIONS,
}
_QUESTION = object_schema(
    {
        "id": text_field("Comes back as questionId; optional"),
        "question": text_field(
            "The question; basic markdown is shown", minLength=1, maxLength=MAX_QUESTION
        ),
        "type": {
            "type": "string",
            "enum": [*ASKED_TYPES],
            "default": str(QuestionType.TEXT),
            "description": "text, one option, several options, or yes/no",
        },
        "options": _OPTIONS,
        "required": {
            "type": "boolean",
            "default": True,
            "description": "false: the person may skip it",
        },
        "placeholder": text_field("An example shown in a text field"),
        "onTimeout": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "description": "What to assume if nobody answers; used only where the owner "
            "allows it, never for confirm",
        },
    },
    "question",
)


def input_schema(limits: Limits) -> dict[str, Any]:
    return object_schema(
        {
            "questions": {
                "type": "array",
                "description": "The questions, asked one after another; 1 to 3 are best",
                "minItems": 1,
                "maxItems": MAX_QUESTIONS,
                "items": _QUESTION,
            },
            "title": text_field("A heading that says what it is all about", maxLength=MAX_TITLE),
            "timeout": {
                "type": "integer",
                "description": "How long to wait for the person, in milliseconds",
                "minimum": int(SHORTEST_TIMEOUT * 1000),
                "maximum": int(limits.longest * 1000),
                "default": int(limits.default * 1000),
            },
            "question": text_field(
                "One question, instead of questions; without options a free text"
            ),
            "options": {**_OPTIONS, "description": "Options of the one question"},
            "multiSelect": flag_field(
                "Whether several options of the one question may be chosen", default=False
            ),
            "wait": flag_field(
                "false: return a ticket at once and fetch the answer later with wait_for_answer",
                default=True,
            ),
        }
    )
