"""The owner's quick answers are buttons or numbers on questions for text, on every channel."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.forms import form
from chatbridge.core.model import Answer
from chatbridge.core.policy import Policy
from tests.fakes.inbox import TEXT
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


async def test_in_matrix_a_number_answers_with_them(tmp_path: Path, synapse: Synapse) -> None:
    async with running_matrix(tmp_path, synapse, policy=OWNERS) as matrix:
        tapped, typed = await matrix.desk.ask(TEXT), await matrix.desk.ask(TEXT)
        await matrix.tap(tapped, "2️⃣")
        await matrix.say(typed, "!2")
        for ask in (tapped, typed):
            assert await matrix.answers(ask) == (Answer(values=(STOP,)),)


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
