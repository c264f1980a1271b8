"""A card as time passes: reminded of, moved, left alone, timed out and answered all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from chatbridge.core.asks import transitions
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, CallName
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, OPTIONAL, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

MINUTE = 60.0
HOUR = 60 * MINUTE
ALONE = "The agent is not waiting now. An answer is kept for its next call."


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def matrix(tmp_path: Path, synapse: Synapse, clock: StillClock) -> AsyncIterator[Matrix]:
    policy = Policy(max_timeout=70 * MINUTE, nights=Nights(NightPolicy(reminders=())))
    async with running_matrix(tmp_path, synapse, clock=clock, policy=policy) as matrix:
        yield matrix


def ends(ask: Ask) -> str:
    assert ask.deadline
    return clock_time(ask.deadline)


async def pass_until(matrix: Matrix, clock: StillClock, ask: Ask, *, left: float) -> None:
    """Let time pass until so much is left."""
    deadline = (await matrix.now(ask)).deadline
    assert deadline
    clock.advance(deadline - left - clock.time())


async def becomes(matrix: Matrix, ask: Ask, text: str) -> Message:
    """The root, as soon as it says this."""
    root = (await matrix.place(ask)).root.event
    return await matrix.ada.until(matrix.room, root, lambda message: text in message.body)


async def test_a_card_says_whether_the_agent_waits_and_for_how_long(
    matrix: Matrix, clock: StillClock
) -> None:
    ask = await matrix.desk.ask(CONFIRM, timeout=HOUR)
    later = "Reply “later” for more time."
    assert (await matrix.card(ask)).body.endswith(f" Ends {ends(ask)}. {later}")
    await matrix.desk.broker.waiting_calls.cancel(CallName(link="link", request="1"))
    clock.advance(121)
    orphaned = await becomes(matrix, ask, ALONE)
    assert matrix.buttons(orphaned) == "👍 👎 ❔ ❌"
    assert (await matrix.desk.ask(CONFIRM, timeout=HOUR)).id == ask.id
    back = await matrix.root(ask)
    assert ALONE not in back.body
    await pass_until(matrix, clock, ask, left=14 * MINUTE)
    await becomes(matrix, ask, f"Ends {ends(await matrix.now(ask))}. {later}")
    for word, told in (("+15", "Ends {} now."), ("+ 15 min", "{} is the latest allowed.")):
        await matrix.say(ask, word)
        await matrix.told(told.format(ends(await matrix.now(ask))))
    latest = await matrix.now(ask)
    assert latest.deadline == ask.created_at + 70 * MINUTE
    await pass_until(matrix, clock, ask, left=MINUTE)
    soon = await becomes(matrix, ask, f"Ends {ends(latest)}, soon.")
    assert f"<strong>Ends {ends(latest)}, soon.</strong>" in (soon.html or "")
    assert later not in soon.body
    assert len([m for m in matrix.ada.messages(matrix.room) if m.msgtype == "m.text"]) == 3


async def test_a_question_that_timed_out_can_be_answered_anyway_and_the_answer_discarded(
    matrix: Matrix,
) -> None:
    ask = await matrix.desk.ask(CONFIRM)
    await matrix.tap(ask, "❌", "↩️")
    over = await matrix.desk.time_out(ask)
    root, step = await matrix.root(over), await matrix.card(over)
    assert plain(root.body) == (
        f"⌛ Not answered in time · shop-api\n{CONFIRM.text}\n"
        f"Ended {ends(ask)}. The agent was told that nobody answered.\n"
        "Answer anyway: reply “anyway”."
    )
    assert (plain(step.body), matrix.buttons(step)) == (CONFIRM.text, "")
    how = f"This question ended at {ends(ask)}. Reply “anyway” to leave a late answer."
    await matrix.ada.react(matrix.room, step.event_id, "👍")
    await matrix.told(how)
    await matrix.ada.reply(matrix.room, "yes", to=root.event_id)
    await matrix.dealt_with()
    assert await matrix.now(ask) == over
    await matrix.ada.reply(matrix.room, "Anyway", to=root.event_id)
    await matrix.dealt_with()
    late = await matrix.card(ask)
    assert plain(late.body) == (
        f"⌛ Late answer · shop-api\n{CONFIRM.text}\n"
        "👍 yes, 👎 no. The agent has moved on. Your answer is kept for it."
    )
    assert (late.thread, matrix.buttons(late)) == (root.event_id, "👍 👎")
    await matrix.tap(ask, "👎")
    assert await matrix.answers(ask) == (Answer(values=("no",)),)
    kept = plain((await matrix.root(ask)).body)
    assert kept.startswith(f"✅ Answered · shop-api\n{CONFIRM.text}\nNo\nThe agent had stopped ")
    assert kept.endswith(".\nTo discard it, reply “discard”.")
    await matrix.say(ask, "discard")
    assert plain((await matrix.root(ask)).body).startswith("🚫 Discarded · shop-api\n")
    await matrix.say(ask, "discard")
    await matrix.told(f"Timed out at {ends(ask)}.")
    assert [text for text in matrix.said() if text == how] == [how, how]


async def test_a_text_that_was_typed_before_the_end_opens_no_late_answer(matrix: Matrix) -> None:
    asks = [await matrix.desk.ask(question) for question in (TEXT, OPTIONAL)]
    for ask in asks:
        await matrix.card(ask)
    await matrix.dealt_with()
    await matrix.ada.say(matrix.room, "anyway")
    offer = await matrix.told("Which question is this for?")
    over = await matrix.desk.time_out(asks[0])
    await matrix.ada.react(matrix.room, offer.event_id, "1️⃣")
    await matrix.told(f"This question ended at {ends(asks[0])}.")
    assert await matrix.now(asks[0]) == over


async def test_a_thread_that_goes_on_in_another_answers_only_what_it_asked(
    matrix: Matrix, clock: StillClock
) -> None:
    ask, room = await matrix.desk.ask(CONFIRM, TEXT, timeout=HOUR), matrix.room
    old = (await matrix.card(ask)).event_id
    remind = partial(transitions.remind, now=clock.time(), last=False)
    for text, at in (("yes", 1), ("yes, the old one", 1), ("no", 2)):
        if (await matrix.now(ask)).attention.raised == 0:
            await matrix.desk.broker.change(ask.id, remind)
            assert (await matrix.card(await matrix.now(ask))).event_id != old
            await matrix.dealt_with()
        if at == 2:
            await matrix.say(ask, text)
        else:
            await matrix.ada.in_thread(room, text, root=old)
            await matrix.dealt_with()
        now = await matrix.now(ask)
        assert now.draft.at == at, text
        await matrix.card(now)
        await matrix.dealt_with()
    assert form.STALE.why in [plain(text) for text in matrix.said()]
