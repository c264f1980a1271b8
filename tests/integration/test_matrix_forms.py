"""Several questions in one thread: step by step, back, skipped, reviewed, sent; and what comes too
late for a step."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, View
from tests.fakes.disk import failing
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

FIRST = "1. Which database should the integration tests use?"


async def release(matrix: Matrix) -> Ask:
    return await matrix.desk.ask(SELECT, MULTI, OPTIONAL, title="Release 2.4", timeout=3600)


async def test_a_form_goes_on_in_one_thread_and_each_step_leaves_a_summary(matrix: Matrix) -> None:
    ask = await release(matrix)
    ends = f"Ends {clock_time(ask.deadline or 0)}."
    root = await matrix.card(ask)
    assert plain(root.body).splitlines()[1] == "Release 2.4 · 1 of 3"
    before = root
    for taps, buttons, number, past in (
        (("2️⃣",), "1️⃣ 2️⃣ 3️⃣ ✅ ↩️ ❔ ❌", "2 of 3", ""),
        (("1️⃣", "✅"), "⏭️ ↩️ ❔ ❌", "3 of 3", "2. Which checks must pass?\nUnit tests"),
        (("⏭️",), "✅ ↩️ ❔ ❌", "check and send", "3. Anything else?\nskipped"),
    ):
        await matrix.tap(ask, *taps)
        step = await matrix.card(ask)
        assert step.event_id != before.event_id
        assert (step.msgtype, step.mentions, matrix.buttons(step)) == ("m.notice", (), buttons)
        assert plain(step.body).splitlines()[1] == f"Release 2.4 · {number}"
        assert (step.thread, step.in_reply_to) == (root.event_id, before.event_id)
        assert step.falls_back
        over = matrix.ada.message(matrix.room, before.event_id)
        assert matrix.buttons(over) == ""
        if past:
            assert plain(over.body) == past
        before = step
        count = sum(entry.done for entry in (await matrix.now(ask)).draft.entries)
        assert plain((await matrix.root(ask)).body) == (
            "❓ shop-api · Claude Code\nRelease 2.4\n"
            f"{count} of 3 answered. Go on in the thread. {ends}"
        )
    answers = f"{FIRST}\nSQLite\n2. Which checks must pass?\nUnit tests\n3. Anything else?\nskipped"
    # With a real clock: shortly before the morning more time is offered.
    assert plain(before.body).removesuffix(" Reply “later” for more time.") == (
        f"❓ shop-api · Claude Code\nRelease 2.4 · check and send\n{answers}\n"
        f"✅ sends. To change one, reply with its number. ❔ asks back. {ends}"
    )
    assert (await matrix.now(ask)).open
    await matrix.tap(ask, "✅")
    assert await matrix.answers(ask) == (
        Answer(values=("SQLite",)),
        Answer(values=("Unit tests",)),
        Answer(),
    )
    ended = await matrix.root(ask)
    at = clock_time(matrix.clock.time())
    assert plain(ended.body) == (
        f"✅ Answered · shop-api\nRelease 2.4\n{answers}\nYou answered here, {at} · on its way"
    )
    review = await matrix.card(ask)
    assert (review.body, matrix.buttons(review)) == ("Checked and sent.", "")
    assert len(matrix.said()) == 4


async def test_a_late_reaction_on_an_earlier_step_changes_nothing(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(SELECT, MULTI, CONFIRM)
    first = await matrix.card(ask)
    await matrix.ada.react(matrix.room, first.event_id, "1️⃣")
    await matrix.ada.react(matrix.room, first.event_id, "2️⃣")  # before the bot has seen the first
    told = await matrix.told(form.STALE.why)
    assert (told.msgtype, told.thread) == ("m.notice", first.event_id)
    await matrix.dealt_with()
    entries = (await matrix.now(ask)).draft.entries
    assert [entry.picked for entry in entries] == [(0,), (), ()]
    second = await matrix.card(ask)
    picked = await matrix.ada.react(matrix.room, second.event_id, "3️⃣")
    await matrix.tap(ask, "✅")
    before = await matrix.now(ask)
    assert before.draft.at == 2
    await matrix.ada.redact(matrix.room, picked)  # it was on when she went on
    await matrix.ada.react(matrix.room, second.event_id, "1️⃣")
    await matrix.ada.react(matrix.room, first.event_id, "✅")
    await matrix.dealt_with()
    said = [form.STALE.why] * 3
    await matrix.say(ask, "perhaps")
    await matrix.told("Is this yes or no to")
    assert [text for text in matrix.said() if text in said] == said
    assert await matrix.now(ask) == before


async def test_a_reply_to_an_earlier_step_changes_nothing_but_may_ask_for_time(
    matrix: Matrix,
) -> None:
    ask = await matrix.desk.ask(SELECT, TEXT)
    first = await matrix.card(ask)
    await matrix.tap(ask, "2️⃣")
    before = await matrix.now(ask)
    late = await matrix.ada.reply(matrix.room, "PostgreSQL in Docker", to=first.event_id)
    told = await matrix.told(form.STALE.why)
    assert (told.thread, told.in_reply_to, told.falls_back) == (first.event_id, late, False)
    assert await matrix.now(ask) == before
    await matrix.ada.reply(matrix.room, "+15", to=first.event_id)
    later = clock_time((ask.deadline or 0) + 900)
    await matrix.told(f"Ends {later} now.")
    assert f"Ends {later}." in (await matrix.root(ask)).body
    step = await matrix.card(ask)
    await matrix.ada.reply(matrix.room, "fix: it", to=step.event_id)
    await matrix.dealt_with()
    assert (await matrix.now(ask)).draft.entries[1].text == "fix: it"


async def test_a_half_filled_form_goes_on_after_a_restart(tmp_path: Path, synapse: Synapse) -> None:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        async with running_matrix(tmp_path, synapse, ada=ada) as matrix:
            ask = await release(matrix)
            await matrix.tap(ask, "2️⃣")
            step = await matrix.card(ask)
        await ada.react(matrix.room, step.event_id, "2️⃣")  # while no hub is there
        await ada.react(matrix.room, step.event_id, "✅")
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=matrix.bot, room=matrix.room
        ) as again:
            third = await again.card(ask)
            assert third.thread == (await again.root(ask)).event_id
            assert third.in_reply_to == step.event_id
            assert again.buttons(ada.message(matrix.room, step.event_id)) == ""
            await again.say(ask, "More tests")
            assert (await again.now(ask)).draft.view is View.REVIEW
            await again.tap(ask, "✅")
            assert [answer.values for answer in await again.answers(ask)] == [
                ("SQLite",),
                ("Contract tests",),
                ("More tests",),
            ]
            assert len(again.said()) == 4


async def test_what_is_taken_back_while_the_store_fails_or_in_a_late_answer_is_off(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        ask = await matrix.desk.ask(MULTI)
        first = await matrix.ada.react(matrix.room, (await matrix.card(ask)).event_id, "1️⃣")
        await matrix.tap(ask, "2️⃣")
        async with failing(tmp_path, "asks"):
            await matrix.ada.redact(matrix.room, first)
            await matrix.until(lambda: "nothing is read" in (matrix.channel.trouble or ""))
        await matrix.in_time(matrix.dealt_with())
        assert (await matrix.now(ask)).draft.entries[0].picked == (1,)
        late = await matrix.desk.time_out(await matrix.desk.ask(MULTI, title="Late"))
        root = await matrix.root(late)
        await matrix.ada.reply(matrix.room, "anyway", to=root.event_id)
        await matrix.dealt_with()
        card = await matrix.card(late)
        first = await matrix.ada.react(matrix.room, card.event_id, "1️⃣")
        await matrix.dealt_with()
        await matrix.tap(late, "2️⃣")
        await matrix.ada.redact(matrix.room, first)
        await matrix.dealt_with()
        await matrix.tap(late, "✅")
        assert [a.values for a in await matrix.answers(late)] == [("Contract tests",)]
