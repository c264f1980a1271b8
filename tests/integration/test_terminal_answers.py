"""Answers and cancellations of a person's commands, and that none of them settles an approval."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.questions import commands
from chatbridge.core.asks.serialize import iso
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.errors import (
    AskEnded,
    ChatbridgeError,
    InvalidAnswer,
    NotHere,
)
from chatbridge.core.model import Ask, Option, Person, Question, QuestionType, Status
from tests.fakes.approving import ClaudeCode
from tests.fakes.core_env import BLUE, COLOUR, OWNER, World
from tests.fakes.scripted_hub import scripted_hub
from tests.fakes.terminal_desk import desk

LOGIN = pwd.getpwuid(os.getuid()).pw_name
NAME = Question(id="name", text="Which name?")
SURE = Question(id="sure", text="Sure?", type=QuestionType.CONFIRM)
CHECKS = Question(
    id="checks",
    text="Which checks?",
    type=QuestionType.MULTI_SELECT,
    options=(Option(label="Unit tests"), Option(label="Load test"), Option(label="3")),
)


async def settled(here: World, ask: Ask) -> Ask:
    found = await here.now(ask)
    assert not found.open
    return found


# ── answers ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "words", "values", "own"),
    [
        (COLOUR, ["blue"], ("blue",), None),
        (COLOUR, ["BLUE"], ("blue",), None),
        (COLOUR, ["2"], ("blue",), None),
        (COLOUR, ["neither,", "really"], (), "neither, really"),
        (NAME, ["Ada", "Lovelace"], ("Ada Lovelace",), None),
        (NAME, ["2"], ("2",), None),
        (SURE, ["yes"], ("yes",), None),
        (SURE, ["n"], ("no",), None),
        (CHECKS, ["2", "unit tests"], ("Unit tests", "Load test"), None),
        (CHECKS, ["1,2"], ("Unit tests", "Load test"), None),
        (CHECKS, ["3"], ("3",), None),
        (CHECKS, ["1", "fuzzing"], ("Unit tests",), "fuzzing"),
        (SURE, ["yes,", "but", "back", "up"], ("yes",), "but back up"),
    ],
)
async def test_words_on_the_command_line_mean_what_they_would_mean_in_a_chat(
    tmp_path: Path, question: Question, words: list[str], values: tuple[str, ...], own: str | None
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(question)
        await mine.action("answer", id=ask.id[:6], words=words)
        outcome = (await settled(mine.world, ask)).outcome
        assert outcome is not None
        assert (outcome.answers[0].values, outcome.answers[0].custom_text) == (values, own)
        assert outcome.by is not None
        assert (outcome.by.name, outcome.by.channel) == (LOGIN, "terminal")


async def test_who_answers_at_another_hub_does_not_go_by_the_name_of_a_user_here(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(COLOUR)
        await mine.action("answer", hub="hub-b", id=ask.id, words=["blue"])
        outcome = (await settled(mine.world, ask)).outcome
        assert outcome is not None
        assert outcome.by == Person(name="", channel="terminal")


@pytest.mark.parametrize(
    ("question", "words", "said"),
    [
        (COLOUR, ["7"], "There is no option 7. This question has options 1 to 2."),
        (SURE, ["perhaps"], "“perhaps” is not clearly yes or no."),
        (SURE, ["3"], "“3” is not clearly yes or no."),
        (NAME, ["x" * 10_001], "answers[0].values[0]: 10,001 characters, at most 10,000"),
    ],
)
async def test_words_that_do_not_fit_are_refused_and_nothing_is_settled(
    tmp_path: Path, question: Question, words: list[str], said: str
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(question)
        with pytest.raises(ChatbridgeError) as refused:
            await mine.action("answer", id=ask.id, words=words)
        assert str(refused.value) == said
        assert (await mine.world.now(ask)).open


async def test_several_questions_are_not_answered_with_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(COLOUR, NAME)
        with pytest.raises(ChatbridgeError, match=r"^There are 2 questions in it\. "):
            await mine.action("answer", id=ask.id, words=["blue", "Ada"])
        assert (await mine.world.now(ask)).open


async def test_a_script_answers_several_questions_at_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(COLOUR, NAME)
        answers = [
            {"questionId": "name", "values": ["Ada"]},
            {"questionId": "colour", "values": [], "customText": "grey"},
        ]
        await mine.action("answer", id=ask.id, answers=answers)
        outcome = (await settled(mine.world, ask)).outcome
        assert outcome is not None
        assert [(it.values, it.custom_text) for it in outcome.answers] == [
            ((), "grey"),
            (("Ada",), None),
        ]


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        (None, "answers"),
        ({}, "answers"),
        ([1], "answers[0]"),
        ([{}], "answers[0].questionId"),
        ([{"questionId": 1}], "answers[0].questionId"),
        ([{"questionId": "colour", "values": "blue"}], "answers[0].values"),
        ([{"questionId": "colour", "values": [1]}], "answers[0].values[0]"),
        ([{"questionId": "colour", "customText": 1}], "answers[0].customText"),
        ([{"questionId": "colour", "value": []}], "answers[0].value"),
        ([{"questionId": "colour", "values": ["blue"]}] * 2, "answers[1].questionId"),
        ([{"questionId": "other", "values": ["blue"]}], "answers[0].questionId"),
        ([{"questionId": "colour", "values": ["green"]}], "answers[0].values[0]"),
        ([], "answers"),
    ],
)
async def test_answers_of_a_script_that_do_not_fit_name_the_field(
    tmp_path: Path, answers: Any, path: str
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        with pytest.raises(InvalidAnswer) as refused:
            await mine.action("answer", id=ask.id, answers=answers)
        assert refused.value.path == path
        assert (await mine.world.now(ask)).open


async def test_a_late_answer_is_kept_and_told_as_such(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(timeout=60.0)
        mine.world.clock.advance(61.0)
        await mine.world.until(lambda it: it.status is Status.TIMED_OUT)
        assert (await mine.action("answer", id=ask.id[:6], words=["blue"]))["late"]
        assert (await settled(mine.world, ask)).late is not None


@pytest.mark.parametrize(
    ("do", "main", "words", "gone", "said"),
    [
        ("answer", commands.answer, ["blue"], False, "Sent."),
        (
            "answer",
            commands.answer,
            ["blue"],
            True,
            "Kept. The agent gets it when it asks this again.",
        ),
        ("cancel", commands.cancel, [], False, "Cancelled. The agent is told."),
        ("cancel", commands.cancel, [], True, "Cancelled. No agent was waiting."),
    ],
)
async def test_a_command_says_whether_an_agent_waits_for_it(
    tmp_path: Path,
    state: str,
    do: str,
    main: Callable[[list[str]], int],
    words: list[str],
    gone: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        if gone:
            await mine.world.broker.waiting_calls.link_closed("link-1")
        reply = await mine.action(do, id=ask.id, words=words)
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", state)
    with scripted_hub(state) as hub:
        running = asyncio.create_task(asyncio.to_thread(main, [ask.id, *words]))
        line, _ = await asyncio.to_thread(hub.accept)
        line.receive()
        line.send({"result": reply})
        assert await running == 0
    assert capsys.readouterr().err == f"{said}\n"


async def test_the_second_answer_hears_how_it_ended_and_changes_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        before = await mine.world.inbox.answer(ask.id, BLUE, person=OWNER)
        for do, given in (
            ("answer", {"words": ["red"]}),
            ("answer", {"answers": []}),
            ("cancel", {"reason": "no"}),
            ("snooze", {"when": "5min"}),
            ("extend", {"when": "5min"}),
        ):
            with pytest.raises(AskEnded, match="has ended: answered in the web inbox at "):
                await mine.action(do, id=ask.id[:6], **given)
        assert await mine.world.now(ask) == before


async def test_a_cancelled_ask_has_the_reason_and_who_it_was(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        await mine.action("cancel", id=ask.id, reason="  not before Monday ")
        found = await settled(mine.world, ask)
        assert found.status is Status.CANCELLED
        assert found.outcome is not None
        assert found.outcome.reason == "not before Monday"
        assert found.outcome.by is not None
        assert found.outcome.by.channel == "terminal"


# ── later ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_is_snoozed_and_gets_more_time_as_the_limits_allow(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path, max_timeout=7200.0) as mine:
        ask = await mine.world.ask(timeout=600.0)
        assert ask.deadline
        told = await mine.action("extend", id=ask.id[:8], when="1h")
        longer = await mine.world.now(ask)
        assert longer.deadline == ask.deadline + 3600
        assert told["said"] == f"Ends {clock_time(longer.deadline)} now."
        told = await mine.action("snooze", id=ask.id, when="for 90 min")
        until = (await mine.world.now(ask)).attention.snoozed_until
        assert until == mine.world.clock.time() + 90 * 60
        assert told["said"] == f"Snoozed until {clock_time(until)}."
        (listed,) = await mine.pending()
        assert listed["snoozedUntil"] == told["ask"]["snoozedUntil"] == iso(until)
        before = await mine.world.now(ask)
        with pytest.raises(ChatbridgeError, match=r"It can be snoozed until .* at most"):
            await mine.action("snooze", id=ask.id, when="110min")
        assert await mine.world.now(ask) == before


@pytest.mark.parametrize("when", [None, 5, [], "", "soon", "1", "-1h", "until 25:00", "1h" * 999])
async def test_what_is_no_time_changes_nothing(tmp_path: Path, when: object) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        for do in ("snooze", "extend"):
            with pytest.raises(InvalidAnswer, match="45min, 1h or until 08:00"):
                await mine.action(do, id=ask.id, when=when)
        assert await mine.world.now(ask) == ask


def test_what_is_no_time_is_wrong_usage_before_any_hub_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in (commands.snooze, commands.extend):
        with pytest.raises(SystemExit, match="2"):
            command(["3f9a2c", "tomorrow"])
        assert "'tomorrow' is no time. Write a time such as" in capsys.readouterr().err


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("channels", [{"telegram"}, {"web"}, {"terminal", "web"}, set()])
@pytest.mark.parametrize(
    ("do", "given"),
    [
        ("answer", {"words": ["allow"]}),
        ("answer", {"words": ["1"]}),
        ("answer", {"answers": [{"questionId": "approval", "values": ["allow"]}]}),
        ("answer", {"words": ["deny"]}),
        ("cancel", {"reason": "no"}),
        ("cancel", {}),
        ("snooze", {"when": "5min"}),
        ("extend", {"when": "5min"}),
    ],
)
async def test_no_request_settles_an_approval_whatever_is_set(
    tmp_path: Path, channels: set[str], do: str, given: dict[str, Any]
) -> None:
    async with (
        desk(tmp_path, approval_channels=frozenset(channels)) as mine,
        ClaudeCode(mine.world).wanting() as (_, ask),
    ):
        with pytest.raises(NotHere) as refused:
            await mine.action(do, id=ask.id, **given)
        assert refused.value.channels == tuple(sorted(channels - {"terminal"}))
        assert (await mine.world.now(ask)) == ask
