"""`ask_user`: CodeNomad's question form and PromptManager's single question, in one tool."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from mcp_types import CallToolResult, Tool
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from chatbridge.core.asks.reach import Reach
from chatbridge.core.cards.phrases import format_rang
from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import (
    Answer,
    Ask,
    AskRequest,
    Call,
    Option,
    Priority,
    Project,
    Question,
    QuestionType,
    Status,
)
from chatbridge.projects import settings_of
from chatbridge.tool_names import ASK_USER
from chatbridge.tools.attachments import (
    FileFields,
    FileShape,
    GivenFile,
    GivenFileShape,
    attachment_objects,
    given_attachments,
    given_images,
)
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, json_result, text_result
from chatbridge.tools.definition import (
    Shape,
    array_field,
    flag_field,
    invalid_arguments,
    number_field,
    object_schema,
    present,
    refused,
    text_field,
)
from chatbridge.tools.elicitation import Elicitation, window_of
from chatbridge.tools.waiting import Waiting


@dataclass(frozen=True, slots=True)
class AskUser(ToolHandler):
    name = ASK_USER
    title = "Ask the user"
    read_only = True
    description = """\
Ask the person you work for and wait for the answer; it reaches them on their phone or in their \
browser. Use it when you need a decision, a clarification or a confirmation that only they can give.

Give either `questions` (1 to 10, ideally 1 to 3, each with a type) or one `question`, with \
`options` or without. Keep questions short. Prefer select, multi-select or confirm to text: a tap \
is quicker than typing; a free answer ("Other") is always offered beside options. Mark your advice \
at the end of a label: "(recommended)". What is better seen than described goes along: \
`attachments`, and an `image` of an option.

Answered: go on with what was chosen; an optional question that was skipped has no values; \
customText is the person's own answer or, beside a yes or no, a remark that you have to mind; \
attachments are files that they sent. \
Cancelled: they will not answer; respect it, and the reason if there is one. Timed out: nobody \
answered, which is not consent; choose the safe way or ask again later. "pending": call \
wait_for_answer with the askId."""

    waiting: Waiting
    elicitation: Elicitation | None = None
    """Where questions are shown in the client's own window, too."""

    def definition(self, project: Project, peer: Peer) -> Tool:
        files = self.waiting.files.fields(project, peer) if self.waiting.files else None
        return self._described(schema=input_schema(self._limits(project), files))

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        declared_defaults = self.waiting.broker.policy.declared_defaults
        given = parse(arguments, self._limits(call.project), declared_defaults=declared_defaults)
        request = AskRequest(
            project=call.project,
            agent=call.agent,
            tool=self.name,
            dialect=given.dialect,
            title=given.title,
            questions=given.questions,
            timeout=given.timeout,
            priority=given.priority,
        )
        wait = await self.waiting.ask(request, call, files=given.files)
        if self.elicitation is None or not given.wait:
            return await wait.outcome(render_result, limit=None if given.wait else 0.0)
        asked = wait.ask
        window = window_of(asked.questions, title=asked.title, files=asked.files)
        async with self.elicitation.beside(wait.ask, call, window):
            ended = await wait.ended()
        return await wait.result(ended, render_result)

    def _limits(self, project: Project) -> Limits:
        """The argument comes before the project's file, that before the owner's default."""
        policy = self.waiting.broker.policy
        default = settings_of(project.key).default_timeout or policy.default_timeout
        if policy.declared_defaults:
            default = max(default, policy.default_timeout)
        return Limits(default=min(default, policy.max_timeout), longest=policy.max_timeout)


TIMED_OUT = "User did not respond within the timeout period. Proceeding with your best judgment."
NO_CONSENT = (
    "Nobody answered, so nobody agreed to anything. Take the safe way, or ask again later; do "
    "nothing that needed this answer."
)
"""Follows the contract's sentence, which alone reads like a permission."""
NOT_URGENT = (
    "You marked this urgent, but {why}. It came like any other question. Keep urgent for what "
    "cannot wait until the morning."
)
CANCELLED = "User cancelled the question."
WITHDRAWN = "the agent stopped waiting and the question was withdrawn"


def render_result(ask: Ask, call: Call, reach: Reach) -> CallToolResult:
    """How the ask ended as this call's result, or a ticket if it is open."""
    if ask.open:
        return _ticket(ask, reach)
    if ask.dialect == QUESTION:
        return _sentence(ask, reach)
    return json_result(_outcome(ask, call, reach))


def _note(ask: Ask) -> str | None:
    """What the agent should know that no contract foresees. In JSON it is a key: some clients show
    no other text."""
    rang = ask.attention.over_budget
    return None if rang is None else NOT_URGENT.format(why=format_rang(rang))


def _ticket(ask: Ask, reach: Reach) -> CallToolResult:
    if ask.dialect == QUESTION:
        go_on = f"The question is still open: call wait_for_answer with askId {ask.id} to go on."
        return text_result(
            f"{go_on} {reach.nobody}" if reach.nobody else go_on, *filter(None, (_note(ask),))
        )
    ticket = present(
        answered=False,
        cancelled=False,
        timedOut=False,
        answers=[],
        pending=True,
        askId=ask.id,
        next="The question is still open. Call wait_for_answer with this askId, and again until "
        "the result is no longer pending.",
        delivery=reach.nobody,
        note=_note(ask),
    )
    return json_result(ticket)


def _answers(ask: Ask) -> tuple[Answer, ...]:
    """What counts as the answer: a person's, in time or late, or the declared defaults."""
    if ask.answer is not None:
        return ask.answer.answers
    return ask.outcome.answers if ask.outcome else ()


def _outcome(ask: Ask, call: Call, reach: Reach) -> dict[str, Any]:
    answers = _answers(ask)
    timed_out = ask.status is Status.TIMED_OUT and ask.late is None
    return present(
        answered=bool(answers),
        cancelled=ask.status in (Status.CANCELLED, Status.WITHDRAWN),
        timedOut=timed_out,
        answers=list(map(_answer, call.question_ids, answers)),
        reason=_reason(ask) or None,
        late=True if call.late or ask.late is not None else None,
        delivery=reach.nobody if timed_out and not answers else None,
        note=_note(ask),
    )


def _reason(ask: Ask) -> str | None:
    if ask.status is Status.WITHDRAWN:
        return WITHDRAWN
    return ask.outcome.reason if ask.outcome else None


def _answer(question_id: str, answer: Answer) -> dict[str, Any]:
    return present(
        questionId=question_id,
        values=list(answer.values),
        customText=answer.custom_text,
        decidedBy=answer.decided_by,
        attachments=attachment_objects(answer.attachments) or None,
    )


def _sentence(ask: Ask, reach: Reach) -> CallToolResult:
    answers, notes = _answers(ask), [*filter(None, (_note(ask),))]
    if answers:
        return text_result(_answered(ask.questions[0].type, answers[0]), *notes)
    if ask.status is Status.TIMED_OUT:
        said = f"{TIMED_OUT} {reach.nobody}" if reach.nobody else TIMED_OUT
        return text_result(said, NO_CONSENT, *notes, is_error=True)
    why = _reason(ask)
    return text_result(f"{CANCELLED} {why}" if why else CANCELLED, *notes, is_error=True)


def _answered(kind: QuestionType, answer: Answer) -> str:
    if kind is QuestionType.TEXT:
        return f"User answered: {answer.values[0]}"
    if kind is QuestionType.SELECT and answer.custom_text is not None:
        return f"User answered: {answer.custom_text}"
    parts = list(answer.values)
    if answer.custom_text is not None:
        parts.append(f"Other: {answer.custom_text}")
    return f"User selected: {', '.join(parts)}"


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

NO_QUESTION = "questions array must have at least 1 item"
TOO_MANY = "questions array exceeds maximum of 10"
NO_OPTIONS = "Options required for select/multi-select types"
NO_TEXT = "question text is required"


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
    priority: Priority
    files: tuple[GivenFile, ...] = ()


def _labelled(value: object) -> object:
    return {"label": value} if isinstance(value, str) else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Option(Shape):
    label: str = Field(min_length=1, max_length=MAX_LABEL)
    description: str | None = Field(default=None, max_length=MAX_SINGLE_QUESTION)
    image: GivenFileShape | None = None


_Options = list[Annotated[_Option, BeforeValidator(_labelled)]]
_Text = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]


class _Question(Shape):
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


class _Arguments(Shape):
    questions: list[_Question] | None = Field(default=None, min_length=1, max_length=MAX_QUESTIONS)
    question: str | None = Field(default=None, min_length=1, max_length=MAX_SINGLE_QUESTION)
    options: _Options | None = Field(default=None, max_length=MAX_OPTIONS)
    multiSelect: bool | None = None  # noqa: N815 - the contract's name
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    timeout: Annotated[int | None, BeforeValidator(_whole)] = None
    wait: bool | None = None
    priority: Literal["low", "normal", "urgent"] | None = None
    attachments: list[GivenFileShape] | None = None


_SHAPES = (_Arguments, _Question, _Option, FileShape)
_FIELDS = {name for shape in _SHAPES for name in shape.model_fields}


def parse(arguments: Mapping[str, Any], limits: Limits, *, declared_defaults: bool) -> AskUserInput:
    """:raises ToolInputError:"""
    try:
        given = _Arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise _refusal(error, arguments) from None
    questions = _asked(given, arguments)
    if not declared_defaults:
        questions = tuple(replace(question, on_timeout=None) for question in questions)
    return AskUserInput(
        dialect=QUESTION if given.questions is None else QUESTIONS,
        title=given.title.strip() or None if given.title else None,
        questions=questions,
        timeout=_timeout(given.timeout, limits),
        wait=given.wait is not False,
        priority=Priority(given.priority or Priority.NORMAL),
        files=(*_images(given), *given_attachments(given.attachments)),
    )


def _images(given: _Arguments) -> Iterator[GivenFile]:
    if given.questions is None:
        yield from given_images(given.options, question=0, path="options")
    for i, question in enumerate(given.questions or ()):
        yield from given_images(question.options, question=i, path=f"questions[{i}].options")


def _asked(given: _Arguments, arguments: Mapping[str, Any]) -> tuple[Question, ...]:
    if given.questions is None and given.question is None:
        raise refused(NO_QUESTION, "questions", arguments.get("questions"), "1 to 10 questions")
    if given.questions is not None and given.question is not None:
        both = "give either question or questions, not both"
        raise refused(both, "question", given.question, "one of the two")
    if given.questions is None:
        kind: AskedType = "multi-select" if given.multiSelect else "select"
        one = _Question.model_construct(
            question=given.question or "",
            type=kind if given.options else "text",
            options=given.options,
        )
        return (_question(one, ""),)
    questions = tuple(_question(q, f"questions[{i}]") for i, q in enumerate(given.questions))
    ids = [q.id for q in questions]
    for i, question_id in enumerate(ids):
        if question_id in ids[:i]:
            path, accepted = f"questions[{i}].id", "another id, or none"
            raise refused("question ids must be unique", path, question_id, accepted)
    return questions


def _question(given: _Question, path: str) -> Question:
    if not given.question.strip():
        raise refused(NO_TEXT, f"{path}.question".lstrip("."), given.question, "some text")
    choosing = given.type in (QuestionType.SELECT, QuestionType.MULTI_SELECT)
    if choosing and not given.options:
        raise refused(NO_OPTIONS, f"{path}.options", given.options, "at least one option")
    question = Question(
        id=given.id or f"q_{secrets.token_hex(3)}",
        text=given.question,
        type=QuestionType(given.type),
        options=_choices(given.options or [], path) if choosing else (),
        required=given.required,
        placeholder=given.placeholder,
    )
    if given.onTimeout is None:
        return question
    return replace(question, on_timeout=_default(question, given.onTimeout, f"{path}.onTimeout"))


def _choices(options: _Options, path: str) -> tuple[Option, ...]:
    labels = [o.label.strip() for o in options]
    for i, label in enumerate(labels):
        place = f"{path}.options[{i}]".lstrip(".")
        if not label:
            raise refused("an option needs a label", place, options[i].label, "some text")
        if label in labels[:i]:
            raise refused("option labels must be unique", place, label, "another label")
    return tuple(Option(label=o.label, description=o.description) for o in options)


def _default(question: Question, given: str | list[str], path: str) -> Answer:
    """The declared default as an answer; it must be one that a person could give."""
    values = (given,) if isinstance(given, str) else tuple(given)
    problem = "onTimeout does not fit the question"
    if question.type is QuestionType.CONFIRM:
        raise refused(problem, path, given, "nothing: a confirm is never answered by silence")
    if question.type is QuestionType.TEXT:
        if len(values) != 1 or not values[0].strip():
            raise refused(problem, path, given, "one text")
        return Answer(values=values)
    labels = [o.label for o in question.options]
    one = question.type is QuestionType.SELECT
    if not values or (one and len(values) != 1) or any(v not in labels for v in values):
        raise refused(problem, path, given, ", ".join(labels))
    return Answer(values=tuple(label for label in labels if label in values))


def _timeout(milliseconds: int | None, limits: Limits) -> float:
    if milliseconds is None:
        return limits.default
    shortest, longest = round(SHORTEST_TIMEOUT * 1000), round(limits.longest * 1000)
    if not shortest <= milliseconds <= longest:
        accepted = f"milliseconds from {shortest} to {longest}"
        raise refused("timeout is out of range", "timeout", milliseconds, accepted)
    return milliseconds / 1000


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


def _options_schema(description: str, files: FileFields | None) -> dict[str, Any]:
    option = object_schema(
        "label",
        label=text_field("What the person taps; short"),
        description=text_field("What choosing it means"),
        **present(image=files and files.image),
    )
    items = {"anyOf": [{"type": "string"}, option]}
    return array_field(description, items, maxItems=MAX_OPTIONS)


def _question_schema(files: FileFields | None) -> dict[str, Any]:
    return object_schema(
        "question",
        id=text_field("Comes back as questionId; optional"),
        question=text_field(
            "The question; basic markdown is shown", minLength=1, maxLength=MAX_QUESTION
        ),
        type={
            "type": "string",
            "enum": [*ASKED_TYPES],
            "default": str(QuestionType.TEXT),
            "description": "text, one option, several options, or yes/no",
        },
        options=_options_schema(
            "Options, as texts or as objects with label and description", files
        ),
        required={
            "type": "boolean",
            "default": True,
            "description": "false: the person may skip it",
        },
        placeholder=text_field("An example shown in a text field"),
        onTimeout={
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "description": "What to assume if nobody answers; used only where the owner "
            "allows it, never for confirm",
        },
    )


def input_schema(limits: Limits, files: FileFields | None = None) -> dict[str, Any]:
    return object_schema(
        questions=array_field(
            "The questions, asked one after another; 1 to 3 are best",
            _question_schema(files),
            minItems=1,
            maxItems=MAX_QUESTIONS,
        ),
        title=text_field("A heading that says what it is all about", maxLength=MAX_TITLE),
        timeout=number_field(
            "How long to wait for the person, in milliseconds",
            whole=True,
            minimum=int(SHORTEST_TIMEOUT * 1000),
            maximum=int(limits.longest * 1000),
            default=int(limits.default * 1000),
        ),
        question=text_field("One question, instead of questions; without options a free text"),
        options=_options_schema("Options of the one question", files),
        multiSelect=flag_field(
            "Whether several options of the one question may be chosen", default=False
        ),
        wait=flag_field(
            "false: return a ticket at once and fetch the answer later with wait_for_answer",
            default=True,
        ),
        priority=text_field(
            "low never rings; urgent rings at night, too, a few times at most: only for what "
            "cannot wait until the morning",
            enum=[str(each) for each in Priority],
            default=str(Priority.NORMAL),
        ),
        **present(attachments=files and files.attachments),
    )
