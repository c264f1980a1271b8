"""auq's tools: `ask_user_questions`, and `get_answered_questions` to fetch its answers later.

The first line of a refusal and the forms of results are the contract's, to the letter. What it does
not foresee is a paragraph at the end of a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from mcp_types import CallToolResult, Tool
from pydantic import Field

from chatbridge.core.asks.reach import Reach
from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import (
    Answer,
    Ask,
    AskBack,
    AskRequest,
    Call,
    Option,
    Project,
    Question,
    QuestionType,
    Status,
)
from chatbridge.core.store_port import Store
from chatbridge.core.text import shortened
from chatbridge.tools.attachments import (
    FileFields,
    FileShape,
    GivenFile,
    GivenFileShape,
    given_attachments,
    given_images,
)
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, text_result
from chatbridge.tools.definition import (
    Shape,
    array_field,
    flag_field,
    object_schema,
    present,
    refused,
    text_field,
    unknown_id,
    validated,
)
from chatbridge.tools.waiting import Waiting

SHORT = 8
"""How many characters of an id stand for it."""


@dataclass(frozen=True, slots=True)
class AskUserQuestions(ToolHandler):
    name = "ask_user_questions"
    title = "Ask the user with options"
    idempotent = True
    description = """\
Ask the person you work for to choose, and wait for the answers; the questions reach them on their \
phone or in their browser. Use it when there are several good ways and the choice is theirs.

Give each question a short title and a few options that differ, each with a description of what it \
means; a free answer ("Other") is always offered, so do not add one. Mark your advice at the end \
of a label: "(recommended)". Set multiSelect where several options can hold at once; choosing none \
is then an answer, too. One to three questions a call are best.

Answered: go on with what was chosen. A question may be left without an answer: decide it yourself \
or leave it. [ELABORATE_REQUEST]: explain the question in more detail, mind the guidance, and ask \
it again; [REPHRASE_REQUEST]: ask it again in other words; the other answers of the set count. \
Rejected: they will not answer; respect it, and the reason. Timed out: nobody answered, which is \
not consent. "Status: pending": the questions are still open; fetch the answers with \
get_answered_questions."""

    waiting: Waiting
    limits: Limits
    timeout: float | None
    """Seconds; None: there is no deadline."""

    def definition(self, project: Project, peer: Peer) -> Tool:
        files = self.waiting.files.fields(project, peer) if self.waiting.files else None
        return self._described(schema=ask_schema(self.limits, files))

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = parse(arguments, self.limits)
        request = AskRequest(
            project=call.project,
            agent=call.agent,
            tool=self.name,
            dialect="auq",
            title=given.questions[0].title if len(given.questions) == 1 else None,
            questions=given.questions,
            timeout=math.inf if self.timeout is None else self.timeout,
        )
        wait = await self.waiting.ask(request, call, files=given.files)
        return await wait.outcome(render_result, limit=None if given.wait else 0.0)


@dataclass(frozen=True, slots=True)
class GetAnsweredQuestions(ToolHandler):
    name = "get_answered_questions"
    title = "Fetch answers"
    read_only = idempotent = True
    description = """\
Fetch the answers to an earlier ask_user_questions call: give the id from its "[Session: …]" line. \
Returns what that call would have returned. "Status: pending" means that nobody has answered yet: \
do something else and fetch again, or set blocking to true to wait. It can be called as often as \
needed, and an answer that has come stays the same."""
    schema = object_schema(
        "session_id",
        session_id=text_field(
            f"The session's id, whole or its first {SHORT} characters", minLength=SHORT
        ),
        blocking=flag_field("true: wait until the person has answered", default=False),
    )

    waiting: Waiting
    store: Store

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        session, wait = parse_fetch(arguments)
        found = await self._found(session, call.project)
        following = await self.waiting.follow(found.id, call)
        return await following.outcome(render_fetched, limit=None if wait else 0.0)

    async def _found(self, session: str, project: Project) -> Ask:
        named = await self.store.asks_by_prefix(project=project.key, prefix=session)
        found = [ask for ask in named if _ours(ask, project)]
        if len(found) == 1:
            return found[0]
        if not found:
            known = [ask.id for ask in await self.store.open_asks() if _ours(ask, project)]
            sentence = "No session with this session_id in this project"
            raise unknown_id(sentence, "session_id", session, known)
        raise ToolInputError(
            "Several sessions begin with this session_id",
            path="session_id",
            given=shortened(repr(session), 120),
            accepted=f"the whole id of one of them: {', '.join(ask.id for ask in found)}",
        )


def _ours(ask: Ask, project: Project) -> bool:
    return ask.project.key == project.key and ask.tool == AskUserQuestions.name


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
    files: tuple[GivenFile, ...] = ()


class _Option(Shape):
    label: str = Field(max_length=MAX_NAME)
    description: str | None = Field(default=None, max_length=MAX_PROMPT)
    image: GivenFileShape | None = None


class _Question(Shape):
    prompt: str = Field(max_length=MAX_PROMPT)
    title: str = Field(max_length=MAX_NAME)
    options: list[_Option]
    multiSelect: bool | None = None  # noqa: N815 - the contract's name


class _Arguments(Shape):
    questions: list[_Question] | None = None
    nonBlocking: bool | None = None  # noqa: N815 - the contract's name
    attachments: list[GivenFileShape] | None = None


class _Fetch(Shape):
    session_id: str = Field(max_length=MAX_NAME)
    blocking: bool | None = None


def parse(arguments: Mapping[str, Any], limits: Limits) -> AuqInput:
    """:raises ToolInputError:"""
    _check_count(arguments.get("questions"), limits)
    given = validated(_Arguments, arguments, _Question, _Option, FileShape)
    questions = tuple(_question(q, i, limits) for i, q in enumerate(given.questions or ()))
    images = (
        given_images(q.options, question=i, path=f"questions[{i}].options")
        for i, q in enumerate(given.questions or ())
    )
    files = (*chain.from_iterable(images), *given_attachments(given.attachments))
    return AuqInput(questions=questions, wait=not given.nonBlocking, files=files)


def parse_fetch(arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """A session's id, or how it begins, and whether to wait. :raises ToolInputError:"""
    given = validated(_Fetch, arguments)
    session = given.session_id.strip().lower()
    if len(session) < SHORT:
        accepted = f"the whole id of a session, or its first {SHORT} characters"
        raise refused("session_id is too short", "session_id", given.session_id, accepted)
    return session, bool(given.blocking)


def _check_count(questions: object, limits: Limits) -> None:
    """Before anything else: a call that asks too much is told so at once."""
    accepted = f"1 to {limits.questions} questions"
    if questions is None or questions == []:
        given = repr(questions)
        raise ToolInputError(NO_QUESTION, path="questions", given=given, accepted=accepted)
    if isinstance(questions, list) and len(questions) > limits.questions:
        most = f"at most {limits.questions} questions are allowed in one call"
        raise refused(most, "questions", f"{len(questions)} questions", accepted)


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
        problem, accepted = "too few or too many", f"{FEWEST_OPTIONS} to {limits.options} options"
        raise refused(f"a question has {problem} options", path, f"{len(given)} options", accepted)
    labels = [option.label.strip() for option in given]
    for i, label in enumerate(labels):
        _check_text(label, f"{path}[{i}].label")
        if label in labels[:i]:
            where = f"{path}[{i}].label"
            raise refused("option labels must be unique", where, label, "another label")
    return tuple(Option(label=o.label, description=o.description) for o in given)


def _check_text(text: str, path: str) -> None:
    if not text.strip():
        raise refused(f"{path} is required", path, text, "some text")


def ask_schema(limits: Limits, files: FileFields | None = None) -> dict[str, Any]:
    option = object_schema(
        "label",
        label=text_field(
            'What the person taps; short. Your advice ends in "(recommended)"', minLength=1
        ),
        description=text_field("What choosing it means"),
        **present(image=files and files.image),
    )
    question = object_schema(
        *("prompt", "title", "options"),
        prompt=text_field("The whole question; basic markdown is shown", minLength=1),
        title=text_field('A name of one or two words for it, such as "Database"', minLength=1),
        options=array_field(
            "What can be chosen, without an Other: that one is always there",
            option,
            minItems=FEWEST_OPTIONS,
            maxItems=limits.options,
        ),
        multiSelect=flag_field(
            "true: any number of options may be chosen, also none", default=False
        ),
    )
    return object_schema(
        "questions",
        questions=array_field(
            "The questions, asked one after another; 1 to 3 are best",
            question,
            minItems=1,
            maxItems=limits.questions,
        ),
        nonBlocking=flag_field(
            "true: return at once and fetch the answers later with get_answered_questions",
            default=False,
        ),
        **present(attachments=files and files.attachments),
    )


ANSWERS = "Here are the user's answers:"
SUBMITTED = "Questions submitted successfully."
NO_ANSWERS = "No answers yet."
REJECTED = "User rejected this question set."
NO_REASON = "No reason provided."
TIMED_OUT = (
    "This question set timed out: nobody answered within the time limit. That is not consent; "
    "take the safe way, or ask again later."
)
WITHDRAWN = "This question set was withdrawn, because the agent had stopped waiting."
LATE = "Late: these answers were given to an earlier call, which had stopped waiting."


def render_result(ask: Ask, caller: Call, reach: Reach) -> CallToolResult:
    """For `ask_user_questions`: how the ask ended, or, if it is open, how to go on."""
    if ask.open:
        fetch = (
            f'Call get_answered_questions with session_id "{ask.id}" to fetch the answers; '
            "blocking: true waits for them."
        )
        header = _header(ask, Status.OPEN, counted=True)
        return text_result(_text(header, f"{SUBMITTED}\n{fetch}", reach.nobody))
    return _ended(ask, caller, reach, fetched=False)


def render_fetched(ask: Ask, caller: Call, reach: Reach) -> CallToolResult:
    if ask.open:
        return text_result(_text(_header(ask, Status.OPEN), NO_ANSWERS, reach.nobody))
    return _ended(ask, caller, reach, fetched=True)


def _ended(ask: Ask, caller: Call, reach: Reach, *, fetched: bool) -> CallToolResult:
    if ask.answer is not None:
        late = LATE if caller.late or ask.late is not None else None
        asked = enumerate(zip(ask.questions, ask.answer.answers, strict=True))
        answers = [_answered(i, question, answer) for i, (question, answer) in asked]
        return text_result(_text(_header(ask, counted=True), ANSWERS, *answers, late))
    if ask.status is Status.CANCELLED:
        return text_result(_rejected(ask, fetched=fetched))
    if ask.status is Status.TIMED_OUT:
        text = _text(_header(ask, ask.status), TIMED_OUT, reach.nobody)
    else:
        text = _text(_header(ask, ask.status), WITHDRAWN)
    return text_result(text, is_error=True)


def _text(*paragraphs: str | None) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


_STATUS = {Status.OPEN: "pending", Status.CANCELLED: "rejected"}


def _header(ask: Ask, status: Status | None = None, *, counted: bool = False) -> str:
    parts = [
        f"Session: {ask.id[:SHORT]}",
        f"Questions: {len(ask.questions)}" if counted else "",
        f"Status: {_STATUS.get(status, status)}" if status is not None else "",
    ]
    return f"[{' | '.join(filter(None, parts))}]"


def _rejected(ask: Ask, *, fetched: bool) -> str:
    reason = ask.outcome.reason if ask.outcome else None
    quoted = None if reason is None else _quoted(reason, '"')
    if fetched:
        why = "" if quoted is None else f" Reason: {quoted}"
        return _text(_header(ask, ask.status), f"{REJECTED}{why}")
    why = NO_REASON if quoted is None else f"Rejection reason: {quoted}"
    return _text(_header(ask, counted=True), REJECTED, why)


def _answered(index: int, question: Question, answer: Answer) -> str:
    if answer.ask_back is not None:
        lines = _asked_back(index, question, answer)
    else:
        chosen = [option for option in question.options if option.label in answer.values]
        lines = [f"→ {' — '.join(filter(None, (o.label, o.description)))}" for o in chosen]
        if answer.custom_text is not None:
            lines.append("→ Other: " + _quoted(answer.custom_text, "'"))
        multi = question.type is QuestionType.MULTI_SELECT
        lines = lines or ["→ (No selection)" if multi else "→ No answer provided"]
    return "\n".join([f"{index + 1}. {question.text}", *lines])


def _asked_back(index: int, question: Question, answer: Answer) -> list[str]:
    """The index counts from 0, as in the program that the contract comes from."""
    named = f"question '{question.title}'"
    if answer.ask_back is AskBack.REPHRASE:
        wish = f"[REPHRASE_REQUEST] Please rephrase {named} in a different way"
    else:
        wish = f"[ELABORATE_REQUEST] Please elaborate on {named} with more details"
    lines = [wish, f"Question index: {index}"]
    if answer.custom_text is not None:
        lines.append("User guidance: " + _quoted(answer.custom_text, '"'))
    return lines


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, f"\\{mark}") + mark
