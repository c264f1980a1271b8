"""One question in a room: what its card shows, what reactions on it do, and what is left."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, CallName
from chatbridge.core.model import Person as By
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

WEB = By(name="Ada", channel="web")


def at_now(matrix: Matrix) -> str:
    return clock_time(matrix.clock.time())


# ── showing ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_calls_those_who_may_answer_and_its_edits_call_nobody(
    matrix: Matrix, tmp_path: Path, synapse: Synapse
) -> None:
    async with Person.online(synapse, "Eve", tmp_path / "eve") as eve:
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        await matrix.dealt_with()
        ask = await matrix.desk.ask(SELECT)
        card = await matrix.card(ask)
        ends = f"Ends {clock_time(ask.deadline or 0)}. Reply “later” for more time."
        assert (card.msgtype, card.mentions) == ("m.text", (matrix.ada.user_id,))
        assert plain(card.body) == (
            "❓ shop-api · Claude Code\n"
            "Which database should the integration tests use?\n"
            "1 PostgreSQL in Docker (recommended): About 9 s more\n"
            "2 SQLite\n"
            "React with a number, or reply with a number or your own words. "
            f"❔ asks back. {ends}"
        )
        assert card.content["format"] == "org.matrix.custom.html"
        assert plain(card.html or "") == (
            "<p>❓ <strong>shop-api</strong> · Claude Code</p>"
            "<p><strong>Which database should the integration tests use?</strong></p>"
            "<ol><li><strong>PostgreSQL in Docker</strong> (recommended)<br>About 9 s more</li>"
            "<li><strong>SQLite</strong></li></ol>"
            "<p>React with a number, or reply with a number or your own words. "
            f"❔ asks back. {ends}</p>"
        )
        await matrix.tap(ask, "2️⃣")
        ended = await matrix.root(ask)
        await eve.sees_event(matrix.room, await eve.newest(matrix.room))
        edit = next(
            event["content"]
            for event in reversed(eve.events(matrix.room))
            if event["content"].get("m.relates_to", {}).get("rel_type") == "m.replace"
        )
        assert edit["m.relates_to"]["event_id"] == card.event_id
        assert edit["m.new_content"] == ended.content
        assert edit["m.mentions"] == ended.content["m.mentions"] == {}
        assert plain(edit["body"]) == "* ✅ Answered · shop-api"
        assert plain(ended.body).endswith(f"\nAda answered, {at_now(matrix)} · on its way")


# ── answering ─────────────────────────────────────────────────────────────────────────────────────


async def test_one_reaction_answers_and_leaves_a_summary_without_buttons(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(CONFIRM)
    card = await matrix.card(ask)
    await matrix.tap(ask, "👎🏽")
    assert await matrix.answers(ask) == (Answer(values=("no",)),)
    ended = await matrix.root(ask)
    assert ended.event_id == card.event_id
    assert plain(ended.body) == (
        f"✅ Answered · shop-api\n{CONFIRM.text}\nNo\n"
        f"You answered here, {at_now(matrix)} · on its way"
    )
    assert ended.reactions == {"👎🏽": [matrix.ada.user_id]}
    outcome = (await matrix.now(ask)).outcome
    assert outcome
    me = matrix.ada.user_id
    assert outcome.by == By(name="Ada", channel="matrix", place=me, id=me)
    await matrix.desk.broker.waiting_calls.delivered(CallName(link="link", request="1"))
    assert plain((await matrix.root(ask)).body).endswith("· delivered")
    assert len(matrix.said()) == 1


async def test_a_multi_select_is_what_the_reactions_on_it_show(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(MULTI)
    card = await matrix.card(ask)
    too_early = await matrix.ada.react(matrix.room, card.event_id, "✅")
    told = await matrix.told(form.NONE_PICKED.why)
    assert (told.msgtype, told.thread) == ("m.notice", card.event_id)
    assert told.body.endswith(" take your reaction back first.")
    await matrix.ada.redact(matrix.room, too_early)
    taken_back = await matrix.ada.react(matrix.room, card.event_id, "3️⃣")
    await matrix.tap(ask, "1️⃣", "2️⃣")
    assert (await matrix.now(ask)).draft.entries[0].picked == (0, 1, 2)
    await matrix.ada.redact(matrix.room, taken_back)
    await matrix.dealt_with()
    assert (await matrix.now(ask)).draft.entries[0].picked == (0, 1)
    shown = await matrix.card(ask)
    assert (shown.event_id, shown.edits) == (card.event_id, 0)
    await matrix.tap(ask, "✅")
    assert await matrix.answers(ask) == (Answer(values=("Unit tests", "Contract tests")),)


async def test_a_reaction_of_before_a_restart_can_be_taken_back_after_it(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        async with running_matrix(tmp_path, synapse, ada=ada) as matrix:
            ask = await matrix.desk.ask(MULTI)
            card = await matrix.card(ask)
            first = await ada.react(matrix.room, card.event_id, "1️⃣")
            second = await ada.react(matrix.room, card.event_id, "2️⃣")
            await matrix.dealt_with()
        await ada.redact(matrix.room, first)  # while no hub is there
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=matrix.bot, room=matrix.room
        ) as again:
            assert (await again.now(ask)).draft.entries[0].picked == (1,)
            await ada.redact(matrix.room, second)
            await again.tap(ask, "3️⃣", "✅")
            assert await again.answers(ask) == (Answer(values=("Load test",)),)
            assert (await again.root(ask)).event_id == card.event_id
            assert len(again.said()) == 1


async def test_a_reaction_that_stands_for_nothing_is_passed_over(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(SELECT)
    await matrix.tap(ask, "🎉", "👍", "3️⃣", "✅", "1")
    assert await matrix.now(ask) == ask
    await matrix.say(ask, "7")  # what is said about this would come after anything else
    await matrix.told("There is no option 7. This question has options 1 to 2.")
    await matrix.say(ask, "2")
    await matrix.ada.react(matrix.room, (await matrix.root(ask)).event_id, "😅")
    await matrix.say(ask, "Thanks")
    await matrix.told("Already answered at")
    assert len(matrix.said()) == 3


# ── the end ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_says_that_it_was_answered_elsewhere_or_that_the_answer_is_kept(
    matrix: Matrix,
) -> None:
    ask = await matrix.desk.ask(SELECT)
    await matrix.card(ask)
    await matrix.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=WEB)
    ended = await matrix.root(ask)
    assert plain(ended.body) == (
        f"✅ Answered · shop-api\n{SELECT.text}\nSQLite\n"
        f"Answered in the web inbox, {at_now(matrix)} · on its way"
    )
    assert ended.reactions == {}
    await matrix.ada.react(matrix.room, ended.event_id, "1️⃣")
    told = await matrix.told(f"Already answered at {at_now(matrix)}.")
    assert (told.msgtype, told.thread) == ("m.notice", ended.event_id)
    kept = await matrix.desk.ask(CONFIRM)
    await matrix.tap(kept, "👎")
    tapped_at = at_now(matrix)
    assert isinstance(matrix.clock, StillClock)
    matrix.clock.advance(6)
    card = await matrix.ada.until(
        matrix.room, (await matrix.place(kept)).root.event, lambda m: "kept until" in m.body
    )
    assert plain(card.body).startswith(
        f"✅ Answered · shop-api\n{CONFIRM.text}\nNo\nThe agent had stopped "
    )
    assert card.body.endswith(".\nTo discard it, reply “discard”.")
    await matrix.ada.reply(matrix.room, "Discard", to=card.event_id)
    await matrix.dealt_with()
    assert plain((await matrix.root(kept)).body) == (
        f"🚫 Discarded · shop-api\n{CONFIRM.text}\nNo\n"
        f"You answered here, {tapped_at} · the agent does not get it"
    )


async def test_a_card_that_somebody_removes_is_posted_anew(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(CONFIRM, SELECT)
    first = await matrix.card(ask)
    await matrix.ada.redact(matrix.room, first.event_id)
    await matrix.dealt_with()
    root = await matrix.card(ask)
    assert root.event_id != first.event_id
    assert (root.mentions, matrix.buttons(root)) == ((matrix.ada.user_id,), "👍 👎 ❔ ❌")
    await matrix.tap(ask, "👍")
    step = await matrix.card(ask)
    await matrix.ada.redact(matrix.room, step.event_id)
    await matrix.dealt_with()
    anew = await matrix.card(ask)
    assert anew.event_id != step.event_id
    assert (anew.thread, anew.body) == (root.event_id, step.body)
    await matrix.tap(ask, "2️⃣", "✅")
    assert [a.values for a in await matrix.answers(ask)] == [("yes",), ("SQLite",)]
    assert len(matrix.said()) == 3  # the root, the step and the review


async def test_two_questions_at_once_never_mix(matrix: Matrix) -> None:
    first, second = await matrix.desk.ask(SELECT), await matrix.desk.ask(MULTI, TEXT)
    await matrix.tap(second, "1️⃣")
    await matrix.say(first, "sqlite")
    await matrix.tap(second, "✅")
    assert await matrix.answers(first) == (Answer(values=("SQLite",)),)
    third = await matrix.desk.ask(TEXT, title="Another")
    await matrix.say(second, "feat: two")
    await matrix.say(third, "feat: three")
    assert await matrix.answers(third) == (Answer(values=("feat: three",)),)
    await matrix.tap(second, "✅")
    answers = await matrix.answers(second)
    assert [answer.values for answer in answers] == [("Unit tests",), ("feat: two",)]
    roots = {(await matrix.root(ask)).event_id for ask in (first, second, third)}
    threads = {m.thread for m in matrix.ada.messages(matrix.room) if m.thread is not None}
    assert len(roots) == 3
    assert threads == roots
