"""`question_summary`: all that was asked and answered in a project, as YAML for an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_types import CallToolResult, Tool

from chatbridge.core.model import Ask, Project
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.tools.call import Peer, ToolCall, json_result
from chatbridge.tools.definition import described, object_schema, refused
from chatbridge.tools.journal.journal import QUESTION_ASK, Entry, Journal, Pages, stamp

LARGEST = 500_000
"""Bytes of YAML. Twice escaped and sent twice it still fits into one line to the client."""
ASKS_AT_MOST = 10_000

DESCRIPTION = """\
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


class QuestionSummary:
    name = "question_summary"
    always = False

    def __init__(self, journal: Journal, store: Store, *, clock: Clock, other_tools: bool) -> None:
        """`other_tools`: whether answers to other tools than question_ask are included."""
        self._journal = journal
        self._store = store
        self._clock = clock
        self._other_tools = other_tools

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="What was answered before",
            description=DESCRIPTION,
            schema=object_schema(
                {
                    "limit": {
                        "type": "integer",
                        "description": "How many of the newest to include; left out: all",
                        "minimum": 1,
                    }
                }
            ),
            read_only=True,
            idempotent=True,
            open_world=False,
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        limit = _parsed(arguments)
        others: Sequence[Ask] = ()
        if self._other_tools:
            others = await self._store.answers_in(project=call.project.key, limit=ASKS_AT_MOST)
        generated = stamp(self._clock.time())
        return json_result(
            await asyncio.to_thread(self._summary, call.project, others, limit, generated)
        )

    def _summary(
        self, project: Project, others: Sequence[Ask], limit: int | None, generated: str
    ) -> dict[str, Any]:
        from chatbridge.tools.journal.yaml_text import summary

        pages: Pages = self._journal.read(project)
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
    if ask.tool == QUESTION_ASK or ask.approval or ask.answer is None:
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


def _parsed(arguments: dict[str, Any]) -> int | None:
    """:raises ToolInputError:"""
    limit = arguments.get("limit")
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if limit is None or (type(limit) is int and limit >= 1):
        return limit
    raise refused("Validation error: limit is not valid", "limit", limit, "a whole number from 1")
