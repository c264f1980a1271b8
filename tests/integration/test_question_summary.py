"""`question_summary`: the documented YAML, from files, hand-written ones and the store."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from mcp_types import TextContent

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import (
    Answer,
    AskBack,
    AskRequest,
    CallName,
    Question,
    QuestionType,
    Subject,
)
from chatbridge.tools.journal.journal import Entry
from chatbridge.tools.question_ask import QuestionSummary
from tests.fakes.clock import StillClock
from tests.fakes.core_env import COLOUR, OWNER, World, world
from tests.fakes.window import PEER, Questions

GOLDEN = Path(__file__).parents[1] / "golden" / "questions"
GENERATED = 1_749_132_000.0  # 2025-06-05 14:00:00 UTC
DOCUMENTED = (
    Entry.of(at=GENERATED + 0.789, question="Which database should we use?", answer="PostgreSQL"),
    Entry.of(
        at=GENERATED - 1754.877, question="What is your preferred approach?", answer="Option A"
    ),
    Entry.of(at=GENERATED - 887.544, question="Select deployment target", answer="staging"),
)


class Summaries:
    def __init__(self, here: World, folder: Path) -> None:
        self.world = here
        self.questions = Questions(here, folder)
        self.folder = self.questions.root / ".chatbridge/questions"

    async def run(self, *, other_tools: bool = True, **arguments: Any) -> dict[str, Any]:
        tool = QuestionSummary(
            self.questions.journal,
            self.world.store,
            clock=StillClock(GENERATED),
            other_tools=other_tools,
        )
        result = await tool.run(arguments, self.questions.call())
        (block,) = result.content
        assert isinstance(block, TextContent)
        found: dict[str, Any] = json.loads(block.text)
        assert result.structured_content == found
        return found

    def save(self, *entries: Entry) -> None:
        for entry in entries:
            self.questions.journal.save(self.questions.project, entry)

    async def answered(
        self, *questions: Question, answers: tuple[Answer, ...], tool: str = "ask_user"
    ) -> None:
        request = AskRequest(
            project=self.questions.project,
            agent=PEER.agent,
            tool=tool,
            dialect="questions",
            questions=questions,
        )
        name = CallName(link="link-1", request=str(questions))
        ask, _ = await self.world.broker.ask(request, name)
        await self.world.inbox.answer(ask.id, answers, person=OWNER)


@pytest_asyncio.fixture
async def summaries(tmp_path: Path) -> AsyncIterator[Summaries]:
    async with world(tmp_path, approval_channels=frozenset({"web"})) as here:  # type: ignore[arg-type]
        yield Summaries(here, tmp_path)


def golden(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


async def test_the_documents_example_is_told_to_the_letter(summaries: Summaries) -> None:
    summaries.save(*DOCUMENTED)
    assert await summaries.run() == {"summary": golden("summary.yaml"), "count": 3}


async def test_a_limit_keeps_the_newest_and_the_comment_tells_the_total(
    summaries: Summaries,
) -> None:
    summaries.save(*DOCUMENTED)
    assert await summaries.run(limit=1) == {"summary": golden("summary_limited.yaml"), "count": 1}
    assert (await summaries.run(limit=99))["count"] == 3


async def test_a_project_without_answers_has_no_entries(summaries: Summaries) -> None:
    assert await summaries.run() == {"summary": golden("summary_empty.yaml"), "count": 0}


async def test_files_by_hand_count_and_broken_ones_are_named(summaries: Summaries) -> None:
    summaries.save(DOCUMENTED[1])
    await asyncio.to_thread(_put_odd_files, summaries.folder)
    assert await summaries.run() == {"summary": golden("summary_skipped.yaml"), "count": 2}


def _put_odd_files(folder: Path) -> None:
    by_hand = folder / "by_hand.yaml"
    by_hand.write_text("timestamp: 2025-06-04T08:00Z\nquestion: By hand?\nanswer: yes\n")
    (folder / "bad\n.yaml").write_text("question: [\n")
    (folder / "huge.yaml").write_bytes(b"answer: " + b"b" * 1_000_000)
    (folder / "latin.yaml").write_bytes(b"answer: \xf6\n")
    os.symlink(by_hand, folder / "link.yaml")
    (folder / "list.yaml").write_text("- a\n")
    (folder / "silent.yaml").write_text("question: Which?\n")


async def test_answers_to_other_tools_are_one_entry_for_each_question(
    summaries: Summaries,
) -> None:
    ways = Question(
        id="w", text="Which ways?", type=QuestionType.MULTI_SELECT, options=COLOUR.options
    )
    note = Question(id="n", text="Anything else?", required=False)
    await summaries.answered(
        COLOUR,
        ways,
        note,
        answers=(
            Answer(custom_text='green: "light"'),
            Answer(values=("red", "blue"), custom_text="grey"),
            Answer(),
        ),
    )
    summaries.save(DOCUMENTED[0])
    result = await summaries.run()
    assert result["count"] == 3
    assert yaml.safe_load(result["summary"])["entries"] == [
        {
            "timestamp": "2025-06-05T14:00:00.789Z",
            "question": "Which database should we use?",
            "answer": "PostgreSQL",
        },
        {
            "timestamp": "2026-11-15T22:41:00.000Z",
            "question": "Which colour?",
            "answer": 'green: "light"',
        },
        {
            "timestamp": "2026-11-15T22:41:00.000Z",
            "question": "Which ways?",
            "answer": "red, blue, grey",
        },
    ]
    assert (await summaries.run(other_tools=False))["count"] == 1


async def test_approvals_asking_back_and_what_is_in_a_file_already_are_no_entries(
    summaries: Summaries,
) -> None:
    approval = Question(
        id="a", text="Run it?", type=QuestionType.APPROVAL, subject=Subject(code="rm -rf /")
    )
    await summaries.answered(approval, answers=(Answer(values=("allow",)),))
    asks_back = Answer(ask_back=AskBack.EXPLAIN, custom_text="which one?")
    await summaries.answered(COLOUR, answers=(asks_back,))
    text = Question(id="t", text="What name?")
    await summaries.answered(text, answers=(Answer(values=("shop",)),), tool="question_ask")
    at = summaries.world.clock.time()
    summaries.save(Entry.of(at=at, question="What name?", answer="shop"))
    result = await summaries.run()
    assert [e["question"] for e in yaml.safe_load(result["summary"])["entries"]] == ["What name?"]


async def test_a_history_that_is_too_long_for_one_result_keeps_the_newest(
    summaries: Summaries,
) -> None:
    big = [
        Entry.of(at=GENERATED + i, question=f"Number {i}?", answer="x" * 90_000) for i in range(8)
    ]
    summaries.save(*big)
    result = await summaries.run()
    kept = [entry["question"] for entry in yaml.safe_load(result["summary"])["entries"]]
    assert kept == [f"Number {i}?" for i in range(3, 8)]
    assert result["count"] == 5
    assert "# Total Q&A Pairs: 8\n# Left out: 3, as" in result["summary"]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "3", True, []], ids=repr)
async def test_a_limit_that_is_no_number_from_1_is_refused(
    summaries: Summaries, limit: object
) -> None:
    with pytest.raises(
        ToolInputError, match=r"^Validation error: limit is not valid\nlimit: given"
    ):
        await summaries.run(limit=limit)
