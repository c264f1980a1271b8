"""`question_ask`: SwissArmyHammer's one question, put to the client's window and to the chats.

Waits as long as it takes and gives no ticket, unless nobody can be reached. The answer is written
into the project's journal.

In the protocol era of 2026-07-28 a form ends the call, and an answer on the phone then only reaches
the agent after somebody has closed the window. So there the chats are asked, and the window only if
nobody can be reached through them, or if the owner's setting `elicit` says so.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    Tool,
)

from chatbridge.core.errors import InvalidAnswer, UnknownAsk
from chatbridge.core.model import Answer, Ask, AskRequest, Project, Question, Status
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import race
from chatbridge.core.text import encodable
from chatbridge.tool_names import ASK_USER, offered_name
from chatbridge.tools.attachments import attachment_objects
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, ToolResult, json_result, text_result
from chatbridge.tools.definition import (
    number_field,
    object_schema,
    present,
    refused,
    text_field,
    too_long,
)
from chatbridge.tools.elicitation import DECLINED, Elicitation, FormState, States, Window, about
from chatbridge.tools.journal.journal import QUESTION_ASK, Entry, Journal, JournalKeeper, stamp
from chatbridge.tools.waiting import UNREACHED_SECONDS, Wait, Waiting

log = logging.getLogger(__name__)

MAX_QUESTION = MAX_ANSWER = 100_000
FORM = "answer"
"""The form's name among what a client is asked to fill in."""
NO_ANSWER = "No answer provided"
DISMISSED = "closed in the agent's window"
WITHDRAWN = "The question was withdrawn, as nobody waited for its answer. Nothing was saved."
CANNOT = (
    "question_ask needs a client that declares the elicitation capability (forms), and this one "
    "does not, so nobody was asked. Use {instead} instead; answers can also be put into {folder} "
    "by hand, as YAML files with timestamp, question and answer"
)
FOREIGN = (
    "The requestState is not one that chatbridge gave out for this question, so nothing was asked "
    "and nothing saved. Call question_ask anew, without it"
)

NOT_SEEN = (
    "So nobody has seen the question, and nothing was saved. Go on without an answer, or call "
    "question_ask again later in the same words"
)

_CHATS_AND_WINDOW = "in your client's own window and on their phone or in their browser"
_SHOWN = {
    "chats": "on their phone or in their browser; in your client's own window if nobody can be "
    "reached there",
    "client": "in your client's own window",
    "both": f"{_CHATS_AND_WINDOW}; the first answer counts, and one on the phone is returned when "
    "the window is closed",
}
"""Where a form ends the call, by the owner's choice."""
_DESCRIPTION = """\
Ask the person you work for one question and wait, as long as it takes, for an answer in their own \
words. It is shown SHOWN. Needs a client with the MCP elicitation capability (forms), and is \
listed only then.

Every answer is kept in the project as a YAML file, so that question_summary can tell it to you \
again in a later session. Ask for what is worth remembering: a preference, a name, a target. Keep \
it short.

The form has one text field: {"type": "object", "properties": {"answer": {"type": "string", \
"description": "<the question>"}}, "required": ["answer"]}

Example: {"question": "Which database should we use?"} returns {"answer": "PostgreSQL", \
"saved_to": ".chatbridge/questions/20250605_140000_question.yaml"}, and that file says:
# Saved at 2025-06-05 14:00:00 UTC
timestamp: "2025-06-05T14:00:00.789Z"
question: "Which database should we use?"
answer: "PostgreSQL"

Declined: the result is an error and nothing is saved; respect it. Nobody can be reached for ten \
minutes: an error that says so."""


def description(*, stateless: bool, elicit: str) -> str:
    """What models are told. `stateless`: forms end the call."""
    shown = _SHOWN[elicit] if stateless else f"{_CHATS_AND_WINDOW}; the first answer counts"
    return _DESCRIPTION.replace("SHOWN", shown)


@dataclass(frozen=True, slots=True)
class QuestionAsk(ToolHandler):
    name = QUESTION_ASK
    title = "Ask one question and keep the answer"
    schema = object_schema(
        "question",
        question=text_field("The question to ask the person", minLength=1, maxLength=MAX_QUESTION),
    )

    waiting: Waiting
    elicitation: Elicitation
    keeper: JournalKeeper
    states: States
    elicit: str
    """The owner's choice for clients whose forms end the call: "chats", "client" or "both"."""

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        if not peer.elicits:
            log.debug("Client does not support elicitation, 'question_ask' tool not available")
            return None
        log.info("Client supports elicitation, registering 'question_ask' tool")
        told = description(stateless=peer.stateless, elicit=self.elicit)
        return self._described(description=told)

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> ToolResult:
        question = _parsed(arguments)
        if not call.peer.elicits:
            folder = await self.keeper.where(call.project)
            instead = offered_name(ASK_USER, call.agent.client)
            return text_result(CANNOT.format(instead=instead, folder=folder), is_error=True)
        if not call.peer.stateless:
            return await self._asked(question, call)
        if call.state is not None:
            return await self._second_turn(question, call, call.state)
        return await self._first_turn(question, call)

    async def _asked(self, question: Question, call: ToolCall) -> CallToolResult:
        wait = await self.waiting.ask(_request(question, call), call)
        async with self.elicitation.beside(wait.ask, call, _window(question)) as window:
            return await self._ended(wait, window)

    async def _ended(
        self, wait: Wait, window: asyncio.Future[None] | None = None
    ) -> CallToolResult:
        async def unreached() -> str:
            if window is not None:
                await asyncio.wait({window})
            return await wait.unreached(after=UNREACHED_SECONDS)

        end = await _end_or(unreached(), wait)
        if isinstance(end, str):
            # An answer that comes in this moment is kept for the next call.
            await self.waiting.broker.waiting_calls.mark_failed(wait.call.name)
            return text_result(f"{end} {NOT_SEEN}", is_error=True)
        return await self._told(end, wait)

    async def _told(self, ended: Ask, wait: Wait) -> CallToolResult:
        if ended.answer is None:
            reason = ended.outcome.reason if ended.outcome else None
            if ended.status is Status.WITHDRAWN and reason != NO_ANSWER:
                return text_result(WITHDRAWN, is_error=True)
            why = NO_ANSWER if reason == NO_ANSWER else _declined(reason)
            return text_result(why, is_error=True)
        answer, saved_to = ended.answer.answers[0], await self.keeper.saved(ended)
        files = attachment_objects(answer.attachments)
        result = _answered(answer.values[0], saved_to, late=wait.caller.late, attachments=files)
        return await wait.shown(ended, result)

    # Where a form ends the call, and the client calls again:

    async def _first_turn(self, question: Question, call: ToolCall) -> ToolResult:
        if self.elicit == "client":
            return self._form(question, _state(question, call, ask=None))
        wait = await self.waiting.ask(_request(question, call), call)
        if self.elicit == "chats":
            end = await _end_or(wait.unreached(after=0.0), wait)
            if not isinstance(end, str):
                return await self._told(end, wait)
            log.info("ask %s: the client's window is asked: %s", wait.ask.id, end)
        elif not wait.ask.open:
            return await self._ended(wait)
        await wait.ticket()
        return self._form(question, _state(question, call, ask=wait.ask.id))

    async def _second_turn(self, question: Question, call: ToolCall, given: str) -> ToolResult:
        state = self.states.opened(given)
        if state is None or state.about != about(call.project.key, question.text):
            return text_result(FOREIGN, is_error=True)
        reply = call.replies.get(FORM)
        if state.ask is None:
            return await self._without_ask(question, call, state, reply)
        instant = state.is_instant(call.clock.time())  # before the store takes its time
        try:
            wait = await self.waiting.follow(state.ask, call)
        except UnknownAsk:
            return text_result(FOREIGN, is_error=True)
        if wait.ask.open and reply is None:
            await wait.ticket()
            return self._form(question, state)
        if wait.ask.open and reply is not None:
            window = _window(question)
            await self.elicitation.put(wait.ask, reply, window, instant=instant, clock=call.clock)
        return await self._ended(wait)

    async def _without_ask(
        self, question: Question, call: ToolCall, state: FormState, reply: ElicitResult | None
    ) -> ToolResult:
        """The client's window alone was asked."""
        if reply is None:
            return self._form(question, state)
        if reply.action != "accept" and state.is_instant(call.clock.time()):
            log.info("call %s: the client declines by itself, the chats are asked", call.id)
            return await self._asked(question, call)
        if reply.action != "accept":
            reason = DECLINED if reply.action == "decline" else DISMISSED
            return text_result(_declined(reason), is_error=True)
        try:
            (answer,) = _window(question).read(reply.content or {})
        except InvalidAnswer:
            return text_result(NO_ANSWER, is_error=True)
        entry = Entry.of(at=call.clock.time(), question=question.text, answer=answer.values[0])
        saved_to = await self.keeper.save(call.project, entry, since=state.at)
        log.info("Session completed successfully session=none call=%s", call.id)
        return _answered(answer.values[0], saved_to)

    def _form(self, question: Question, state: FormState) -> InputRequiredResult:
        window = _window(question)
        form = ElicitRequestFormParams(message=window.message, requested_schema=window.schema)
        return InputRequiredResult(
            input_requests={FORM: ElicitRequest(params=form)},
            request_state=self.states.signed(state),
        )


async def _end_or(unreached: Coroutine[Any, Any, str], wait: Wait) -> Ask | str:
    """The ask once it has ended; or why nobody can be reached, if that comes first."""
    giving_up = asyncio.ensure_future(unreached)
    return await race(wait.ended(endless=True), giving_up) or giving_up.result()


def _parsed(arguments: dict[str, Any]) -> Question:
    given = arguments.get("question")
    if not isinstance(given, str) or not given.strip():
        raise refused("question text is required", "question", given, "some text")
    if len(given) > MAX_QUESTION:
        size, most = f"{len(given):,} characters", f"at most {MAX_QUESTION:,} characters"
        raise too_long("question", "question", size, most)
    return Question(id=FORM, text=given)


def _state(question: Question, call: ToolCall, *, ask: str | None) -> FormState:
    return FormState(about=about(call.project.key, question.text), ask=ask, at=call.clock.time())


def _request(question: Question, call: ToolCall) -> AskRequest:
    return AskRequest(
        project=call.project,
        agent=call.agent,
        tool=QUESTION_ASK,
        dialect=QUESTION_ASK,
        questions=(question,),
        timeout=math.inf,
    )


def _window(question: Question) -> Window:
    def read(content: Mapping[str, Any]) -> tuple[Answer, ...]:
        # Longer than what chats take: who writes so much in a window must not lose it.
        text = content.get("answer")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_ANSWER:
            raise InvalidAnswer("answer", f"no text of at most {MAX_ANSWER:,} characters")
        return (Answer(values=(encodable(text),)),)

    return Window(
        message=question.text,
        schema=object_schema("answer", answer=text_field(question.text)),
        read=read,
        dismissed=DISMISSED,
        unfit=NO_ANSWER,
    )


def _answered(
    answer: str, saved_to: str, *, late: bool = False, attachments: Sequence[Any] = ()
) -> CallToolResult:
    return json_result(
        present(
            answer=answer,
            saved_to=saved_to,
            late=late or None,
            attachments=attachments or None,
        )
    )


def _declined(reason: str | None) -> str:
    declined = "The question was declined, and nothing was saved."
    return f"{declined} Reason: {reason}" if reason else declined


LARGEST = 500_000
"""Bytes of YAML. Twice escaped and sent twice it still fits into one line to the client."""
ASKS_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class QuestionSummary(ToolHandler):
    name = "question_summary"
    title = "What was answered before"
    read_only = idempotent = True
    open_world = False
    description = """\
All questions that the person has answered in this project, as YAML, oldest first: what \
question_ask saved, files that somebody put there by hand, and answers to the other asking tools. \
Call it at the start of a session, before you ask, and take the answers into your context: what \
was decided need not be asked again. Needs no elicitation.

`limit` keeps only the newest; the third comment tells how many there are in all.

Example: {"limit": 2} returns {"summary": "…", "count": 2} with this summary:
# Question/Answer History
# Generated: 2025-06-05T14:00:00.000Z
# Total Q&A Pairs: 3

entries:
  - timestamp: "2025-06-05T13:45:12.456Z"
    question: "Select deployment target"
    answer: "staging"

  - timestamp: "2025-06-05T14:00:00.789Z"
    question: "Which database should we use?"
    answer: "PostgreSQL"
"""
    schema = object_schema(
        limit=number_field(
            "How many of the newest to include; left out: all", whole=True, minimum=1
        )
    )

    journal: Journal
    store: Store
    clock: Clock
    other_tools: bool
    """Whether answers to other tools than question_ask are included."""

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        limit = _limit(arguments)
        others: Sequence[Ask] = ()
        if self.other_tools:
            others = await self.store.answers_in(project=call.project.key, limit=ASKS_AT_MOST)
        now = stamp(self.clock.time())
        found = await asyncio.to_thread(self._summary, call.project, others, limit, now)
        return json_result(found)

    def _summary(
        self, project: Project, others: Sequence[Ask], limit: int | None, generated: str
    ) -> dict[str, Any]:
        from chatbridge.tools.journal.yaml_text import summary

        pages = self.journal.read(project)
        told = [entry for ask in reversed(others) for entry in _entries(ask)]
        entries = sorted(dict.fromkeys([*pages.entries, *told]), key=lambda e: e.timestamp)
        newest = entries if limit is None else entries[-limit:]
        included = _fitting(newest)
        text = summary(
            included,
            total=len(entries),
            generated=generated,
            left_out=len(newest) - len(included),
            skipped=sorted(pages.skipped),
        )
        return {"summary": text, "count": len(included)}


def _entries(ask: Ask) -> Iterator[Entry]:
    """What a person answered to another tool, one entry for each question."""
    if ask.tool == QUESTION_ASK or ask.needs_caller or ask.answer is None:
        return
    for question, answer in zip(ask.questions, ask.answer.answers, strict=True):
        if answer.skipped or answer.ask_back is not None:
            continue
        said = [*answer.values, *([answer.custom_text] if answer.custom_text else [])]
        yield Entry.of(at=ask.answer.at, question=question.text, answer=", ".join(said))


def _fitting(entries: list[Entry]) -> list[str]:
    """As many as fit into one result, written; the newest come first to their place."""
    from chatbridge.tools.journal.yaml_text import listed

    room, fitting = LARGEST, []
    for entry in reversed(entries):
        if len(entry.question) + len(entry.answer) > room:
            continue  # to write one that is huge takes seconds
        text = listed(entry)
        size = len(text.encode())
        if size <= room:
            room -= size
            fitting.append(text)
    return fitting[::-1]


def _limit(arguments: dict[str, Any]) -> int | None:
    limit = arguments.get("limit")
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if limit is None or (type(limit) is int and limit >= 1):
        return limit
    raise refused("limit is not valid", "limit", limit, "a whole number from 1")
