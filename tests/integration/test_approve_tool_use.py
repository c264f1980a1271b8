"""`approve_tool_use`: only a person's word, given in time, allows; whatever else happens denies."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.asks.reach import Reach
from chatbridge.core.forms import form
from chatbridge.core.model import Project, Status, Subject
from chatbridge.core.policy import DAY
from chatbridge.tools.clients import HOOK, Client
from tests.fakes.approving import (
    ALLOWED,
    LIST,
    ClaudeCode,
    allow,
    allow_for_session,
    denial,
    deny,
    deny_because,
    put,
    verdict,
)
from tests.fakes.core_env import OWNER, World, world
from tests.fakes.inbox import more_time

REMOVE: dict[str, Any] = {"tool_name": "Bash", "input": {"command": "rm -r build"}}


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


# ── a person decides ──────────────────────────────────────────────────────────────────────────────


async def test_allowed_returns_the_input_as_it_was_given(hub: World) -> None:
    given = {**LIST, "tool_use_id": "toolu_1"}
    async with ClaudeCode(hub).wanting(given) as (call, ask):
        assert ask.approval
        assert ask.questions[0].text == "Run this command?"
        assert ask.questions[0].subject == Subject(
            code="ls -l", language="bash", folder="/src/shop", started=True
        )
        await allow(hub, ask)
        result = await call
    assert verdict(result) == ALLOWED
    assert not result.is_error
    assert result.meta is None


async def test_denied_says_so_and_why_if_the_person_said_it(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, ask):
        await deny(hub, ask)
        assert denial(await call) == ("denied", "The user denied this.")
    async with claude.wanting() as (call, ask):
        await deny_because(hub, ask, "Use the staging server")
        result = await call
    assert denial(result) == ("denied", "The user denied this: Use the staging server")
    assert not result.is_error


async def test_allowed_for_the_session_is_not_asked_again_there(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, ask):
        await allow_for_session(hub, ask)
        assert verdict(await call) == ALLOWED
    reworded = {"command": "ls -l", "description": "Shows what is there"}
    again = await claude.wants({**LIST, "input": reworded})
    assert verdict(again) == {"behavior": "allow", "updatedInput": reworded}


async def test_allowed_once_is_asked_again(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, ask):
        await allow(hub, ask)
        await call
    async with claude.wanting() as (call, again):
        assert again.id != ask.id
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


@pytest.mark.parametrize(
    "other",
    [
        {"tool_name": "Bash", "input": {"command": "ls -l "}},
        {"tool_name": "Bash", "input": {"command": "ls -l", "sandbox": False}},
        {"tool_name": "bash", "input": LIST["input"]},
    ],
)
async def test_allowed_for_the_session_covers_nothing_but_exactly_this(
    hub: World, other: dict[str, Any]
) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, ask):
        await allow_for_session(hub, ask)
        await call
    async with claude.wanting(other) as (call, again):
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


@pytest.mark.parametrize("given", [LIST["input"], {"command": "ls -l", "sandbox": False}])
async def test_allowed_for_the_session_covers_no_other_folder(
    hub: World, given: dict[str, Any]
) -> None:
    claude = ClaudeCode(hub, name=HOOK, folder="/src/shop/build")
    wanted = {"tool_name": "Bash", "input": given}
    async with claude.wanting(wanted) as (call, ask):
        assert ask.questions[0].subject
        assert ask.questions[0].subject.folder == "/src/shop/build"
        assert not ask.questions[0].subject.started
        await allow_for_session(hub, ask)
        await call
    claude.folder = "/src/shop/src"
    async with claude.wanting(wanted) as (call, again):
        await deny(hub, again)
        assert denial(await call)[0] == "denied"
    claude.folder = "/src/shop/build"
    assert verdict(await claude.wants(wanted))["behavior"] == "allow"


async def test_allowed_for_the_session_covers_no_other_file_that_its_path_leads_to_later(
    hub: World, tmp_path: Path
) -> None:
    link = tmp_path / "notes.txt"
    link.symlink_to(tmp_path / "a")
    claude = ClaudeCode(hub, project=Project(key=str(tmp_path), name="shop"))
    given = {"file_path": str(link), "content": "x\n"}
    async with claude.wanting({"tool_name": "Write", "input": given}) as (call, ask):
        await allow_for_session(hub, ask)
        await call
    link.unlink()
    link.symlink_to("/etc/hosts")
    async with claude.wanting({"tool_name": "Write", "input": given}) as (call, again):
        assert again.questions[0].subject
        assert again.questions[0].subject.leads_to == "/etc/hosts"
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


async def test_names_that_could_look_alike_do_not_and_are_two_tools(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting({"tool_name": "pay'", "input": {}}) as (call, ask):
        await allow_for_session(hub, ask)
        await call
    for other in ("pay`", "pay' ", "pay\u2019\u200b"):
        async with claude.wanting({"tool_name": other, "input": {}}) as (call, again):
            assert again.questions[0].text != ask.questions[0].text
            await deny(hub, again)
            assert denial(await call)[0] == "denied"


# ── nobody does ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("own", "ends"), [(None, 300.0), (90.0, 90.0)])
async def test_a_time_out_denies(hub: World, own: float | None, ends: float) -> None:
    claude = ClaudeCode(hub, timeout=own)
    async with claude.wanting() as (call, ask):
        assert ask.deadline == hub.clock.time() + ends
        outcome, message = denial(await claude.outwaited(call))
    assert outcome == "timed_out"
    assert message.startswith("Nobody answered in time, so this is denied.")


async def test_nobody_reached_is_another_sentence_than_nobody_answered(hub: World) -> None:
    claude = ClaudeCode(hub, reach=Reach(missing=(("telegram", "no network"),)))
    async with claude.wanting() as (call, _):
        outcome, message = denial(await claude.outwaited(call))
    assert outcome == "not_reached"
    assert message.startswith("Nobody could be reached. Telegram: no network. So this is denied.")


async def test_the_clients_limit_denies_and_ends_the_approval(hub: World) -> None:
    claude = ClaudeCode(hub, client=Client(limit=600.0), timeout=DAY)
    async with claude.wanting() as (call, ask):
        outcome, message = denial(await claude.outwaited(call))
    assert outcome == "client_limit"
    assert "before this client's time limit" in message
    ended = await hub.now(ask)
    assert ended.status is Status.TIMED_OUT
    assert ended.deadline == ended.settled_at  # the card says by when nobody had answered


@pytest.mark.parametrize(
    ("client", "policy"),
    [(Client(limit=600.0), {}), (Client(), {"max_block": 600.0})],
    ids=["the client's limit", "the owner's"],
)
async def test_the_card_promises_no_more_time_than_the_call_has(
    tmp_path: Path, client: Client, policy: dict[str, Any]
) -> None:
    async with world(tmp_path, **policy) as hub:
        async with ClaudeCode(hub, client=client, timeout=DAY).wanting() as (call, ask):
            assert ask.deadline == ask.created_at + 600.0
            await deny(hub, ask)
            await call
        async with ClaudeCode(hub, client=client).wanting() as (call, ask):
            assert ask.deadline == ask.created_at + hub.broker.policy.default_timeout
            await deny(hub, ask)
            await call


async def test_more_time_cannot_be_had_than_the_client_has(tmp_path: Path) -> None:
    async with world(tmp_path, min_timeout=3600.0) as hub:
        claude = ClaudeCode(hub, client=Client(limit=600.0), timeout=DAY)
        async with claude.wanting() as (_, ask):
            ends = ask.created_at + 600.0
            assert ask.deadline == ends
            assert all(it.at <= ends for it in hub.inbox.later(ask))
            assert (await more_time(hub.inbox, ask.id, person=OWNER)).deadline == ends


async def test_withdrawn_denies(hub: World) -> None:
    claude = ClaudeCode(hub, timeout=DAY)
    async with claude.wanting() as (call, ask):
        await claude.gone()
        assert denial(await claude.outwaited(call))[0] == "withdrawn"
    assert (await hub.now(ask)).status is Status.WITHDRAWN


async def test_cancelled_denies_with_the_reason(hub: World) -> None:
    async with ClaudeCode(hub).wanting() as (call, ask):
        await hub.inbox.cancel(ask.id, reason="Not now", person=OWNER)
        result = await call
    assert denial(result) == ("cancelled", "The user will not answer this: Not now")


async def test_too_many_open_approvals_deny_the_next(tmp_path: Path) -> None:
    async with world(tmp_path, max_open_asks=1) as hub:
        claude = ClaudeCode(hub)
        async with claude.wanting():
            result = await claude.wants(REMOVE)
    assert result.is_error
    assert denial(result)[0] == "failed"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tool_name": "Bash"},
        {"tool_name": "", "input": {}},
        {"tool_name": "x" * 201, "input": {}},
        {"tool_name": ["Bash"], "input": {}},
        {"tool_name": "Bash", "input": "ls"},
        {"tool_name": "Bash", "input": {"command": "ls", "timeout": math.inf}},
        {"tool_name": "Bash", "input": {"command": "x" * 400_000}},
    ],
)
async def test_bad_arguments_are_an_error_that_denies_and_ask_nobody(
    hub: World, arguments: dict[str, Any]
) -> None:
    result = await ClaudeCode(hub).wants(arguments)
    outcome, message = denial(result)
    sentence, details = message.split("\n")
    assert result.is_error
    assert outcome == "failed"
    assert sentence.startswith("Validation error: ")
    assert "; accepted: " in details
    assert not await hub.store.open_asks()


# ── a project that is switched off ────────────────────────────────────────────────────────────────


async def test_a_hook_in_a_project_that_is_switched_off_asks_nobody(
    hub: World, tmp_path: Path
) -> None:
    (tmp_path / ".chatbridge.toml").write_text("enabled = false")
    project = Project(key=str(tmp_path), name="quiet")
    result = await ClaudeCode(hub, project=project, name=HOOK).wants()
    assert denial(result)[0] == "switched_off"
    async with ClaudeCode(hub, project=project).wanting() as (call, ask):
        await allow(hub, ask)
        assert verdict(await call) == ALLOWED


# ── its own questions ─────────────────────────────────────────────────────────────────────────────

COLOUR: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "red", "description": ""}, {"label": "blue", "description": "Calm"}],
    "multiSelect": False,
}
CHECKS: dict[str, Any] = {**COLOUR, "question": "Which shades?", "multiSelect": True}
ASKS: dict[str, Any] = {"tool_name": "AskUserQuestion", "input": {"questions": [COLOUR, CHECKS]}}


async def test_its_own_questions_are_a_form_and_come_back_answered(hub: World) -> None:
    async with ClaudeCode(hub).wanting(ASKS) as (call, ask):
        assert not ask.approval
        assert [q.title for q in ask.questions] == ["Colour", "Colour"]
        await put(
            hub,
            ask,
            form.Text(text="green", step=0),
            form.Toggle(step=1, option=1, on=True),
            form.Toggle(step=1, option=0, on=True),
            form.Done(step=1),
            form.Submit(step=2),
        )
        result = await call
    answers = {"Which colour?": "green", "Which shades?": ["red", "blue"]}
    given = {"questions": [COLOUR, CHECKS], "answers": answers}
    assert verdict(result) == {"behavior": "allow", "updatedInput": given}


async def test_a_cancelled_question_is_denied_with_the_reason(hub: World) -> None:
    async with ClaudeCode(hub).wanting(ASKS) as (call, ask):
        await put(hub, ask, form.AskCancel(step=0), form.Cancel(step=1, reason="Ask Grace"))
        assert denial(await call) == ("cancelled", "The user will not answer this: Ask Grace")


async def test_a_question_that_nobody_answers_is_denied(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(ASKS) as (call, _):
        assert denial(await claude.outwaited(call))[0] == "timed_out"


async def test_a_question_outlives_the_clients_limit_and_its_answer_is_for_the_next_call(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, default_timeout=DAY, max_timeout=DAY) as hub:
        claude = ClaudeCode(hub, client=Client(limit=60.0))
        one = {**ASKS, "input": {"questions": [COLOUR]}}
        async with claude.wanting(one, delivered=False) as (call, ask):
            outcome, message = denial(await claude.outwaited(call))
        assert outcome == "client_limit"
        assert "The question stays open" in message
        assert (await hub.now(ask)).orphaned_since is not None
        await put(hub, ask, form.Choose(step=0, option=1))
        again = await claude.wants(one)
    answered = {"questions": [COLOUR], "answers": {"Which colour?": "blue"}}
    assert verdict(again) == {"behavior": "allow", "updatedInput": answered}


async def test_questions_that_make_no_form_are_shown_as_any_other_tool(hub: World) -> None:
    broken = {"tool_name": "AskUserQuestion", "input": {"questions": []}}
    async with ClaudeCode(hub).wanting(broken) as (call, ask):
        assert ask.approval
        assert ask.questions[0].text == "Use `AskUserQuestion`?"
        await allow(hub, ask)
        assert verdict(await call) == {"behavior": "allow", "updatedInput": broken["input"]}
