"""Operations that have ended, in a chat: silent or loud, together where they are many, and all of
what they printed for whoever may ask for it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from chatbridge.channels.chat import outputs
from chatbridge.channels.chat.callback_data import Output, encode
from chatbridge.core.model import OperationEnd
from tests.ended_operations import BADLY, HOSTILE, OPERATION, WELL
from tests.fakes.clock import StillClock
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram, waiting

NAME = "output-5e0f3a7c.txt"


async def told(telegram: Telegram, end: OperationEnd) -> Card:
    notice = await telegram.desk.tell_end(end)
    await telegram.desk.shown_on(notice)  # and recorded, so that a reply to it is understood
    return await telegram.sees(lambda card: end.title in read(card))


def files(telegram: Telegram) -> list[str]:
    return [card.document.name for card in telegram.phone.messages if card.document]


async def test_an_end_is_silent_when_it_is_good_and_loud_when_it_is_not(
    telegram: Telegram,
) -> None:
    well = await told(telegram, WELL)
    assert read(well) == "✅ cargo build finished · shop-api\n4 min 12 s"
    assert (well.silent, well.rows) == (True, ())
    badly = await told(telegram, BADLY)
    assert read(badly) == (
        "❌ pytest failed · shop-api\nexit 1 after 4 min 12 s\n"
        "E   assert 1 == 2\n1 failed, 411 passed"
    )
    assert badly.parts("pre") == ("E   assert 1 == 2\n1 failed, 411 passed",)
    assert (badly.silent, badly.rows) == (False, (("Whole output",),))


async def test_a_tap_brings_the_whole_output_as_a_silent_file(telegram: Telegram) -> None:
    telegram.desk.outputs[OPERATION] = b"\x1b[31mred\x1b[0m\n" * 100_000
    card = await told(telegram, BADLY)
    assert await telegram.tap(card, "Whole output") == outputs.COMES
    file = await telegram.sees(lambda card: card.document is not None)
    assert file.document
    assert (file.document.name, file.document.content) == (NAME, b"red\n" * 100_000)
    assert file.silent
    assert file.reply_to == card.id
    assert telegram.phone.now(card).rows == (("Whole output",),), "it can be had again"


async def test_what_is_no_longer_there_is_said_kindly_and_nothing_is_sent(
    telegram: Telegram,
) -> None:
    card = await told(telegram, BADLY)
    assert await telegram.tap(card, "Whole output") == "This output is no longer kept."
    telegram.desk.outputs[OPERATION] = b""
    assert await telegram.tap(card, "Whole output") == "It printed nothing."
    await telegram.dealt_with()
    assert files(telegram) == []


def test_every_toast_is_short() -> None:
    for toast in (outputs.COMES, outputs.ON_ITS_WAY, outputs.OUTPUT_GONE, outputs.EMPTY):
        assert len(toast) <= 60


async def test_anybody_on_the_allowlist_gets_an_output_and_nobody_else_learns_of_it(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, bob, eve = api.person("Ada"), api.person("Bob"), api.person("Eve")
        team = api.group("team", ada, bob, eve)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=team, phone=team.phone(ada), allowed=[bob]
        ) as telegram:
            telegram.desk.outputs[OPERATION] = b"whole"
            card = await told(telegram, BADLY)
            assert await telegram.tap(card, "Whole output", phone=team.phone(eve)) == ""
            await telegram.dealt_with()
            assert files(telegram) == []
            assert await telegram.tap(card, "Whole output", phone=team.phone(bob)) == outputs.COMES
            await telegram.sees(lambda card: card.document is not None)
            elsewhere = api.private(eve).phone(eve)
            assert elsewhere.messages == ()


async def test_a_button_of_an_unknown_operation_and_a_forged_one_bring_nothing(
    telegram: Telegram,
) -> None:
    telegram.desk.outputs[OPERATION] = b"whole"
    card = await told(telegram, BADLY)
    unknown = encode(Output(operation_id=str(uuid.uuid4())))
    assert await telegram.press(card, unknown) == outputs.OUTPUT_GONE
    assert await telegram.press(card, "o:../../etc/passwd") == "This question is no longer here."
    assert files(telegram) == []


async def test_a_reply_to_an_end_is_for_the_agent_and_answers_nothing(telegram: Telegram) -> None:
    card = await told(telegram, BADLY)
    await telegram.say("Why?", reply_to=card)
    assert telegram.said()[1:] == ["That agent is no longer connected. Nothing was sent."]


async def test_a_file_that_telegram_puts_off_comes_once(telegram: Telegram) -> None:
    telegram.desk.outputs[OPERATION] = b"whole"
    card = await told(telegram, BADLY)
    telegram.api.fail("sendDocument", status=429, retry_after=5)
    await telegram.tap(card, "Whole output")
    assert await telegram.tap(card, "Whole output") == outputs.ON_ITS_WAY
    await telegram.in_time(telegram.sees(lambda card: card.document is not None))
    assert files(telegram) == [NAME]


async def test_a_file_that_cannot_be_sent_is_owned_up_to(telegram: Telegram) -> None:
    telegram.desk.outputs[OPERATION] = b"whole"
    card = await told(telegram, BADLY)
    telegram.api.fail("sendDocument", status=500)
    said = telegram.api.hold("sendMessage", after_effect=True)
    await telegram.tap(card, "Whole output")
    sorry = await telegram.sees(outputs.NOT_SENT)
    assert (sorry.silent, sorry.reply_to) == (True, card.id)
    assert await telegram.tap(card, "Whole output") == outputs.COMES, "also of who is quick"
    await telegram.sees(lambda card: card.document is not None)
    said.release()


async def test_a_hostile_end_stays_text(telegram: Telegram) -> None:
    await telegram.desk.tell_end(HOSTILE)
    card = await telegram.sees("all fine")
    assert read(card).startswith(
        "❌ </b></pre><script>1</script> ❓ ⟨U+202E⟩shop failed · shop-api"
    )
    assert [entity.type for entity in card.entities] == ["bold", "pre"]
    assert card.lost == ()


async def test_many_that_end_well_become_one_list_apart_from_what_agents_say(
    telegram: Telegram,
) -> None:
    ends = [replace(WELL, id=str(uuid.uuid4()), title=f"make {i}", whole=True) for i in range(5)]
    single = list[Card]()
    for i, end in enumerate(ends):
        telegram.desk.outputs[end.id] = f"output {i}".encode()
        if i:
            await telegram.desk.notify(f"Agents say {i}.")
            await telegram.sees(f"Agents say {i}.")
        await telegram.desk.tell_end(end)
        single.append(await telegram.sees(end.title))
    listed = await telegram.sees("5 commands finished")
    for card in single[:3]:  # the fourth one has become the list
        await waiting(telegram.phone.gone)(card)
    assert read(listed) == "✅ 5 commands finished · shop-api\n\n" + "\n".join(
        f"• make {i} · 4 min 12 s" for i in range(5)
    )
    assert listed.silent
    assert listed.rows == tuple((f"Output: make {i}",) for i in range(5))
    await telegram.tap(listed, "Output: make 3")
    file = await telegram.sees(lambda card: card.document is not None)
    assert file.document
    assert file.document.content == b"output 3"
    agents = [f"ℹ️ shop-api · Claude Code\nAgents say {i}." for i in range(1, 5)]
    assert sorted(filter(None, telegram.said())) == sorted([*agents, read(listed)])


async def test_failures_are_never_hidden_in_a_list(telegram: Telegram) -> None:
    for i in range(6):
        await told(telegram, replace(BADLY, title=f"make {i}"))
    assert len(telegram.said()) == 6
