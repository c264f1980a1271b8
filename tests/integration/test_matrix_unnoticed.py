"""A message beside the cards is for what the room showed when it was written, whatever was true in
the hub by then; and who may not have noticed a change is asked. The hub's clock is an hour behind
the homeserver's in all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.chat.card_visibility import UNNOTICED
from chatbridge.core.model import Answer, Ask, Person
from tests.fakes.clock import StillClock
from tests.fakes.inbox import OPTIONAL, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse

WEB = Person(name="Ada", channel="web")
SEND = r"PUT .*/send/"


@pytest.fixture
async def relay(synapse: Synapse) -> AsyncIterator[Relay]:
    async with Relay.running(synapse.port) as relay:
        yield relay


@pytest.fixture
async def matrix(tmp_path: Path, synapse: Synapse, relay: Relay) -> AsyncIterator[Matrix]:
    async with running_matrix(tmp_path, synapse, address=relay.address) as matrix:
        yield matrix


async def two_open(matrix: Matrix) -> tuple[Ask, Ask]:
    """Questions whose cards the bot has seen in the room."""
    asks = await matrix.desk.ask(TEXT), await matrix.desk.ask(OPTIONAL)
    for ask in asks:
        await matrix.card(ask)
    await matrix.dealt_with()
    return asks


async def answer_elsewhere(matrix: Matrix, ask: Ask) -> None:
    await matrix.desk.inbox.answer(ask.id, (Answer(values=("done",)),), person=WEB)


async def says_so(matrix: Matrix, ask: Ask) -> None:
    """The card does, and the bot has seen it."""
    root = (await matrix.place(await matrix.now(ask))).root.event
    await matrix.ada.until(matrix.room, root, lambda card: "Answered" in card.body)
    await matrix.dealt_with()


async def passes(matrix: Matrix, seconds: float) -> None:
    """So much time, in which nobody writes."""
    assert isinstance(matrix.clock, StillClock)
    matrix.clock.advance(seconds)
    await matrix.dealt_with()


async def is_asked_about(matrix: Matrix, text: str) -> None:
    sent = await matrix.ada.say(matrix.room, text)
    told = await matrix.ada.sees(lambda m: m.in_reply_to == sent, room=matrix.room)
    assert told.body.startswith("Use this as your answer to")


async def test_a_card_that_still_asks_though_its_ask_has_ended_may_be_meant(
    matrix: Matrix, relay: Relay
) -> None:
    ask, other = await two_open(matrix)
    held = relay.hold(SEND)
    await answer_elsewhere(matrix, other)
    await held.came()
    await is_asked_about(matrix, "for the other")
    assert (await matrix.now(ask)).open
    held.go.set()


async def test_who_may_not_have_noticed_that_a_question_has_ended_is_asked_for_a_minute(
    matrix: Matrix,
) -> None:
    ask, other = await two_open(matrix)
    await answer_elsewhere(matrix, other)
    await says_so(matrix, other)
    await passes(matrix, UNNOTICED - 1)
    await is_asked_about(matrix, "for the other")
    assert (await matrix.now(ask)).open
    await passes(matrix, 1)
    await matrix.ada.say(matrix.room, "fix: it")
    await matrix.dealt_with()
    assert await matrix.answers(ask) == (Answer(values=("fix: it",)),)


async def test_who_has_ended_a_question_here_can_write_for_the_next_at_once(
    matrix: Matrix,
) -> None:
    ask, other = await two_open(matrix)
    await matrix.say(other, "done")
    await matrix.answers(other)
    await says_so(matrix, other)
    await matrix.ada.say(matrix.room, "fix: it")
    await matrix.dealt_with()
    assert await matrix.answers(ask) == (Answer(values=("fix: it",)),)
