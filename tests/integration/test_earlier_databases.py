"""Databases that earlier versions left, with open questions in them: nothing is lost on the way up.

`tests/databases` has one for each schema, each written by its version's own code.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.core.model import Answer, Ask, AskRequest, CallName, Person, Question
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from chatbridge.store.sqlite.store import SqliteStore
from tests.databases.__main__ import ADA
from tests.fakes.clock import START, StillClock
from tests.fakes.core_env import world
from tests.fakes.inbox import SHOP
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import running_telegram

FOLDER = Path(__file__).parents[1] / "databases"
ALL = sorted(dump.stem for dump in FOLDER.glob("*.sql"))
WITH_CHATS = [name for name in ALL if name != "schema-1"]
WITH_OPERATIONS = [name for name in WITH_CHATS if name not in ("schema-2", "schema-3")]
LATER = START + 3600.0
SOMEBODY = Person(name="Ada", channel="telegram")


def load(name: str, folder: Path) -> Path:
    path = folder / "chatbridge.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    return path


def ids(path: Path, what: str) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return sorted(found for (found,) in database.execute(f"SELECT id FROM {what}"))  # noqa: S608


def an_answer(question: Question) -> Answer:
    return Answer(values=(question.choices[-1].label if question.choices else "as you like",))


@pytest.mark.parametrize("name", ALL)
async def test_every_question_can_be_read(tmp_path: Path, name: str) -> None:
    path = load(name, tmp_path)
    store = await SqliteStore.open(path)
    try:
        open_asks = [ask.id for ask in await store.open_asks()]
        ended = [ask.id for ask in await store.history(limit=100)]
    finally:
        await store.close()
    assert sorted(open_asks) == ids(path, "asks WHERE status = 'open'")
    assert sorted(ended) == ids(path, "asks WHERE status != 'open'")
    assert len(open_asks) >= 2


@pytest.mark.parametrize("name", ALL)
async def test_open_questions_are_answered(tmp_path: Path, name: str) -> None:
    load(name, tmp_path)
    async with world(tmp_path, StillClock(LATER - 86_400.0)) as here:
        for ask in await here.inbox.open_asks():
            answers = tuple(map(an_answer, ask.questions))
            await here.inbox.answer(ask.id, answers, person=SOMEBODY)
            ended = await here.ended(ask)
            assert ended.outcome is not None
            assert ended.outcome.answers == answers


@pytest.mark.parametrize("name", WITH_CHATS)
async def test_a_kept_answer_is_handed_over(tmp_path: Path, name: str) -> None:
    load(name, tmp_path)
    async with world(tmp_path, StillClock(LATER)) as here:
        kept = next(ask for ask in await here.inbox.history(limit=100) if ask.title == "Kept")
        assert kept.kept
        here.broker.waiting_calls.link_opened("another")
        found, call = await here.broker.ask(same(kept), CallName(link="another", request="1"))
    assert (found.id, call.late) == (kept.id, True)
    assert found.answer is not None
    assert found.answer.answers == (Answer(values=("SQLite",)),)


def same(ask: Ask) -> AskRequest:
    return AskRequest(
        project=ask.project,
        agent=ask.agent,
        tool=ask.tool,
        dialect=ask.dialect,
        questions=ask.questions,
        title=ask.title,
    )


@pytest.mark.parametrize("name", WITH_CHATS)
async def test_what_is_typed_in_the_chat_answers_the_question_that_waits_for_it(
    tmp_path: Path, name: str
) -> None:
    """And a form goes on where it was, on a new card: this Telegram has none of the old ones."""
    load(name, tmp_path)
    clock, policy = StillClock(LATER), Policy(nights=Nights(NightPolicy(reminders=())))
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada", id=ADA)
        chat = api.private(ada)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=chat, phone=chat.phone(ada), policy=policy
        ) as telegram:
            found = {ask.title: ask for ask in await telegram.desk.inbox.open_asks()}
            await telegram.say("fix: a typo")
            assert await telegram.answers(found["Text"]) == (Answer(values=("fix: a typo",)),)
            form = found["Form"]
            assert [entry.done for entry in form.draft.entries] == [True, False, False]
            await telegram.desk.inbox.redraw(form.id)
            done = await telegram.current(form)
            assert await telegram.tap(done, "Done (1)") == ""
            await telegram.step(form, "Yes", "Send answers")
            answers = await telegram.answers(form)
    assert [answer.values for answer in answers] == [("feat: orders",), ("Unit tests",), ("yes",)]


@pytest.mark.parametrize("name", WITH_OPERATIONS)
async def test_operations_are_still_known(tmp_path: Path, name: str) -> None:
    load(name, tmp_path)
    store = await SqliteStore.open(tmp_path / "chatbridge.db")
    try:
        of_project = await store.operations.of_project(project=SHOP.key, limit=10)
        unended = await store.operations.unended()
        (again,) = [await store.operations.add(each) for each in unended if each.id == "op-runs"]
    finally:
        await store.close()
    # Those that were synchronous come last.
    assert [each.id for each in of_project] == ["op-runs", "op-waits", "op-ended"]
    assert {each.id: each.plan.synchronous for each in of_project}["op-ended"]
    assert [each.id for each in unended] == ["op-waits", "op-runs"]
    assert again.id == "op-runs"
