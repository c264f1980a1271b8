"""auq's tools: `ask_user_questions`, and `get_answered_questions` to fetch its answers later.

Owns their descriptions and the ask; `arguments` parses what they are given, `results` renders what
they return.
"""

from __future__ import annotations

import math
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Ask, AskRequest, Project
from chatbridge.core.store_port import Store
from chatbridge.core.text import shortened
from chatbridge.tools.auq.arguments import Limits, ask_schema, fetch_schema, parse, parse_fetch
from chatbridge.tools.auq.results import render_fetched, render_result
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.definition import described, unknown_id
from chatbridge.tools.waiting import Waiting

DIALECT = "auq"

ASK_DESCRIPTION = """\
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


FETCH_DESCRIPTION = """\
Fetch the answers to an earlier ask_user_questions call: give the id from its "[Session: …]" line. \
Returns what that call would have returned. "Status: pending" means that nobody has answered yet: \
do something else and fetch again, or set blocking to true to wait. It can be called as often as \
needed, and an answer that has come stays the same."""


class AskUserQuestions:
    name = "ask_user_questions"
    always = False

    def __init__(self, waiting: Waiting, *, limits: Limits, timeout: float | None) -> None:
        """`timeout` in seconds; None: there is no deadline."""
        self._waiting = waiting
        self._limits = limits
        self._timeout = math.inf if timeout is None else timeout

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Ask the user with options",
            description=ASK_DESCRIPTION,
            schema=ask_schema(self._limits),
            idempotent=True,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = parse(arguments, self._limits)
        request = AskRequest(
            project=call.project,
            agent=call.agent,
            tool=self.name,
            dialect=DIALECT,
            title=given.questions[0].title if len(given.questions) == 1 else None,
            questions=given.questions,
            timeout=self._timeout,
        )
        ask, waiting = await self._waiting.ask(request, call)
        ended = await self._waiting.ended(ask, waiting, call, limit=None if given.wait else 0.0)
        return await self._waiting.result(ended or ask, waiting, call, render_result)


class GetAnsweredQuestions:
    name = "get_answered_questions"
    always = False

    def __init__(self, waiting: Waiting, store: Store) -> None:
        self._waiting = waiting
        self._store = store

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Fetch answers",
            description=FETCH_DESCRIPTION,
            schema=fetch_schema(),
            read_only=True,
            idempotent=True,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = parse_fetch(arguments)
        found = await self._found(given.session, call.project)
        ask, caller = await self._waiting.broker.follow(
            found.id, call.name, project=call.project.key, counts_for=call.counts_for
        )
        limit = None if given.wait else 0.0
        ended = await self._waiting.ended(ask, caller, call, limit=limit)
        return await self._waiting.result(ended or ask, caller, call, render_fetched)

    async def _found(self, session: str, project: Project) -> Ask:
        """:raises ToolInputError:"""
        named = await self._store.asks_by_prefix(project=project.key, prefix=session)
        found = [ask for ask in named if _ours(ask, project)]
        if len(found) == 1:
            return found[0]
        if not found:
            known = [ask.id for ask in await self._store.open_asks() if _ours(ask, project)]
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
