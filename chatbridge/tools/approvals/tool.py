"""`approve_tool_use`: what Claude Code calls before it uses a tool (`--permission-prompt-tool`).

Owns the way from its arguments to an approval, or to the form of `AskUserQuestion`, and back to
the JSON that allows or denies. Only a person's word, given in time, allows: whatever else happens
denies, bad arguments and our own errors too. Those are marked with `isError` as in every tool, and
their text denies all the same, for a client that reads the text alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

from mcp_types import CallToolResult

from chatbridge.core.approval_rules import Rule
from chatbridge.core.asks.broker import Broker
from chatbridge.core.audit import Auditor, Entry, Thing
from chatbridge.core.bounds import MAX_CHARACTERS
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import (
    DENY,
    VERDICTS,
    Answer,
    Ask,
    AskRequest,
    Option,
    Question,
    QuestionType,
    Status,
    Subject,
)
from chatbridge.projects import settings_of
from chatbridge.tools.approvals.scope import ToolUse, fitting_rule, folders_of, plain_file
from chatbridge.tools.approvals.subject import CHANGE, subject_of
from chatbridge.tools.call import ToolCall, ToolHandler, text_result
from chatbridge.tools.clients import HOOK, soonest
from chatbridge.tools.definition import object_schema, refused, text_field, too_long
from chatbridge.tools.waiting import Waiting

log = logging.getLogger(__name__)

Json = dict[str, Any]

OUTCOME = "chatbridge/outcome"
"""Key in a denial's `_meta`: whether a person denied it, or what else happened."""
LONGEST_NAME = 200

DENIED = "The user denied this"
CANCELLED = "The user will not answer this"
TIMED_OUT = (
    "Nobody answered in time, so this is denied. That is no decision of the user's: go another "
    "way, or try again later."
)
NOT_REACHED = "So this is denied. Go another way, or try again later."
WITHDRAWN = "It was withdrawn before anybody answered, so this is denied."
CLIENT_LIMIT = (
    "Nobody answered before this client's time limit, so this is denied, and a later answer "
    "allows nothing. Try again later."
)
STILL_OPEN = (
    "Nobody has answered yet, and this client waits no longer. The question stays open: ask the "
    "same again to get the answer."
)
SWITCHED_OFF = "chatbridge is switched off in this project, so nobody was asked."


@dataclass(frozen=True, slots=True)
class ApproveToolUse(ToolHandler):
    name = "approve_tool_use"
    reaches_model = False
    title = "Approve the use of a tool"
    always = read_only = True
    description = """\
For Claude Code itself, not for the model: named with --permission-prompt-tool, it is called \
before a tool is used that needs a permission, and carries the request to the owner's phone. The \
owner allows it once, allows more of the same for a time, or denies it, with a reason if they \
like. Nobody answered, or nobody could be reached: denied. Claude Code's own questions \
(AskUserQuestion) are shown as a form, and what was chosen comes back as their answers. Calling \
it by yourself allows nothing."""
    schema = object_schema(
        *("tool_name", "input"),
        tool_name=text_field("The tool that is to be used"),
        input={"type": "object", "description": "What it is to be used with"},
        tool_use_id=text_field("The client's own id of it"),
    )

    waiting: Waiting
    timeout: float | None
    """Of approvals; None: that of every ask."""
    rules: tuple[Rule, ...] = ()
    """What the owner lets agents do without asking."""

    async def run(self, arguments: Json, call: ToolCall) -> CallToolResult:
        tool, given = _parsed(arguments)
        if call.agent.client == HOOK and not settings_of(call.project.key).enabled:
            return _deny(SWITCHED_OFF, "switched_off")  # a hook's client can ask by itself
        questions = questions_of(given) if tool == TOOL else None
        if questions is not None:
            return await self._questions(tool, given, questions, call)
        return await self._approval(tool, given, call)

    def failed(self, error: ChatbridgeError) -> CallToolResult:
        return _deny(str(error), "failed", is_error=True)

    async def _approval(self, tool: str, given: Json, call: ToolCall) -> CallToolResult:
        # A hook says where its agent is now. Others only have the folder that they began in.
        started = call.agent.client != HOOK
        use = ToolUse(tool, given, call.project, call.folder)

        def look() -> tuple[str, Subject, str | None, int | None]:
            text, subject = subject_of(
                tool, given, call.project, folder=call.folder, started=started
            )
            if (file := plain_file(use)) is not None:
                subject = replace(subject, edits=folders_of(file, call.project))
            subject = replace(subject, shared_session=call.shared_link)
            return text, subject, file, fitting_rule(self.rules, use, file, call.clock.time())

        text, subject, file, rule = await asyncio.to_thread(look)
        where = f"tool={tool} call={call.id} project={call.project.name}"
        broker = self.waiting.broker
        record = partial(_record, broker, subject, call=call, tool=tool)
        if rule is not None:
            log.info("allowed by rule %d of approvals.allow %s", rule, where)
            await record(by=Thing.RULE, id=str(rule))
            return _allow(given)
        timeout = broker.policy.default_timeout if self.timeout is None else self.timeout
        # The call ends then at the latest, and the card must not promise more time than it has.
        limit = soonest(call.given_up_after, broker.policy.max_block)
        if limit is not None:
            subject = replace(subject, latest=call.clock.time() + limit)
            timeout = min(timeout, limit)
        question = Question(id="approval", text=text, type=QuestionType.APPROVAL, subject=subject)
        # Whether the file is there yet makes no other change of it: that goes by one question.
        alike = replace(question, text=CHANGE) if subject.file else question
        request = replace(_request(tool, (alike,), call, timeout), questions=(question,))
        if (standing := await broker.find_grant(request, call.name, file=file)) is not None:
            log.info("allowed with ask %s %s", standing, where)
            await record(by=Thing.ASK, id=standing)
            return _allow(given)
        wait = await self.waiting.ask(request, call)
        ended = await wait.ended()
        if ended is None:
            # It ends here and now: whoever taps after this must not think that it ran.
            ended = await broker.time_out(wait.ask.id)
            if ended.status is Status.TIMED_OUT:
                return await self._unanswered(ended, CLIENT_LIMIT, "client_limit")
        if ended.status is not Status.ANSWERED or ended.outcome is None:
            return await self._refused(ended)
        (answer,) = ended.outcome.answers
        if answer.values == (VERDICTS[DENY].label,):
            return _deny(_with_reason(DENIED, answer.custom_text), "denied")
        return _allow(given)

    async def _questions(
        self, tool: str, given: Json, questions: tuple[Question, ...], call: ToolCall
    ) -> CallToolResult:
        policy = self.waiting.broker.policy
        own = settings_of(call.project.key).default_timeout or policy.default_timeout
        request = _request(tool, questions, call, min(own, policy.max_timeout))
        wait = await self.waiting.ask(request, call)
        ended = await wait.ended()
        if ended is None:
            await self.waiting.broker.waiting_calls.cancel(call.name)
            return await self._unanswered(wait.ask, STILL_OPEN, "client_limit")
        if ended.answer is None:
            return await self._refused(ended)
        return _allow(answered(given, ended.answer.answers))

    async def _refused(self, ask: Ask) -> CallToolResult:
        if ask.status is Status.TIMED_OUT:
            return await self._unanswered(ask, TIMED_OUT, "timed_out")
        if ask.status is Status.WITHDRAWN:
            return _deny(WITHDRAWN, "withdrawn")
        reason = ask.outcome.reason if ask.outcome else None
        return _deny(_with_reason(CANCELLED, reason), "cancelled")

    async def _unanswered(self, ask: Ask, sentence: str, outcome: str) -> CallToolResult:
        if nobody := (await self.waiting.reach(ask)).nobody:
            return _deny(f"{nobody} {NOT_REACHED}", "not_reached")
        return _deny(sentence, outcome)


async def _record(
    broker: Broker, subject: Subject, *, call: ToolCall, tool: str, by: Thing, id: str
) -> None:
    """Write down that this is allowed without an ask. :raises StoreError: then it is not."""
    project, agent = call.project, call.agent

    def entry(auditor: Auditor) -> Entry:
        return auditor.allowed(subject, tool=tool, project=project, agent=agent, by=by, id=id)

    await broker.record(entry)


def _request(
    tool: str, questions: tuple[Question, ...], call: ToolCall, timeout: float | None
) -> AskRequest:
    return AskRequest(
        project=call.project,
        agent=call.agent,
        tool=ApproveToolUse.name,
        dialect=tool,  # part of the fingerprint: what one tool may do no other may
        questions=questions,
        timeout=timeout,
    )


def _parsed(arguments: Json) -> tuple[str, Json]:
    tool, given = arguments.get("tool_name"), arguments.get("input")
    if not isinstance(tool, str) or not tool.strip() or len(tool) > LONGEST_NAME:
        accepted = f"a tool's name of at most {LONGEST_NAME} characters"
        raise refused("tool_name is required", "tool_name", tool, accepted)
    try:
        size = len(json.dumps(given, allow_nan=False))
    except (ValueError, RecursionError):  # NaN and the like: the client could not read them
        size = None
    if not isinstance(given, dict) or size is None:
        accepted = "the tool's input as an object"
        raise refused("input is required", "input", given, accepted)
    if size > MAX_CHARACTERS:
        given_size, accepted = f"{size:,} characters of JSON", f"at most {MAX_CHARACTERS:,}"
        raise too_long("input", "input", given_size, accepted)
    return tool, given


def _with_reason(sentence: str, reason: str | None) -> str:
    return f"{sentence}: {reason}" if reason else f"{sentence}."


def _allow(given: Json) -> CallToolResult:
    return _verdict({"behavior": "allow", "updatedInput": given})


def _deny(message: str, outcome: str, *, is_error: bool = False) -> CallToolResult:
    denial = _verdict({"behavior": "deny", "message": message})
    return denial.model_copy(update={"meta": {OUTCOME: outcome}, "is_error": is_error})


def _verdict(value: Json) -> CallToolResult:
    return text_result(json.dumps(value, ensure_ascii=False))


TOOL = "AskUserQuestion"
MOST_QUESTIONS, MOST_OPTIONS = 10, 20
LONGEST = 4_000


def questions_of(given: Json) -> tuple[Question, ...] | None:
    """None if they cannot be asked to the letter, or their answers could not be told apart."""
    found = given.get("questions")
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_QUESTIONS:
        return None
    questions = [_question(one, number) for number, one in enumerate(found, 1)]
    known = tuple(question for question in questions if question is not None)
    return known if len({question.text for question in known}) == len(found) else None


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
        text=text,
        title=header if _is_text(header) else None,
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
        about = one.get("description")
        options.append(Option(label=label, description=about if _is_text(about) else None))
    return tuple(options) if len({option.label for option in options}) == len(options) else None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST


def _said(question: Json, answer: Answer) -> str | list[str]:
    said = [*answer.values, *([] if answer.custom_text is None else [answer.custom_text])]
    files = [f"(attached: {file.path or file.name})" for file in answer.attachments]
    if question.get("multiSelect"):
        return [*said, *files]
    return " ".join([*said[:1], *files])
