"""A message that replies to nothing: taken where only one question can be meant, else asked about,
and never typed twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chatbridge.channels.chat.callback_data import Tap, Use, encode
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.forms.yes_no import YES
from chatbridge.core.model import Answer, Ask, Person, Project, Status
from tests.fakes.clock import StillClock
from tests.fakes.inbox import COMMAND, CONFIRM, OPTIONAL, SELECT, TEXT
from tests.fakes.telegram.faults import Params
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram

WEB = Person(name="Ada", channel="web")
DOCS = Project(key="/code/docs-site", name="docs-site")


async def shown(telegram: Telegram, *asks: Ask) -> None:
    """Cards that are older than what is written now."""
    for ask in asks:
        await telegram.card(ask)
    telegram.clock.advance(5)


async def asked(telegram: Telegram, text: str) -> tuple[Card, Card]:
    """A person's plain message, and what the bot asks about it."""
    sent = await telegram.say(text)
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert about.silent
    return sent, about


# ── taken ─────────────────────────────────────────────────────────────────────────────────────────


async def test_the_only_question_that_waits_for_text_takes_it(telegram: Telegram) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(SELECT)
    await shown(telegram, ask, other)
    sent = await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)
    assert (await telegram.now(other)).open
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_text_step_of_a_form_takes_it(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, TEXT)
    await shown(telegram, ask)
    await telegram.step(ask, "Yes")
    telegram.clock.advance(5)
    await telegram.say("fix: it")
    assert (await telegram.now(ask)).draft.entries[1].text == "fix: it"


# ── asked about ───────────────────────────────────────────────────────────────────────────────────


async def test_two_questions_that_wait_for_text_are_offered_and_one_tap_decides(
    telegram: Telegram,
) -> None:
    first = await telegram.desk.ask(TEXT, project=DOCS)
    second = await telegram.desk.ask(OPTIONAL)
    await shown(telegram, first, second)
    sent, which = await asked(telegram, "<b>bold</b> words")
    assert read(which) == (
        "Which question is this for?\n<b>bold</b> words\nYou can also reply to the card you mean."
    )
    assert which.parts("blockquote") == ("<b>bold</b> words",)
    assert which.rows[-1] == ("Neither",)
    assert len(which.rows) == 3
    assert await telegram.tap(which, "shop-api: ") == "Sent: <b>bold</b> words"
    assert await telegram.answers(second) == (Answer(values=("<b>bold</b> words",)),)
    assert (await telegram.now(first)).open
    await telegram.gone(which)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_text_for_a_card_whose_sending_was_never_confirmed_is_not_anothers_answer(
    telegram: Telegram,
) -> None:
    def is_first(call: Params) -> bool:
        return TEXT.text in str(call.get("text")) and "reply_parameters" not in call

    telegram.api.cut("sendMessage", after_effect=True)
    unnoted = await telegram.desk.ask(TEXT)
    await telegram.sees(lambda card: card.from_bot)
    telegram.api.fail("sendMessage", status=500, times=100, when=is_first)
    noted = await telegram.desk.ask(OPTIONAL)
    card = asyncio.ensure_future(telegram.card(noted))
    while not card.done():
        telegram.clock.advance(1)  # the pauses after the failures pass
        await asyncio.sleep(0.01)
    await shown(telegram, noted)
    await asked(telegram, "fix: it")
    assert [(await telegram.now(ask)).open for ask in (noted, unnoted)] == [True, True]


async def test_two_selects_are_offered_and_the_text_is_the_answer_of_the_one_that_is_tapped(
    telegram: Telegram,
) -> None:
    first = await telegram.desk.ask(SELECT, project=DOCS)
    second = await telegram.desk.ask(SELECT)
    await shown(telegram, first, second)
    sent, which = await asked(telegram, "Valkey, please")
    assert which.parts("blockquote") == ("Valkey, please",)
    assert len(which.rows) == 3
    assert await telegram.tap(which, "docs-site: ") == "Sent: Valkey, please"
    assert await telegram.answers(first) == (Answer(custom_text="Valkey, please"),)
    assert (await telegram.now(second)).open
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_question_that_is_being_checked_is_not_offered_for_a_text(
    telegram: Telegram,
) -> None:
    checked = await telegram.desk.ask(CONFIRM, CONFIRM)
    await telegram.step(checked, "Yes", "Yes")
    select = await telegram.desk.ask(SELECT)
    await shown(telegram, select)
    _, about = await asked(telegram, "sqlite")
    assert await telegram.tap(about, "Use it") == "Sent: SQLite"


async def test_beside_another_a_text_can_be_the_remark_of_a_yes_or_of_a_no(
    telegram: Telegram,
) -> None:
    select = await telegram.desk.ask(SELECT, project=DOCS)
    confirm = await telegram.desk.ask(CONFIRM)
    await shown(telegram, select, confirm)
    _, which = await asked(telegram, "back up first")
    labels = [label for (label,) in which.rows]
    assert [label.split(":")[0] for label in labels] == [
        "docs-site", "Yes · shop-api", "No · shop-api", "Neither"
    ]  # fmt: skip
    assert await telegram.tap(which, "No · ") == "Sent: No, back up first"
    assert await telegram.answers(confirm) == (Answer(values=("no",), custom_text="back up first"),)
    assert (await telegram.now(select)).open


# ── yes or no, with a remark ──────────────────────────────────────────────────────────────────────


async def test_a_reply_that_begins_with_yes_is_yes_with_the_rest_as_its_remark(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    await telegram.say("yes, but back up first", reply_to=await telegram.card(ask))
    said = Answer(values=("yes",), custom_text="but back up first")
    assert await telegram.answers(ask) == (said,)
    assert "Yes, but back up first" in read(await telegram.current(ask))


async def test_no_remark_allows_anything(telegram: Telegram) -> None:
    ask, approval = await telegram.desk.ask(CONFIRM), await telegram.desk.ask(COMMAND)
    await telegram.card(approval)
    sent = await telegram.say("only the old ones", reply_to=await telegram.card(ask))
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    forged = Tap(ask_id=approval.id, question=0, action=Use(step=0, option=YES))
    assert await telegram.press(about, encode(forged)) == form.UNFIT.why
    assert (await telegram.now(approval)).open


async def test_a_text_that_is_neither_is_the_remark_of_what_is_tapped(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.card(ask)
    sent = await telegram.say("only the old ones", reply_to=card)
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert read(about) == f"Is this yes or no to “{CONFIRM.text}”?"
    assert about.rows == (("Yes, with this remark",), ("No, with this remark",), ("Neither",))
    assert (await telegram.now(ask)).open
    assert await telegram.tap(about, "Yes, with") == "Sent: Yes, only the old ones"
    said = Answer(values=("yes",), custom_text="only the old ones")
    assert await telegram.answers(ask) == (said,)
    await telegram.gone(about)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_remark_for_a_step_that_is_over_changes_nothing(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, CONFIRM)
    sent = await telegram.say("only the old ones", reply_to=await telegram.card(ask))
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    await telegram.step(ask, "Yes")
    before = await telegram.now(ask)
    assert await telegram.tap(about, "No, with") == form.STALE.why
    assert await telegram.now(ask) == before


async def test_a_remark_is_kept_also_where_the_time_is_up(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=30)
    card = await telegram.card(ask)
    telegram.clock.advance(31)
    await telegram.until(card, lambda card: "Not answered in time" in card.text)
    sent = await telegram.say("only the old ones", reply_to=card)
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert await telegram.tap(about, "Yes, with") == "Kept: Yes, only the old ones"
    late = (await telegram.now(ask)).late
    assert late
    assert late.answers == (Answer(values=("yes",), custom_text="only the old ones"),)


async def test_neither_takes_the_question_back_away(telegram: Telegram) -> None:
    asks = [await telegram.desk.ask(TEXT), await telegram.desk.ask(OPTIONAL)]
    await shown(telegram, *asks)
    _, which = await asked(telegram, "never mind")
    assert await telegram.tap(which, "Neither") == ""
    await telegram.gone(which)
    assert [(await telegram.now(ask)).open for ask in asks] == [True, True]


async def test_a_reason_and_a_text_question_are_told_apart(telegram: Telegram) -> None:
    ask, cancelled = await telegram.desk.ask(TEXT), await telegram.desk.ask(SELECT)
    await shown(telegram, ask, cancelled)
    await telegram.step(cancelled, "Cancel…")
    telegram.clock.advance(5)
    _, which = await asked(telegram, "not now")
    await telegram.tap(which, "shop-api: Which")
    assert (await telegram.now(cancelled)).status is Status.CANCELLED
    assert (await telegram.now(ask)).open


async def test_a_sole_select_may_use_it(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    await shown(telegram, ask)
    sent, about = await asked(telegram, "sqlite")
    assert (
        read(about)
        == "Use this as your answer to “Which database should the integration tests use?”?"
    )
    assert about.rows == (("Use it", "No"),)
    assert (await telegram.now(ask)).open
    assert await telegram.tap(about, "Use it") == "Sent: SQLite"
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)
    await telegram.gone(about)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_no_means_no(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    await shown(telegram, ask)
    _, about = await asked(telegram, "yes")
    await telegram.tap(about, "No")
    await telegram.gone(about)
    assert (await telegram.now(ask)).open


async def test_a_clear_yes_beside_several_questions_waits_for_a_tap(telegram: Telegram) -> None:
    select, confirm = await telegram.desk.ask(SELECT), await telegram.desk.ask(CONFIRM)
    await shown(telegram, select, confirm)
    _, which = await asked(telegram, "yes")
    assert len(which.rows) == 3
    assert [(await telegram.now(ask)).open for ask in (select, confirm)] == [True, True]
    assert await telegram.tap(which, "shop-api: Delete") == "Sent: Yes"


async def test_with_nothing_open_the_bot_says_so(telegram: Telegram) -> None:
    _, told = await asked(telegram, "hello?")
    assert told.text == "Nothing is waiting."


async def test_with_only_a_snoozed_question_it_says_how_to_answer_that(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT, timeout=1200)
    await telegram.card(ask)
    await telegram.desk.inbox.put(ask.id, form.Snooze(step=0, minutes=1), person=WEB)
    await telegram.current(ask)
    _, told = await asked(telegram, "SQLite")
    assert told.text.endswith("To answer a snoozed question, reply to its message.")
    assert (await telegram.now(ask)).open


async def test_a_card_that_is_newer_than_the_message_is_not_meant(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    _, about = await asked(telegram, "fix: it")  # in the card's very second
    assert about.rows == (("Use it", "No"),)
    assert (await telegram.now(ask)).open


async def test_a_message_from_before_the_hub_began_is_asked_about(tmp_path: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        async with running_telegram(tmp_path, api=api, clock=clock) as telegram:
            ask = await telegram.desk.ask(TEXT)
            await telegram.card(ask)
        clock.advance(30)
        telegram.phone.say("hello?")
        clock.advance(30)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=telegram.chat, phone=telegram.phone
        ) as again:
            about = await again.sees("Use this as your answer to")
            assert (await again.now(ask)).open
            await again.tap(about, "Use it")
            assert await again.answers(ask) == (Answer(values=("hello?",)),)


async def test_a_second_question_that_has_ended_since_the_message_was_written_counts(
    telegram: Telegram,
) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(OPTIONAL)
    await shown(telegram, ask, other)
    held = await telegram.out_of_reach()
    sent = telegram.phone.say("for which?")
    telegram.clock.advance(3)
    await telegram.desk.inbox.answer(other.id, (Answer(values=("done",)),), person=WEB)
    held.release()
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert about.rows == (("Use it", "No"),)
    assert (await telegram.now(ask)).open


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "open"])
async def test_a_form_that_has_left_its_text_step_since_the_message_was_written_counts(
    telegram: Telegram, ends: bool
) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(OPTIONAL, CONFIRM)
    await shown(telegram, ask, other)
    held = await telegram.out_of_reach()
    sent = telegram.phone.say("for which?")
    telegram.clock.advance(3)
    events: list[form.Event] = [form.Skip(step=0)]
    if ends:
        events += [form.Choose(step=1, option=0), form.Submit(step=2)]
    for event in events:
        await telegram.desk.inbox.put(other.id, event, person=WEB)
    await telegram.current(other)
    held.release()
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert about.rows == (("Use it", "No"),)
    assert (await telegram.now(ask)).open


async def test_in_a_group_plain_text_is_not_for_the_bot(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada = api.person("Ada")
        team = api.group("team", ada, privacy=False)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=team, phone=team.phone(ada)
        ) as telegram:
            ask = await telegram.desk.ask(TEXT)
            await shown(telegram, ask)
            await telegram.say("lunch?")
            assert (await telegram.now(ask)).open
            assert len(telegram.said()) == 1


# ── Use ───────────────────────────────────────────────────────────────────────────────────────────


async def test_use_for_a_step_that_has_moved_on_is_stale(telegram: Telegram) -> None:
    ask, other = await telegram.desk.ask(TEXT, CONFIRM), await telegram.desk.ask(OPTIONAL)
    await shown(telegram, ask, other)
    _, which = await asked(telegram, "fix: it")
    await telegram.desk.inbox.put(ask.id, form.Text(text="mine", step=0), person=WEB)
    assert await telegram.tap(which, "shop-api: What") == form.STALE.why
    assert (await telegram.now(ask)).draft.entries[0].text == "mine"


async def test_use_for_an_ask_that_has_ended_says_how(telegram: Telegram) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(OPTIONAL)
    await shown(telegram, ask, other)
    _, which = await asked(telegram, "fix: it")
    await telegram.desk.inbox.put(ask.id, form.Text(text="mine", step=0), person=WEB)
    at = clock_time(telegram.clock.time())
    assert await telegram.tap(which, "shop-api: What") == f"Already answered at {at}."
    assert await telegram.answers(ask) == (Answer(values=("mine",)),)


async def test_use_for_an_ask_that_has_timed_out_meanwhile_says_that_it_is_kept(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(SELECT)
    await shown(telegram, ask)
    _, about = await asked(telegram, "sqlite")
    await telegram.desk.time_out(ask)
    assert await telegram.tap(about, "Use it") == "Kept: SQLite"
    late = (await telegram.now(ask)).late
    assert late is not None
    assert late.answers == (Answer(values=("SQLite",)),)


async def test_an_answer_for_an_agent_that_has_gone_is_said_to_be_kept(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    await telegram.desk.broker.waiting_calls.link_closed("link")
    assert await telegram.tap(card, "2 · SQLite") == "Kept: SQLite"
    assert (await telegram.now(ask)).kept


async def test_use_without_the_message_says_what_to_do(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    await shown(telegram, ask)
    sent, about = await asked(telegram, "sqlite")
    telegram.phone.delete(sent)
    told = await telegram.tap(about, "Use it")
    assert told == "Your message is no longer there. Reply to the card you mean."
    assert (await telegram.now(ask)).open


async def test_a_text_that_does_not_fit_is_refused_and_may_be_used_elsewhere(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    await shown(telegram, ask)
    _, about = await asked(telegram, "x" * 4_000)
    assert (await telegram.now(ask)).open
    await telegram.step(ask, "Ask back…", "‹ Back")
    assert await telegram.tap(about, "Yes, with") == form.STALE.why
    assert not telegram.phone.now(about).deleted
    assert (await telegram.now(ask)).open


# ── topics ────────────────────────────────────────────────────────────────────────────────────────


async def test_plain_text_in_a_topic_of_a_private_chat_is_taken(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock()), topics_enabled=True) as api:
        ada = api.person("Ada")
        chat = api.private(ada, topics=True)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=chat, phone=chat.phone(ada), topics=True
        ) as telegram:
            ask = await telegram.desk.ask(TEXT)
            await shown(telegram, ask)
            (thread,) = chat.topics
            await telegram.say("fix: it", thread=thread)
            assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)
            sent = await telegram.say("anything else?", thread=thread)
            told = await telegram.sees(lambda card: card.reply_to == sent.id)
            assert told.thread == thread


async def test_a_text_in_another_projects_topic_is_asked_about(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock()), topics_enabled=True) as api:
        ada = api.person("Ada")
        chat = api.private(ada, topics=True)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=chat, phone=chat.phone(ada), topics=True
        ) as telegram:
            ask = await telegram.desk.ask(TEXT)
            other = await telegram.desk.ask(CONFIRM, project=DOCS)
            await shown(telegram, ask, other)
            docs = next(thread for thread, name in chat.topics.items() if name == "docs-site")
            sent = await telegram.say("is it green?", thread=docs)
            about = await telegram.sees(lambda card: card.reply_to == sent.id)
            assert about.rows == (("Use it", "No"),)
            assert about.thread == docs
            assert (await telegram.now(ask)).open
