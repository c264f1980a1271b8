"""What an agent hears that has finished: the next task of its owner, or nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.messages.message import GO_ON, MessageState, Way
from chatbridge.core.model import Answer, Ask, Status
from chatbridge.tools.clients import HOOK
from chatbridge.tools.what_next import MAX_ROUNDS, MAX_WORDS, shorten
from tests.fakes.core_env import OWNER
from tests.fakes.sim_hub import Bridge, Pipe, WatchedClock, bridge, until

Json = dict[str, Any]
TESTS = "Message from the owner of this computer, sent 22:41 in the web inbox: fix the tests"


@asynccontextmanager
async def finished(
    path: Path, when_done: str = "ask", clock: WatchedClock | None = None
) -> AsyncIterator[tuple[Bridge, Pipe]]:
    """A hub, and the link of a hook."""
    clock = clock or WatchedClock()
    async with bridge(path, clock, when_done=when_done) as here:
        hook = Pipe(HOOK, clock)
        await hook.connect(here)
        yield here, hook


def stops(hook: Pipe, words: str = "All done.", *, again: bool = False) -> int:
    return hook.call("what_next", {"lastWords": words, "again": again})


async def is_told(hook: Pipe, call: int) -> str | None:
    """What the agent goes on with."""
    response = await hook.response(call)
    found: Json = json.loads(response["result"]["content"][0]["text"])
    assert found.keys() == {"next"}
    told: str | None = found["next"]
    return told


async def asked(here: Bridge) -> Ask:
    """The question that is open."""
    found: list[Ask] = []

    async def is_open() -> bool:
        found[:] = await here.hub.store.open_asks()
        return bool(found)

    await until(is_open)
    return found[0]


async def says(here: Bridge, ask: Ask, *values: str) -> None:
    await here.hub.inbox.answer(ask.id, (Answer(values=values),), person=OWNER)


async def tells(here: Bridge, hook: Pipe, text: str = "fix the tests") -> str:
    """A message to the only agent, which is known by its hook."""
    (agent,) = here.hub.inbox.messages.agents.listed()
    assert agent.link.endswith(hook.id)
    return (await here.hub.inbox.messages.tell(agent, text, by=OWNER)).id


# ── asking ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_owners_answer_is_the_next_task(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        call = stops(hook)
        ask = await asked(here)
        (row,) = (await here.hub.store.open_rows(limit=5)).rows
        assert row.glyph == "🏁"
        assert (ask.tool, ask.title, ask.questions[0].text) == (
            "what_next",
            "Finished",
            "All done.",
        )
        assert ask.agent.name == "Claude Code"
        await says(here, ask, "fix the tests")
        assert await is_told(hook, call) == f"{GO_ON} {TESTS}"

        async def delivered() -> bool:
            return (await here.hub.now(ask)).delivered_at is not None

        await until(delivered)
        assert here.notices == []


async def test_done_and_cancelled_end_it_without_a_word(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        call = stops(hook)
        await says(here, await asked(here))
        assert await is_told(hook, call) is None
        (row,) = await here.hub.store.past_rows(limit=5)
        assert (row.how_it_ended, row.summary.question) == ("Done", "Finished: All done.")
        call = stops(hook)
        await here.hub.inbox.cancel((await asked(here)).id, reason="Enough", person=OWNER)
        assert await is_told(hook, call) is None
        assert here.notices == []


async def test_nobody_answers_and_no_later_answer_is_taken(tmp_path: Path) -> None:
    clock = WatchedClock()
    async with finished(tmp_path, clock=clock) as (here, hook):
        call = stops(hook)
        ask = await asked(here)
        assert ask.deadline is not None
        # The hook's own limit, a little earlier, and not the hour of the settings.
        assert ask.deadline - ask.created_at == pytest.approx(580)
        await here.has(hook, call, pause=580)
        clock.advance(581)
        assert await is_told(hook, call) is None
        ended = await here.hub.now(ask)
        assert ended.status is Status.TIMED_OUT
        assert ended.deadline is not None
        assert ended.deadline <= clock.time()
        with pytest.raises(Exception, match="ended"):
            await says(here, ask, "fix the tests")


async def test_a_message_that_comes_meanwhile_ends_the_question(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        call = stops(hook)
        ask = await asked(here)
        message = await tells(here, hook)
        assert await is_told(hook, call) == f"{GO_ON} {TESTS}"
        assert (await here.hub.now(ask)).status is Status.WITHDRAWN

        async def delivered() -> bool:
            found = await here.hub.store.message(message)
            return found is not None and found.state is MessageState.DELIVERED

        await until(delivered)
        found = await here.hub.store.message(message)
        assert found
        assert found.way is Way.STOP_HOOK


async def test_a_message_that_waits_already_is_handed_over_at_once(tmp_path: Path) -> None:
    async with finished(tmp_path, "tell") as (here, hook):
        assert await is_told(hook, stops(hook)) is None
        await tells(here, hook)
        await tells(here, hook, "and the docs")
        told = await is_told(hook, stops(hook))
        assert told == f"{GO_ON} {TESTS}\n\n{TESTS.replace('fix the tests', 'and the docs')}"
        assert await here.asks() == []
        assert len(here.notices) == 1, "it has not finished"


async def test_a_hook_that_gives_up_takes_the_question_back(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        call = stops(hook)
        ask = await asked(here)
        hook.cancel(call)

        async def withdrawn() -> bool:
            return (await here.hub.now(ask)).status is Status.WITHDRAWN

        await until(withdrawn)


async def test_a_hook_that_dies_is_asked_for_until_it_does_not_come_back(tmp_path: Path) -> None:
    clock = WatchedClock()
    async with finished(tmp_path, clock=clock) as (here, hook):
        stops(hook)
        ask = await asked(here)
        await hook.die()
        assert (await here.hub.now(ask)).orphaned_since is not None
        clock.advance(here.hub.broker.policy.orphaned_after + 1)
        ended = await here.hub.until(lambda it: not it.open)
        assert (ended.id, ended.status) == (ask.id, Status.WITHDRAWN)


async def test_another_session_with_the_same_words_has_a_question_of_its_own(
    tmp_path: Path,
) -> None:
    async with finished(tmp_path) as (here, hook):
        stops(hook)
        first = await asked(here)
        other = Pipe(HOOK, WatchedClock())
        await other.connect(here)
        call = stops(other)

        async def two() -> bool:
            return len(await here.hub.store.open_asks()) == 2

        await until(two)
        (second,) = [it for it in await here.hub.store.open_asks() if it.id != first.id]
        await says(here, second, "fix the tests")
        assert await is_told(other, call)
        assert (await here.hub.now(first)).open


async def test_a_question_that_nobody_waits_for_is_not_taken_over(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        stops(hook)
        first = await asked(here)
        await hook.die()
        other = Pipe(HOOK, WatchedClock())
        await other.connect(here)
        await here.has(other, stops(other), pause=None)
        assert first.id in [it.id for it in await here.hub.store.open_asks()]
        assert len(await here.asks()) == 2


async def test_the_next_hub_goes_on_with_the_same_question(tmp_path: Path) -> None:
    clock = WatchedClock()
    hook = Pipe(HOOK, clock)
    async with bridge(tmp_path, clock, when_done="ask") as here:
        await hook.connect(here)
        call = stops(hook)
        ask = await asked(here)
    async with bridge(tmp_path, clock, when_done="ask") as here:
        await hook.connect(here)
        await here.has(hook, call, pause=None)
        assert [it.id for it in await here.asks()] == [ask.id]
        await says(here, ask, "fix the tests")
        assert await is_told(hook, call) == f"{GO_ON} {TESTS}"


# ── telling ───────────────────────────────────────────────────────────────────────────────────────


async def test_by_default_the_owner_is_told_and_nobody_waits(tmp_path: Path) -> None:
    async with finished(tmp_path, "tell") as (here, hook):
        assert await is_told(hook, stops(hook)) is None
        (notice,) = here.notices
        assert (notice.title, notice.message) == ("Finished", "Claude Code has finished its turn.")
        assert notice.level == "info"
        assert await here.asks() == []


async def test_who_goes_on_because_of_other_hooks_is_told_of_once(tmp_path: Path) -> None:
    async with finished(tmp_path, "tell") as (here, hook):
        for again in (False, True, True):
            assert await is_told(hook, stops(hook, again=again)) is None
        assert len(here.notices) == 1


async def test_who_went_on_with_the_owners_word_is_told_of_again(tmp_path: Path) -> None:
    async with finished(tmp_path, "tell") as (here, hook):
        await is_told(hook, stops(hook))
        await tells(here, hook)
        assert await is_told(hook, stops(hook))
        assert await is_told(hook, stops(hook, again=True)) is None
        assert len(here.notices) == 2


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────


async def test_hooks_that_go_round_do_not_ask_for_ever(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        for _ in range(MAX_ROUNDS):
            call = stops(hook, again=True)
            await says(here, await asked(here))
            assert await is_told(hook, call) is None
        for _ in range(3):
            assert await is_told(hook, stops(hook, again=True)) is None
        assert len(here.notices) == 1
        assert len(await here.asks()) == MAX_ROUNDS
        call = stops(hook)  # a turn that a person began
        await says(here, await asked(here), "fix the tests")
        assert await is_told(hook, call)


async def test_a_persons_word_begins_the_count_anew(tmp_path: Path) -> None:
    async with finished(tmp_path) as (here, hook):
        for values in ((), (), ("go on",)) * 2:
            call = stops(hook, again=True)
            await says(here, await asked(here), *values)
            assert bool(await is_told(hook, call)) is bool(values)


# ── who, and what ─────────────────────────────────────────────────────────────────────────────────


async def test_no_agent_sees_the_tool_or_can_call_it(tmp_path: Path) -> None:
    clock = WatchedClock()
    async with bridge(tmp_path, clock, when_done="ask") as here:
        for client in ("claude-code", "chatbridge-cli", "", "chatbridge-hook-2"):
            agent = Pipe(client, clock)
            await agent.connect(here)
            response = await agent.response(stops(agent))
            assert "Unknown tool" in response["error"]["message"], client
        assert await here.asks() == []
        assert here.notices == []


@pytest.mark.parametrize(
    "arguments", [{}, {"lastWords": None}, {"lastWords": 5, "again": "yes"}, {"lastWords": " \n "}]
)
async def test_without_words_it_says_that_it_has_finished(tmp_path: Path, arguments: Json) -> None:
    async with finished(tmp_path) as (here, hook):
        hook.call("what_next", arguments)
        assert (await asked(here)).questions[0].text == "Claude Code has finished its turn."


def test_long_words_are_cut_at_a_word() -> None:
    assert shorten("  short \n") == "short"
    words = "word " * 500
    assert shorten(words) == ("word " * 120)[: MAX_WORDS - 6].rstrip() + "…"
    assert shorten("x" * 10_000) == "x" * (MAX_WORDS - 1) + "…"
    assert shorten("one\n" + "x" * 10_000) == "one\n" + "x" * (MAX_WORDS - 5) + "…"
    assert shorten("\ud800") == "\ufffd"
