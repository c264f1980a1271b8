"""`get_answered_questions`: the answers to an earlier `ask_user_questions`, by its session."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Ask, Project
from chatbridge.core.store_port import Store
from chatbridge.core.text import shortened
from chatbridge.tools.auq import results
from chatbridge.tools.auq.arguments import parse_fetch
from chatbridge.tools.auq.ask import AskUserQuestions
from chatbridge.tools.auq.schema import fetch_schema
from chatbridge.tools.call import Peer, ToolCall, text_result
from chatbridge.tools.definition import described
from chatbridge.tools.waiting import Waiting

TITLE = "Fetch answers"

DESCRIPTION = """\
Fetch the answers to an earlier ask_user_questions call: give the id from its "[Session: …]" line. \
Returns what that call would have returned. "Status: pending" means that nobody has answered yet: \
do something else and fetch again, or set blocking to true to wait. It can be called as often as \
needed, and an answer that has come stays the same."""


class GetAnsweredQuestions:
    name = "get_answered_questions"
    always = False

    def __init__(self, waiting: Waiting, store: Store) -> None:
        self._waiting = waiting
        self._store = store

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title=TITLE,
            description=DESCRIPTION,
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
        reach = await self._waiting.reach(ended or ask)
        if ended is None:
            await self._waiting.broker.waiting_calls.ticket(call.name)
            return text_result(results.pending(ask, nobody=reach.nobody))
        text, is_error = results.ended(ended, caller, reach, fetched=True)
        return text_result(text, is_error=is_error)

    async def _found(self, session: str, project: Project) -> Ask:
        """:raises ToolInputError:"""
        named = await self._store.asks_by_prefix(project=project.key, prefix=session)
        found = [ask for ask in named if _ours(ask, project)]
        if len(found) == 1:
            return found[0]
        if not found:
            known = [ask for ask in await self._store.open_asks() if _ours(ask, project)]
            raise _unknown(session, known)
        raise _refused(
            "Several sessions begin with this session_id",
            session,
            f"the whole id of one of them: {_listed(found)}",
        )


def _ours(ask: Ask, project: Project) -> bool:
    return ask.project.key == project.key and ask.tool == AskUserQuestions.name


def _unknown(session: str, known: list[Ask]) -> ToolInputError:
    accepted = f"one that is open: {_listed(known)}" if known else "none, as none is open"
    return _refused("No session with this session_id in this project", session, accepted)


def _refused(sentence: str, session: str, accepted: str) -> ToolInputError:
    given = shortened(repr(session), 120)
    return ToolInputError(sentence, path="session_id", given=given, accepted=accepted)


def _listed(asks: list[Ask]) -> str:
    return ", ".join(ask.id for ask in asks)
