"""Cards in Slack: lists, modals, threads, conversations of two, and what an agent may try."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.chat.receiver import NOT_FOR_YOU
from chatbridge.channels.chat.runs import Run
from chatbridge.channels.slack.receiver import TOO_SLOW
from chatbridge.channels.slack.render import FIELD, text_block, typed_text
from chatbridge.core.errors import NotPaired
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Level, OperationEnd, Option, Person, Status
from chatbridge.core.pairing import Claim, Pairing
from chatbridge.hub.control.server import Request, TerminalPairing
from tests.fakes.clock import StillClock
from tests.fakes.inbox import COMMAND, CONFIRM, LONG_COMMAND, MULTI, SELECT, TEXT
from tests.fakes.slack.blocks import MOST_CHARACTERS, words
from tests.fakes.slack.server import APP_TOKEN, BOT_TOKEN, Fault, Slack, running_slack
from tests.fakes.slack_desk import SlackDesk, read, running_channel

Json = dict[str, Any]
ELSEWHERE = Person(name="Ada", channel="elsewhere")


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with running_slack(StillClock()) as found:
        yield found


@pytest.fixture
async def desk(slack: Slack, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as found:
        yield found


@pytest.fixture
async def direct(slack: Slack, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    assert isinstance(slack.clock, StillClock)
    ada = slack.person("Ada")
    room = slack.direct(ada)
    async with running_channel(tmp_path, slack, slack.clock, room=room, ada=ada) as found:
        yield found


async def answers(desk: SlackDesk, ask: Ask) -> tuple[Answer, ...]:
    async with asyncio.timeout(20):
        outcome = (await desk.desk.broker.ended(ask.id)).outcome
    assert outcome
    return outcome.answers


def elements(message: Json, kind: str) -> list[Json]:
    found = [
        each
        for block in message["blocks"]
        for each in (*block.get("elements", ()), block.get("accessory") or {})
    ]
    return [each for each in found if each.get("type") == kind]


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


def of(question: Any, count: int) -> Any:
    return replace(question, options=tuple(Option(label=f"Choice {i}") for i in range(count)))


async def test_an_approval_has_all_its_buttons(desk: SlackDesk) -> None:
    """Also those that stand beside an option: to deny is one, to say why is none."""
    card = await desk.card(await desk.desk.ask(COMMAND))
    labels = [each["text"]["text"] for each in elements(card, "button")]
    assert labels == ["Allow once", "Deny", "Deny, say why…", "Allow more…", "More time…"]


async def test_up_to_ten_options_are_buttons_and_more_a_menu(desk: SlackDesk) -> None:
    card = await desk.card(await desk.desk.ask(of(SELECT, 10)))
    assert sum("Choice" in each["text"]["text"] for each in elements(card, "button")) == 10
    ask = await desk.desk.ask(of(SELECT, 11))
    card = await desk.card(ask)
    (menu,) = elements(card, "static_select")
    assert not any("Choice" in each["text"]["text"] for each in elements(card, "button"))
    action = {"type": "static_select", "action_id": menu["action_id"]}
    await desk.act(card, action | {"selected_option": menu["options"][10]})
    assert await answers(desk, ask) == (Answer(values=("Choice 10",)),)


@pytest.mark.parametrize(("count", "kind"), [(3, "checkboxes"), (12, "multi_static_select")])
async def test_several_options_are_boxes_that_show_what_is_picked(
    desk: SlackDesk, count: int, kind: str
) -> None:
    ask = await desk.desk.ask(of(MULTI, count))
    (boxes,) = elements(await desk.card(ask), kind)
    assert "initial_options" not in boxes
    for option in (0, 2):
        await desk.put(ask, form.Toggle(step=0, option=option, on=True))
    (boxes,) = elements(await desk.card(await desk.desk.inbox.ask(ask.id)), kind)
    assert len(boxes["initial_options"]) == 2
    await desk.put(ask, form.Done(step=0))
    assert await answers(desk, ask) == (Answer(values=("Choice 0", "Choice 2")),)


# ── modals ────────────────────────────────────────────────────────────────────────────────────────


async def opened(desk: SlackDesk, ask: Ask) -> Json:
    await desk.press(await desk.card(ask), "Write answer…")
    (view,) = desk.slack.views.values()
    return view


async def test_a_text_is_typed_into_a_modal(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(TEXT)
    view = await opened(desk, ask)
    assert await desk.acknowledged(await slack.submit(desk.ada, view, "a <b> & c")) is None
    assert await answers(desk, ask) == (Answer(values=("a <b> & c",)),)


async def test_what_does_not_count_is_said_in_the_modal(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(TEXT)
    view = await opened(desk, ask)
    await desk.desk.inbox.cancel(ask.id, reason=None, person=ELSEWHERE)
    said = await desk.acknowledged(await slack.submit(desk.ada, view, "too late"))
    assert said
    assert said["response_action"] == "errors"
    assert "Cancelled" in said["errors"][FIELD] or "cancelled" in said["errors"][FIELD]


async def test_a_stranger_who_taps_is_told_so_once_and_nothing_else(
    desk: SlackDesk, slack: Slack
) -> None:
    ask = await desk.desk.ask(CONFIRM)
    card = await desk.card(ask)
    for _ in range(2):
        await slack.press(desk.eve, desk.room, card, "Yes")
    await desk.channel.drain()
    await desk.settled()
    assert slack.whispers == [(desk.eve, NOT_FOR_YOU)]
    assert (await desk.desk.inbox.ask(ask.id)).open


async def test_a_card_that_nobody_noted_before_its_ask_was_answered_elsewhere_says_so(
    desk: SlackDesk, slack: Slack
) -> None:
    slack.faults["chat.postMessage"] = Fault(cut=True)
    ask = await desk.desk.ask(SELECT)
    await slack.until(lambda: desk.bots)
    await desk.channel.drain()
    web = Person(name="Ada", channel="web")
    await desk.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=web)
    desk.clock.advance(60.0)  # so long delivery may rest
    (card,) = desk.bots
    await slack.until(lambda: len(card["blocks"]) == 1)
    assert "SQLite" in words(card["blocks"])


async def test_a_strangers_submission_changes_nothing(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(TEXT)
    view = await opened(desk, ask)
    assert await desk.acknowledged(await slack.submit(desk.eve, view, "mine")) is None
    assert (await desk.desk.inbox.ask(ask.id)).open
    _, _, kept = view["private_metadata"].partition(" ")
    forged = view | {"private_metadata": f"C9999999 {kept}"}
    assert await desk.acknowledged(await slack.submit(desk.ada, forged, "elsewhere")) is None
    assert (await desk.desk.inbox.ask(ask.id)).open


async def test_a_modal_that_cannot_be_opened_any_more_is_said(
    desk: SlackDesk, slack: Slack
) -> None:
    slack.faults["views.open"] = Fault(error="expired_trigger_id")
    told = await desk.press(await desk.card(await desk.desk.ask(TEXT)), "Write answer…")
    assert told == TOO_SLOW


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_elsewhere_is_told_how_questions_get_there(
    desk: SlackDesk, slack: Slack
) -> None:
    room = slack.channel(desk.ada, desk.eve)
    said = await desk.acknowledged(await slack.command(desk.ada, room, "pending"))
    assert said
    assert f"add {room.id} to slack.channel_id" in said["text"]
    assert await desk.acknowledged(await slack.command(desk.eve, room, "pending")) is None


async def test_a_tap_below_a_message_whose_thread_has_gone_counts(direct: SlackDesk) -> None:
    for _ in range(2):
        await direct.card(await direct.desk.ask(TEXT))
    await direct.say("to nobody")
    root = next(it for it in direct.room.messages.values() if it["user"] == direct.ada)
    await direct.say("for which?", to=root)
    asked = await direct.sees("for which?")
    del direct.room.messages[root["ts"]]
    await direct.press(asked, "Neither")
    assert asked not in direct.bots


async def test_in_a_conversation_of_two_a_message_is_the_answer(direct: SlackDesk) -> None:
    ask = await direct.desk.ask(TEXT)
    await direct.card(ask)
    direct.clock.advance(5)
    said = await direct.say("feat: <x> & y")
    assert await answers(direct, ask) == (Answer(values=("feat: <x> & y",)),)
    message = direct.room.messages[said.payload["event"]["ts"]]
    await direct.until(lambda: message.get("reactions") == ["+1"])


async def test_a_message_for_one_of_two_is_asked_about_and_not_typed_again(
    direct: SlackDesk,
) -> None:
    first, second = await direct.desk.ask(TEXT), await direct.desk.ask(replace(TEXT, text="And?"))
    for ask in (first, second):
        await direct.card(ask)
    direct.clock.advance(5)
    await direct.say("for the second")
    which = await direct.sees("for the second")
    labels = [each["text"]["text"] for each in elements(which, "button")]
    label = next(each for each in labels if "And?" in each)
    await direct.press(which, label)
    assert await answers(direct, second) == (Answer(values=("for the second",)),)
    assert (await direct.desk.inbox.ask(first.id)).open


async def test_a_message_in_another_thread_for_one_of_two_is_found_again(
    direct: SlackDesk,
) -> None:
    await direct.desk.notify("just so", level=Level.ERROR)
    notice = await direct.sees("just so")
    first, second = await direct.desk.ask(TEXT), await direct.desk.ask(replace(TEXT, text="And?"))
    for ask in (first, second):
        await direct.card(ask)
    direct.clock.advance(5)
    await direct.say("for the second", to=notice)
    which = await direct.sees("for the second")
    labels = [each["text"]["text"] for each in elements(which, "button")]
    await direct.press(which, next(each for each in labels if "And?" in each))
    assert await answers(direct, second) == (Answer(values=("for the second",)),)


async def test_in_a_channel_only_replies_count(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    await desk.card(ask)
    desk.clock.advance(5)
    before = len(desk.bots)
    await desk.say("we talk to each other")
    assert (await desk.desk.inbox.ask(ask.id)).open
    assert len(desk.bots) == before


async def test_what_a_bot_or_an_edit_says_is_no_answer(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    await desk.say("a bot's", to=card, bot_id="B9")
    await desk.say("an edit", to=card, subtype="message_changed")
    assert (await desk.desk.inbox.ask(ask.id)).open


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("&amp;lt;", "&lt;"),
        ("see <https://example.org/x|example.org/x>", "see example.org/x"),
        ("<https://example.org>", "https://example.org"),
        ("<@U123> <#C1|general> <!here> <mailto:a@b.c|a@b.c>", "@U123 #general @here a@b.c"),
    ],
)
def test_what_was_typed_is_read_as_it_was_typed(sent: str, typed: str) -> None:
    assert typed_text(sent) == typed


# ── sending once ──────────────────────────────────────────────────────────────────────────────────


async def test_a_card_that_may_be_out_is_found_and_not_sent_twice(
    desk: SlackDesk, slack: Slack
) -> None:
    slack.faults["chat.postMessage"] = Fault(cut=True)
    ask = await desk.desk.ask(SELECT)
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(1.0)
    desk.clock.advance(1.0)
    card = await desk.card(ask)
    assert desk.bots == [card]
    assert slack.calls["chat.postMessage"] == 1


async def test_the_next_hub_finds_what_the_one_before_sent_without_noting_it(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock) as before:
        slack.faults["chat.postMessage"] = Fault(cut=True)
        ask = await before.desk.ask(SELECT)
        await slack.until(lambda: before.bots)
        room, ada, eve = before.room, before.ada, before.eve
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada, eve=eve) as desk:
        card = await desk.card(ask)
        assert desk.bots == [card]
        await desk.put(ask, form.Choose(step=0, option=1))
        assert await answers(desk, ask) == (Answer(values=("SQLite",)),)


async def test_a_card_that_somebody_deleted_is_posted_again(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(CONFIRM, TEXT)
    slack.delete(desk.room, (await desk.card(ask))["ts"])
    await desk.desk.inbox.put(ask.id, form.Choose(step=0, option=0), person=ELSEWHERE)
    assert TEXT.text in read(await desk.sees(TEXT.text))


@pytest.mark.parametrize("pause", [1.0, 7.0])
async def test_a_pause_that_slack_asks_for_is_kept(
    desk: SlackDesk, slack: Slack, pause: float
) -> None:
    headers = {"Retry-After": f"{pause:.0f}"}
    fault = Fault(status=429, error="ratelimited", headers=headers)
    slack.faults["chat.postMessage"] = fault
    ask = await desk.desk.ask(SELECT)
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(pause)
    assert desk.bots == []
    assert desk.channel.trouble is None
    desk.clock.advance(pause)
    await desk.card(ask)


async def test_a_gateways_page_is_no_answer(desk: SlackDesk, slack: Slack) -> None:
    slack.faults["chat.postMessage"] = Fault(status=502, body="<html>Bad gateway</html>")
    ask = await desk.desk.ask(SELECT)
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(1.0)
    assert "slack cannot be reached" in (desk.channel.trouble or "")
    desk.clock.advance(1.0)
    await desk.card(ask)
    assert desk.channel.trouble is None


@pytest.mark.parametrize("code", ["is_archived", "not_in_channel", "channel_not_found"])
async def test_a_channel_that_cannot_be_written_to_is_said_with_what_to_do(
    desk: SlackDesk, slack: Slack, code: str
) -> None:
    slack.faults["chat.postMessage"] = Fault(error=code, times=100)
    await desk.desk.ask(SELECT)
    trouble = await desk.trouble()
    assert code in trouble
    assert "/invite" in trouble


async def test_no_log_has_a_question_or_a_token(
    slack: Slack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as desk:
        ask = await desk.desk.ask(replace(TEXT, text="between us"))
        await desk.say("my own words", to=await desk.card(ask))
        await answers(desk, ask)
    names = ("chatbridge", "slack_sdk")
    ours = "\n".join(it.getMessage() for it in caplog.records if it.name.startswith(names))
    for hidden in ("between us", "my own words", BOT_TOKEN, APP_TOKEN, "/link"):
        assert hidden not in ours


# ── what an agent may try ─────────────────────────────────────────────────────────────────────────

EVIL = (
    "<!channel> <!here> <@U000000B> <https://evil.example|click> *bold* `code` :tada: "
    '{"type":"button"} @everyone &lt;!channel&gt;'
)


async def test_no_agent_can_mention_link_or_draw(desk: SlackDesk) -> None:
    question = replace(SELECT, text=EVIL, options=(Option(label=EVIL), Option(label="b")))
    ask = await desk.desk.ask(question, title=EVIL)
    card = await desk.card(ask)
    for bad in ("<!channel>", "<!here>", "<https:"):
        assert bad not in card["text"]
    kinds = {
        part["type"]
        for block in card["blocks"]
        if block["type"] == "rich_text"
        for element in block["elements"]
        for part in element["elements"]
    }
    assert kinds <= {"text", "date", "user"}
    called = [
        part["user_id"]
        for block in card["blocks"]
        if block["type"] == "rich_text"
        for element in block["elements"]
        for part in element["elements"]
        if part["type"] == "user"
    ]
    assert called == [desk.ada]  # whose question it is
    assert "<!channel> <!here>" in read(card)
    assert all(each["text"]["emoji"] is False for each in elements(card, "button"))


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "*a* " * 25_000, "🐙" * 50_000, "`a` **b** " * 9_000]
)
async def test_a_hundred_thousand_characters_are_taken(desk: SlackDesk, text: str) -> None:
    question = replace(SELECT, text=text, options=(Option(label=text[:5_000]), Option(label="b")))
    ask = await desk.desk.ask(question)
    await desk.card(ask)
    await desk.put(ask, form.Choose(step=0, option=1))
    assert (await desk.desk.inbox.ask(ask.id)).status is Status.ANSWERED
    await desk.desk.notify(text, title=text[:300], level=Level.ERROR)
    await desk.desk.notify("the last", level=Level.ERROR)
    await desk.sees("the last")


async def test_the_rest_of_a_long_approval_is_in_its_thread(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(LONG_COMMAND)
    card = await desk.card(ask)
    assert "line 100" not in read(card)
    await desk.put(ask, form.ShowAll(step=0))
    now = await desk.card(await desk.desk.inbox.ask(ask.id))
    thread = [each for each in desk.bots if each.get("thread_ts") == now["ts"]]
    files = [content.decode() for _, root, content in desk.slack.files if root == now["ts"]]
    assert "line 100" in "".join([*map(read, thread), *files])


async def test_the_whole_output_of_an_operation_is_a_file(desk: SlackDesk, slack: Slack) -> None:
    end = OperationEnd(
        id="0b1c0d3e-0000-4000-8000-000000000001",
        title="make test",
        succeeded=False,
        how="exit 1",
        took=61.0,
        tail="the end",
        whole=True,
    )
    desk.desk.outputs[end.id] = b"all of it"
    await desk.desk.tell_end(end)
    message = await desk.sees("make test")
    (button,) = elements(message, "button")
    await desk.tap(message, button["value"])
    await slack.until(lambda: slack.files)
    assert slack.files[0][2] == b"all of it"


# ── pairing ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_code_pairs_who_sends_it_to_the_app_and_nobody_else(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    pairing = Pairing(clock=clock)
    async with running_channel(tmp_path, slack, clock, pairing=pairing) as desk:
        bot = await asyncio.wait_for(pairing.bot("slack"), 20)
        assert bot.typed
        assert "app=A0000001" in bot.address("")
        terminal = TerminalPairing(
            pairing, channel="telegram", clock=clock, troubles=lambda: {"slack": None}
        )
        shown = await anext(terminal.pair(Request(do="pair", given={"channel": "slack"}, uid=7)))
        assert shown["send"] == f"p_{shown['code']}"
        for other in ("telegram", 7, None):
            with pytest.raises(NotPaired, match="is not set up"):
                await anext(terminal.pair(Request(do="pair", given={"channel": other}, uid=7)))
        ben = slack.person("Ben")
        room = slack.direct(ben)
        with pairing.opened(channel="slack") as code:
            await desk.say(code.payload, user=desk.eve)  # where everybody can read it
            for text in ("p_WRONG", "hello"):
                await desk.acknowledged(await slack.say(ben, room, text))
            assert not code.claimed.is_set()
            await desk.acknowledged(await slack.say(ben, room, code.payload))
            assert code.claim == Claim(channel="slack", person=ben, name="Ben")
        assert all(each["user"] == ben for each in room.messages.values())
        await bot.greet(desk.ada)
        assert "paired" in read([*slack.direct(desk.ada).messages.values()][-1])


def test_a_text_with_too_many_styles_is_sent_without_them() -> None:
    text = tuple(Run("a", ("b",) if i % 2 else ("i",)) for i in range(3_000))
    block = text_block(text)
    assert len(json.dumps(block)) < MOST_CHARACTERS
    assert read({"blocks": [block]}) == "a" * 3_000


async def test_a_card_that_is_edited_often_stays_where_it_is(direct: SlackDesk) -> None:
    ask = await direct.desk.ask(*[CONFIRM] * 12)
    for _ in range(11):
        ask = await direct.desk.inbox.ask(ask.id)
        await direct.card(ask)
        await direct.put(ask, form.Choose(step=ask.draft.step, option=0))
    await direct.card(await direct.desk.inbox.ask(ask.id))
    assert len(direct.bots) == 1


async def test_who_guesses_codes_that_nobody_waits_for_costs_no_request(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock, pairing=Pairing(clock=clock)) as desk:
        before = slack.calls["users.info"]
        for _ in range(3):
            said = await slack.say(desk.eve, slack.direct(desk.eve), "p_ABCDEFGH")
            await desk.acknowledged(said)
        assert slack.calls["users.info"] == before
