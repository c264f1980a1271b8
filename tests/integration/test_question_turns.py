"""`question_ask` where a form ends the call: the client calls again, with the reply."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

from chatbridge.core.asks.reach import UNSURE, Reach
from chatbridge.core.model import Answer, Project, Status
from chatbridge.tools.call import Peer
from chatbridge.tools.elicitation import FormState, States, about
from chatbridge.tools.waiting import LOOK_SECONDS, UNREACHED_SECONDS
from tests.fakes.core_env import OWNER, PATIENCE, World, world
from tests.fakes.window import PEER, Questions, said

QUESTION = "Select deployment target"
TURNS = Peer(agent=PEER.agent, elicits=True, stateless=True)
STAGING = ElicitResult(action="accept", content={"answer": "staging"})


class Turns:
    def __init__(self, here: World, folder: Path, elicit: str) -> None:
        self.world = here
        self.questions = Questions(here, folder, elicit=elicit)
        self._numbers = itertools.count(1)

    async def call(
        self,
        *,
        state: str | None = None,
        reply: ElicitResult | None = None,
        question: str = QUESTION,
        project: Project | None = None,
    ) -> CallToolResult | InputRequiredResult:
        more: dict[str, Any] = {"project": project} if project else {}
        call = self.questions.call(
            next(self._numbers),
            peer=TURNS,
            state=state,
            replies={"answer": reply} if reply else {},
            **more,
        )
        running = self.questions.tool.run({"question": question}, call)
        return await asyncio.wait_for(running, PATIENCE)

    async def form(self) -> str:
        """The state of a form that was handed out."""
        result = await self.call()
        assert isinstance(result, InputRequiredResult)
        assert result.request_state is not None
        return result.request_state

    def files(self) -> list[Path]:
        return self.questions.files()


Open = Callable[[str], Turns]


@pytest_asyncio.fixture
async def turns(tmp_path: Path) -> AsyncIterator[Open]:
    async with world(tmp_path) as here:
        yield lambda elicit: Turns(here, tmp_path, elicit)


def error(result: CallToolResult | InputRequiredResult) -> str:
    assert isinstance(result, CallToolResult)
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("elicit", ["client", "both"])
async def test_the_first_call_ends_with_the_documented_form(turns: Open, elicit: str) -> None:
    here = turns(elicit)
    result = await here.call()
    assert isinstance(result, InputRequiredResult)
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "description": QUESTION}},
        "required": ["answer"],
    }
    form = ElicitRequestFormParams(message=QUESTION, requested_schema=schema)
    assert result.input_requests == {"answer": ElicitRequest(params=form)}
    in_chats = [ask.questions[0].text for ask in await here.world.store.open_asks()]
    assert in_chats == ([] if elicit == "client" else [QUESTION])


@pytest.mark.parametrize("elicit", ["client", "both"])
async def test_the_clients_reply_is_the_answer_and_saved(turns: Open, elicit: str) -> None:
    here = turns(elicit)
    state = await here.form()
    here.world.clock.advance(3600)
    result = said(await here.call(state=state, reply=STAGING))
    assert result == {
        "answer": "staging",
        "saved_to": ".chatbridge/questions/20261115_234100_question.yaml",
    }
    assert len(here.files()) == 1
    assert await here.world.store.open_asks() == []


async def test_with_chats_alone_the_call_blocks_and_shows_no_form(turns: Open) -> None:
    here = turns("chats")
    running = asyncio.create_task(here.call())
    ask = await here.world.until(lambda ask: ask.open)
    await here.world.inbox.answer(ask.id, (Answer(values=("staging",)),), person=OWNER)
    assert said(await running)["answer"] == "staging"


async def test_where_nobody_can_be_reached_the_clients_window_is_asked(turns: Open) -> None:
    here = turns("chats")
    here.questions.reach = Reach()
    state = await here.form()
    assert [ask.questions[0].text for ask in await here.world.store.open_asks()] == [QUESTION]
    here.world.clock.advance(60)
    assert said(await here.call(state=state, reply=STAGING))["answer"] == "staging"
    assert len(here.files()) == 1


async def test_a_question_on_its_way_to_a_chat_is_asked_in_no_window(turns: Open) -> None:
    here = turns("chats")
    here.questions.reach = UNSURE
    running = asyncio.create_task(here.call())
    ask = await here.world.until(lambda ask: ask.open)
    await asyncio.wait_for(here.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
    here.questions.reach = Reach(shown=("telegram",))
    here.world.clock.advance(LOOK_SECONDS)
    await here.world.inbox.answer(ask.id, (Answer(values=("staging",)),), person=OWNER)
    assert said(await running)["answer"] == "staging"


async def test_a_question_that_got_stuck_on_its_way_is_asked_in_the_clients_window(
    turns: Open,
) -> None:
    here = turns("chats")
    here.questions.reach = UNSURE
    running = asyncio.create_task(here.call())
    await here.world.until(lambda ask: ask.open)
    await asyncio.wait_for(here.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
    here.questions.reach = Reach(missing=(("telegram", "not shown yet"),))
    here.world.clock.advance(LOOK_SECONDS)
    assert isinstance(await running, InputRequiredResult)


async def test_while_a_chat_works_no_window_is_asked_though_others_come_first(turns: Open) -> None:
    here = turns("chats")
    here.questions.reach = Reach(missing=(("telegram", "not shown yet"),), coming=True)
    running = asyncio.create_task(here.call())
    ask = await here.world.until(lambda ask: ask.open)
    for _ in range(2):
        await asyncio.wait_for(here.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
        here.world.clock.advance(UNREACHED_SECONDS / 3)
    await asyncio.wait_for(here.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
    await here.world.inbox.answer(ask.id, (Answer(values=("staging",)),), person=OWNER)
    assert said(await running)["answer"] == "staging"


@pytest.mark.parametrize("elicit", ["chats", "client", "both"])
async def test_without_a_window_and_a_channel_it_ends_with_an_error_that_says_so(
    turns: Open, elicit: str
) -> None:
    here = turns(elicit)
    here.questions.reach = Reach()
    state = await here.form()
    by_itself = ElicitResult(action="decline")
    running = asyncio.create_task(here.call(state=state, reply=by_itself))
    ask = await here.world.until(lambda ask: ask.open)
    await asyncio.wait_for(here.world.clock.until_asleep(LOOK_SECONDS), PATIENCE)
    here.world.clock.advance(UNREACHED_SECONDS)
    told = error(await running)
    assert told.startswith("Nobody could be reached: no channel is set up.")
    assert "nothing was saved" in told
    assert here.files() == []
    assert (await here.world.now(ask)).open, "an answer to it can still be kept"


async def test_a_phone_that_answered_meanwhile_wins_over_the_clients_reply(turns: Open) -> None:
    here = turns("both")
    state = await here.form()
    (ask,) = await here.world.store.open_asks()
    await here.world.inbox.answer(ask.id, (Answer(values=("production",)),), person=OWNER)
    assert said(await here.call(state=state, reply=STAGING))["answer"] == "production"
    assert len(here.files()) == 1


async def test_a_repeated_second_call_saves_nothing_twice(turns: Open) -> None:
    """The hub may die between the file and the response; the link then repeats the call."""
    for elicit in ("client", "both"):
        here = turns(elicit)
        before = len(here.files())
        state = await here.form()
        here.world.clock.advance(60)
        first = said(await here.call(state=state, reply=STAGING))
        here.world.clock.advance(60)
        assert said(await here.call(state=state, reply=STAGING)) == first
        assert len(here.files()) == before + 1


@pytest.mark.parametrize("elicit", ["client", "both"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_declines_ends_it_with_an_error_and_nothing_is_saved(
    turns: Open, elicit: str, action: Any
) -> None:
    here = turns(elicit)
    state = await here.form()
    here.world.clock.advance(2)
    result = await here.call(state=state, reply=ElicitResult(action=action))
    assert error(result).startswith("The question was declined, and nothing was saved.")
    assert here.files() == []
    assert await here.world.store.open_asks() == []


@pytest.mark.parametrize("elicit", ["client", "both"])
async def test_a_client_that_declines_by_itself_leaves_the_question_to_the_chats(
    turns: Open, elicit: str
) -> None:
    here = turns(elicit)
    state = await here.form()
    running = asyncio.create_task(here.call(state=state, reply=ElicitResult(action="decline")))
    ask = await here.world.until(lambda ask: ask.open)
    await here.world.inbox.answer(ask.id, (Answer(values=("production",)),), person=OWNER)
    assert said(await running)["answer"] == "production"
    assert len(here.files()) == 1


@pytest.mark.parametrize("elicit", ["client", "both"])
async def test_a_form_accepted_without_an_answer_is_no_answer(turns: Open, elicit: str) -> None:
    here = turns(elicit)
    state = await here.form()
    empty = ElicitResult(action="accept", content={})
    assert error(await here.call(state=state, reply=empty)) == "No answer provided"
    assert here.files() == []


@pytest.mark.parametrize("elicit", ["client", "both"])
async def test_a_client_that_calls_again_without_a_reply_gets_the_form_again(
    turns: Open, elicit: str
) -> None:
    here = turns(elicit)
    state = await here.form()
    again = await here.call(state=state)
    assert isinstance(again, InputRequiredResult)
    assert again.request_state is not None
    here.world.clock.advance(60)
    assert said(await here.call(state=again.request_state, reply=STAGING))["answer"] == "staging"
    assert len(here.files()) == 1


@pytest.mark.parametrize("elicit", ["chats", "client", "both"])
async def test_a_forged_foreign_or_altered_state_is_an_error_and_nothing_is_saved(
    turns: Open, elicit: str, tmp_path: Path
) -> None:
    here = turns(elicit)
    real = await turns("both").form()
    (ask,) = await here.world.store.open_asks()
    at = here.world.clock.time()
    digest = about(here.questions.project.key, QUESTION)
    forged = States(lambda: b"x" * 32).signed(FormState(about=digest, ask=ask.id, at=at))
    unknown = States(lambda: b"k" * 32).signed(FormState(about=digest, ask="gone", at=at))
    elsewhere = Project(key=str(tmp_path), name="elsewhere")
    for state, more in [
        (forged, {}),
        (unknown, {}),
        ("", {}),
        ("a.b", {}),
        (real[:-4], {}),
        (real, {"question": "Another question?"}),
        (real, {"project": elsewhere}),
    ]:
        result = await here.call(state=state, reply=STAGING, **more)  # type: ignore[arg-type]
        assert "not one that chatbridge gave out for this question" in error(result), state
    assert here.files() == []
    assert here.questions.journal.read(elsewhere).entries == []
    assert (await here.world.now(ask)).status is Status.OPEN
