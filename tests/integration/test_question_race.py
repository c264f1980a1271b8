"""Terminal and phone answer at the same moment: one wins, the other is told, nothing stays open."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from chatbridge.core.errors import AskEnded
from chatbridge.core.model import Answer
from chatbridge.tools.journal.journal import Entry
from tests.fakes.core_env import OWNER, PATIENCE, World, world
from tests.fakes.window import FormWindow, Questions, said

ROUNDS = 200
AT_ONCE = 20


async def test_of_two_answers_at_the_same_moment_one_wins_and_one_is_saved_each_time(
    tmp_path: Path,
) -> None:
    chance = random.Random(5)
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        winners: Counter[str] = Counter()
        told = []
        for first in range(0, ROUNDS, AT_ONCE):
            here.clock.advance(1)
            rounds = range(first, first + AT_ONCE)
            won = await asyncio.gather(*(one_round(here, questions, n, chance) for n in rounds))
            winners.update(won)
            told += [(f"Round {n}?", winner) for n, winner in zip(rounds, won, strict=True)]
            while not here.changes.empty():  # as the hub tells the journal of every change
                questions.keeper.changed(here.changes.get_nowait())
        await questions.keeper.close()
        assert await here.store.open_asks() == []
        assert len(questions.files()) == ROUNDS
        saved = questions.journal.read(questions.project).entries
        assert sorted((entry.question, entry.answer) for entry in saved) == sorted(told)
        assert min(winners["terminal"], winners["phone"]) > ROUNDS / 10  # it was a race


async def one_round(here: World, questions: Questions, number: int, chance: random.Random) -> str:
    window = FormWindow()
    call = questions.call(number, window)
    running = asyncio.create_task(questions.tool.run({"question": f"Round {number}?"}, call))
    await asyncio.wait_for(window.shown, PATIENCE)
    stored = await here.store.write(lambda tx: tx.call(call.name))
    assert stored
    ask = await here.inbox.ask(stored.ask_id)

    async def terminal(head_start: int) -> None:
        for _ in range(head_start):
            await asyncio.sleep(0)
        window.accept(answer="terminal")

    async def phone(head_start: int) -> bool:
        for _ in range(head_start):
            await asyncio.sleep(0)
        try:
            await here.inbox.answer(ask.id, (Answer(values=("phone",)),), person=OWNER)
        except AskEnded:
            return False
        return True

    turns = chance.randrange(4), chance.randrange(8)
    _, phone_won = await asyncio.gather(terminal(turns[0]), phone(turns[1]))
    result = await asyncio.wait_for(running, PATIENCE)
    winner = "phone" if phone_won else "terminal"
    assert said(result)["answer"] == winner
    ended = await here.now(ask)
    assert ended.outcome is not None
    assert ended.outcome.answers == (Answer(values=(winner,)),)
    assert ended.outcome.by is not None
    assert ended.outcome.by.channel == ("web" if phone_won else "window")
    await here.broker.waiting_calls.delivered(call.name)
    return winner


async def test_the_window_that_lost_is_withdrawn_and_the_phone_that_lost_is_told(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        questions = Questions(here, tmp_path)
        window = FormWindow()
        running = asyncio.create_task(
            questions.tool.run({"question": "Which?"}, questions.call(1, window))
        )
        await asyncio.wait_for(window.shown, PATIENCE)
        (ask,) = await here.store.open_asks()
        await here.inbox.answer(ask.id, (Answer(values=("A",)),), person=OWNER)
        result = await asyncio.wait_for(running, PATIENCE)
        assert window.withdrawn
        assert said(result)["answer"] == "A"
        late = Entry.of(at=here.clock.time(), question="Which?", answer="A")
        assert questions.journal.read(questions.project).entries == [late]
        with pytest.raises(AskEnded):
            await here.inbox.answer(ask.id, (Answer(values=("B",)),), person=OWNER)
