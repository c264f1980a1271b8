"""The owner's quick answers: buttons on questions for text, on every channel, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.core.forms import form
from chatbridge.core.model import Answer
from chatbridge.core.policy import Policy
from tests.fakes.inbox import COMMAND, SELECT, TEXT
from tests.fakes.matrix_desk import running_matrix
from tests.fakes.synapse import Synapse
from tests.fakes.telegram_desk import data_of, running_telegram
from tests.fakes.web import MARK, running_web

GO_ON, STOP = "Go on, take the safe way", "Stop and <wait> for me"
OWNERS = Policy(replies=(GO_ON, STOP), approval_channels=frozenset({"telegram", "matrix", "web"}))


async def test_in_telegram_a_tap_answers_with_the_words_of_the_button(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=OWNERS) as telegram:
        ask = await telegram.desk.ask(TEXT)
        card = await telegram.card(ask)
        assert card.rows[:2] == ((GO_ON,), (STOP,))
        assert await telegram.tap(card, STOP) == f"Sent: {STOP}"
        assert await telegram.answers(ask) == (Answer(values=(STOP,)),)


async def test_no_other_question_and_no_approval_has_them(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=OWNERS) as telegram:
        for question in (SELECT, COMMAND):
            card = await telegram.card(await telegram.desk.ask(question))
            assert GO_ON not in [label for row in card.rows for label in row]


async def test_a_button_of_other_settings_says_nothing_in_their_name(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=OWNERS) as telegram:
        ask = await telegram.desk.ask(TEXT)
        card = await telegram.card(ask)
        telegram.desk.inbox._policy = Policy(replies=(STOP,))
        assert await telegram.tap(card, GO_ON) == form.STALE.why
        assert (await telegram.now(ask)).open
        await telegram.until(card, lambda card: card.rows[0] == (STOP,))


async def test_a_button_of_an_earlier_step_changes_nothing(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=OWNERS) as telegram:
        ask = await telegram.desk.ask(TEXT, TEXT)
        card = await telegram.card(ask)
        stop = data_of(card, 1)
        await telegram.step(ask, GO_ON)
        before = await telegram.now(ask)
        assert before.draft.entries[0].text == GO_ON
        assert await telegram.press(card, stop) == form.STALE.why
        assert await telegram.now(ask) == before


@pytest.mark.parametrize("typed", [False, True])
async def test_in_matrix_they_have_numbers(tmp_path: Path, synapse: Synapse, typed: bool) -> None:
    async with running_matrix(tmp_path, synapse, policy=OWNERS, reactions=not typed) as matrix:
        ask = await matrix.desk.ask(TEXT)
        card = await matrix.card(ask)
        assert f"{'!2' if typed else '2️⃣'} " in card.body
        if typed:
            await matrix.say(ask, "!2")
        else:
            await matrix.tap(ask, "2️⃣")
        assert await matrix.answers(ask) == (Answer(values=(STOP,)),)
        other = await matrix.desk.ask(TEXT)
        await matrix.say(other, "2")
        assert await matrix.answers(other) == (Answer(values=("2",)),)


async def test_on_the_page_each_is_a_button(tmp_path: Path) -> None:
    async with running_web(tmp_path, policy=OWNERS) as web:
        ask = await web.desk.ask(TEXT)
        page = (await web.browser.get(f"/asks/{ask.id}")).text
        assert "Stop and &lt;wait&gt; for me" in page
        assert f'name="text" value="{GO_ON}"' in page
        sent = {"do": "text", "step": "0", "text": GO_ON}
        await web.browser.post(f"/asks/{ask.id}/form", data=sent, headers=MARK)
        ended = await web.desk.inbox.ask(ask.id)
        assert ended.outcome
        assert ended.outcome.answers == (Answer(values=(GO_ON,)),)
        for question in (SELECT, COMMAND):
            other = await web.desk.ask(question)
            assert GO_ON not in (await web.browser.get(f"/asks/{other.id}")).text
