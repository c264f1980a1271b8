"""`question_ask` between the client's window and the chats, with a real broker and a real disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp import MCPError
from mcp_types import CallToolResult, TextContent

from chatbridge.core.asks.reach import Reach
from chatbridge.core.cards.outcome_text import WINDOW
from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Answer, Ask, Status
from chatbridge.tools.call import Peer
from chatbridge.tools.clients import Client
from chatbridge.tools.waiting import LOOK_SECONDS, UNREACHED_SECONDS
from tests.acceptance.bridge import until
from tests.fakes.core_env import OWNER, PATIENCE, world
from tests.fakes.disk import failing
from tests.fakes.window import PEER, FormWindow, Questions, said

QUESTION = "What is your preferred approach?"
OPTION_A = (Answer(values=("Option A",)),)


@pytest_asyncio.fixture
async def questions(tmp_path: Path) -> AsyncIterator[Questions]:
    async with world(tmp_path) as here:
        yield Questions(here, tmp_path)


class Asked:
    """A waiting call, its window, and its ask."""

    def __init__(self, questions: Questions, number: int = 1, **more: Any) -> None:
        self.questions = questions
        self.window = FormWindow()
        self.call = questions.call(number, self.window, **more)
        self.running = asyncio.create_task(questions.tool.run({"question": QUESTION}, self.call))

    async def ask(self) -> Ask:
        """The ask, once the window is open."""
        await asyncio.wait_for(self.window.shown, PATIENCE)
        (ask,) = await self.questions.world.store.open_asks()
        return ask

    async def result(self) -> CallToolResult:
        result = await asyncio.wait_for(self.running, PATIENCE)
        assert isinstance(result, CallToolResult)
        return result

    async def answer(self, ask: Ask) -> None:
        await self.questions.world.inbox.answer(ask.id, OPTION_A, person=OWNER)

    async def told(self) -> dict[str, Any]:
        return said(await self.result())

    async def error(self) -> str:
        result = await self.result()
        (block,) = result.content
        assert result.is_error
        assert isinstance(block, TextContent)
        return block.text


async def ended(questions: Questions, ask: Ask) -> Ask:
    return await questions.world.inbox.ask(ask.id)


async def test_the_window_has_the_documented_form(questions: Questions) -> None:
    asked = Asked(questions)
    await asked.ask()
    assert asked.window.shown.result() == (
        QUESTION,
        {
            "type": "object",
            "properties": {"answer": {"type": "string", "description": QUESTION}},
            "required": ["answer"],
        },
    )
    asked.window.accept(answer="Option A")
    assert await asked.told() == {
        "answer": "Option A",
        "saved_to": ".chatbridge/questions/20261115_224100_question.yaml",
    }
    (file,) = questions.files()
    assert file.read_text().splitlines() == [
        "# Saved at 2026-11-15 22:41:00 UTC",
        'timestamp: "2026-11-15T22:41:00.000Z"',
        f'question: "{QUESTION}"',
        'answer: "Option A"',
    ]


async def test_it_waits_past_every_limit_and_never_returns_a_ticket(tmp_path: Path) -> None:
    async with world(tmp_path, max_block=5.0) as here:
        questions = Questions(here, tmp_path)
        hasty = Peer(agent=PEER.agent, elicits=True, client=Client(limit=60.0))
        asked = Asked(questions, peer=hasty)
        ask = await asked.ask()
        for _ in range(10):
            here.clock.advance(3600)
            await asyncio.sleep(0)
        assert ask.deadline is None
        assert not asked.running.done()
        await asked.answer(ask)
        assert (await asked.told())["answer"] == "Option A"


async def test_a_client_that_declines_by_itself_leaves_the_question_to_the_chats(
    questions: Questions,
) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    questions.world.clock.advance(0.9)
    asked.window.decline()
    await asyncio.wait_for(idle(questions), PATIENCE)
    assert (await ended(questions, ask)).open
    await asked.answer(ask)
    assert (await asked.told())["answer"] == "Option A"


async def idle(questions: Questions) -> None:
    """What was begun before this has been written."""

    async def nothing(tx: Any) -> None:
        return None

    for _ in range(5):
        await asyncio.sleep(0)
    await questions.world.store.write(nothing)


@pytest.mark.parametrize("how", ["decline", "dismiss"])
async def test_a_person_who_declines_ends_it_with_an_error_and_nothing_is_saved(
    questions: Questions, how: str
) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    questions.world.clock.advance(1.1)
    getattr(asked.window, how)()
    word = {"decline": "declined", "dismiss": "closed"}[how]
    error = await asked.error()
    assert error == (
        f"The question was declined, and nothing was saved. Reason: {word} in the agent's window"
    )
    after = await ended(questions, ask)
    assert after.status is Status.CANCELLED
    assert after.outcome is not None
    assert after.outcome.by is not None
    assert after.outcome.by == WINDOW
    assert questions.files() == []


@pytest.mark.parametrize("content", [{}, {"answer": 5}, {"answer": None}, {"answer": " "}], ids=str)
async def test_a_form_accepted_without_an_answer_is_no_answer(
    questions: Questions, content: dict[str, Any]
) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    asked.window.accept(**content)
    assert await asked.error() == "No answer provided"
    assert (await ended(questions, ask)).status is Status.CANCELLED
    assert questions.files() == []


async def test_a_person_who_cancels_in_the_chat_ends_it_with_their_reason(
    questions: Questions,
) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    await questions.world.inbox.cancel(ask.id, reason="not now", person=OWNER)
    assert (await asked.error()).endswith("Reason: not now")
    assert asked.window.withdrawn
    assert questions.files() == []


async def test_a_window_that_fails_leaves_the_question_to_the_chats(questions: Questions) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    asked.window.fail(MCPError(code=-32603, message="no window here"))
    await idle(questions)
    await asked.answer(ask)
    assert (await asked.told())["answer"] == "Option A"


async def test_with_neither_window_nor_channel_it_ends_with_an_error_that_says_so(
    questions: Questions,
) -> None:
    questions.reach = Reach(missing=(("telegram", "the token was rejected"),))
    asked = Asked(questions)
    ask = await asked.ask()
    asked.window.fail(MCPError(code=-32603, message="no window here"))
    await asyncio.wait_for(questions.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
    questions.world.clock.advance(UNREACHED_SECONDS)
    told = await asked.error()
    assert told.startswith("Nobody could be reached. Telegram: the token was rejected.")
    await asked.answer(ask)
    again = await questions.tool.run({"question": QUESTION}, questions.call(2))
    assert said(again)["late"], "an answer that comes later is kept"


async def test_while_its_window_is_open_it_waits_though_no_channel_works(
    questions: Questions,
) -> None:
    questions.reach = Reach()
    asked = Asked(questions)
    await asked.ask()
    await idle(questions)
    questions.world.clock.advance(10 * UNREACHED_SECONDS)
    await idle(questions)
    asked.window.accept(answer="Option A")
    assert (await asked.told())["answer"] == "Option A"


async def test_a_reply_that_the_store_refuses_for_a_while_is_stored_later(
    questions: Questions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked(questions)
    await asked.ask()
    async with failing(tmp_path, "asks"):
        asked.window.accept(answer="Option A")
        tried = "is not stored yet"
        await asyncio.to_thread(until, lambda: tried in caplog.text or None, "the warning")
    questions.world.clock.advance(1)
    assert (await asked.told())["answer"] == "Option A"


async def test_a_long_answer_in_the_window_is_not_lost(questions: Questions) -> None:
    asked = Asked(questions)
    await asked.ask()
    asked.window.accept(answer="word " * 10_000)
    assert (await asked.told())["answer"] == "word " * 10_000


async def test_a_cancelled_call_withdraws_the_window_and_its_late_answer_is_saved_and_kept(
    questions: Questions,
) -> None:
    asked = Asked(questions)
    ask = await asked.ask()
    asked.running.cancel()
    await asyncio.wait({asked.running})
    assert asked.window.withdrawn
    await questions.world.broker.waiting_calls.cancel(asked.call.name)
    await asked.answer(ask)
    answered = await questions.world.until(lambda ask: ask.answer is not None)
    questions.keeper.changed(answered)
    await questions.keeper.close()
    assert len(questions.files()) == 1
    again = Asked(questions, 2)
    assert await again.told() == {
        "answer": "Option A",
        "saved_to": ".chatbridge/questions/20261115_224100_question.yaml",
        "late": True,
    }
    assert len(questions.files()) == 1
    assert not again.window.shown.done()


async def test_an_answer_that_cannot_be_saved_is_returned_all_the_same(
    questions: Questions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (questions.root / ".chatbridge").write_text("in the way")
    (tmp_path / "state" / "journal").write_text("in the way")
    asked = Asked(questions)
    await asked.ask()
    asked.window.accept(answer="Option A")
    assert await asked.told() == {"answer": "Option A", "saved_to": "not saved: Not a directory"}
    assert "an answer was not saved" in caplog.text


async def test_an_answer_that_a_dead_hub_did_not_save_is_saved_by_the_next(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        asked = Asked(questions)
        ask = await asked.ask()
        asked.running.cancel()
        await asyncio.wait({asked.running})
        await asked.answer(ask)
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        assert questions.files() == []
        await questions.keeper.catch_up()
        await questions.keeper.close()
        (file,) = questions.files()
        assert 'answer: "Option A"' in file.read_text()


async def test_what_an_agent_has_got_is_not_saved_again_at_a_start(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        asked = Asked(questions)
        await asked.ask()
        asked.window.accept(answer="Option A")
        await asked.told()
        await here.broker.waiting_calls.delivered(asked.call.name)
        questions.files()[0].unlink()
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        await questions.keeper.catch_up()
        await questions.keeper.close()
        assert questions.files() == []


@pytest.mark.parametrize(
    "question", [None, "", "  ", 5, ["a"], "x" * 100_001], ids=lambda q: str(q)[:9]
)
async def test_what_is_no_question_is_refused_and_nobody_asked(
    questions: Questions, question: object
) -> None:
    with pytest.raises(ToolInputError, match=r"^Validation error: question .*\nquestion: given"):
        await questions.tool.run({"question": question}, questions.call())
    assert await questions.world.store.open_asks() == []
