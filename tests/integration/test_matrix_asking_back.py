"""Asking back in a room instead of answering: over the cancel screen, or by a word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chatbridge.core.model import Answer, AskBack, Status
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

EXPLAIN = "What should be explained? Reply with it, or ✅ to just ask for more. ↩️ goes back."


async def test_asking_back_cancels_a_question_with_words_that_say_so(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(SELECT)
    await matrix.tap(ask, "❌")
    cancel = await matrix.card(ask)
    assert "Reply “explain”, or “rephrase”, to ask back instead." in cancel.body
    await matrix.say(ask, "explain")
    asked = await matrix.card(ask)
    assert (asked.body, asked.msgtype, matrix.buttons(asked)) == (EXPLAIN, "m.notice", "✅ ↩️")
    await matrix.tap(ask, "↩️")
    assert (await matrix.card(ask)).body == cancel.body
    await matrix.say(ask, "explain")
    await matrix.say(ask, "the second one")
    ended = await matrix.now(ask)
    assert ended.status is Status.CANCELLED
    assert ended.outcome
    assert ended.outcome.reason == "Please explain this in more detail. the second one"
    assert "Reason: Please explain this" in plain((await matrix.root(ask)).body)


async def test_a_bang_asks_back_from_every_screen_and_any_other_text_is_the_reason(
    matrix: Matrix,
) -> None:
    for said, reason in (
        (("!rephrase",), "Please rephrase this in a different way."),
        (("!explain", "✅"), "Please explain this in more detail."),
        (("!cancel", "please explain it first"), "please explain it first"),
    ):
        ask = await matrix.desk.ask(TEXT)
        for words in said:
            await matrix.say(ask, words)
        outcome = (await matrix.now(ask)).outcome
        assert outcome
        assert outcome.reason == reason


async def test_where_the_tool_takes_it_asking_back_is_an_answer_of_one_question(
    matrix: Matrix,
) -> None:
    questions = [replace(each, takes_ask_back=True) for each in (SELECT, CONFIRM)]
    ask = await matrix.desk.ask(*questions)
    await matrix.tap(ask, "❌")
    cancel = await matrix.card(ask)
    await matrix.say(ask, "rephrase")
    assert CONFIRM.text in (await matrix.card(ask)).body
    await matrix.tap(ask, "👍")
    review = await matrix.card(ask)
    assert "asked to rephrase" in review.body
    await matrix.tap(ask, "✅")
    assert await matrix.answers(ask) == (
        Answer(ask_back=AskBack.REPHRASE),
        Answer(values=("yes",)),
    )
    assert "asked to rephrase" in (await matrix.root(ask)).body
    assert matrix.ada.message(matrix.room, cancel.event_id).body == "Asked back."


async def test_an_encrypted_room_asks_back_too(tmp_path: Path, synapse: Synapse) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        ask = await matrix.desk.ask(replace(SELECT, takes_ask_back=True))
        await matrix.say(ask, "!explain")
        await matrix.say(ask, "What is a container?")
        assert await matrix.answers(ask) == (
            Answer(ask_back=AskBack.EXPLAIN, custom_text="What is a container?"),
        )
