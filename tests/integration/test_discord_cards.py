"""What only Discord has in what it shows: selects, modals, nonces, markdown, limits, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.receiver import NOT_FOR_YOU
from chatbridge.channels.chat.runs import Run
from chatbridge.channels.chat.surface import FAR_ABOVE
from chatbridge.channels.discord.render import MARKDOWN
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Level, Option, Person, Subject
from chatbridge.core.people.routes import Route
from chatbridge.core.people.team import Member, Team
from tests.fakes.clock import StillClock
from tests.fakes.discord.limits import V2
from tests.fakes.discord.markdown import read as read_markdown
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import Message
from tests.fakes.discord_desk import DiscordDesk, data_of, running_discord
from tests.fakes.inbox import COMMAND, CONFIRM, MULTI, SELECT, TEXT

HOSTILE = (
    "@everyone @here <@123> <@&5> <#9> **bold** __u__ ~~s~~ ||spoiler|| [bank](https://evil.example)"
    " <https://evil.example> <:x:1> <t:0:R> `code` ```block``` \\*\n# heading\n> quote\n>>> all\n"
    "- item\n1. one\n-# small\n*a* _b_"
)
ELSEWHERE = Person(name="Ada", channel="elsewhere")


async def until(fits: Callable[[], object]) -> None:
    """Once it is so; what happens in the channel has no event of its own."""
    for _ in range(10_000):
        if fits():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it never was so")


def said(desk: DiscordDesk) -> list[Message]:
    return [message for message in desk.room.messages.values() if message.author.bot]


# ── options ───────────────────────────────────────────────────────────────────────────────────────


async def test_more_than_five_options_are_one_select(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        options = tuple(Option(label=f"Plan {i}") for i in range(12))
        ask = await desk.desk.ask(replace(SELECT, options=options))
        card = await desk.card(ask)
        assert [option["label"] for option in card.select["options"]][:2] == ["Plan 0", "Plan 1"]
        assert (card.select["min_values"], card.select["max_values"]) == (1, 1)
        picked = desk.discord.pick(desk.ada, card, [card.select["options"][7]["value"]])
        assert (await answered(picked)).told == ""  # the card says it
        assert await desk.answers(ask) == (Answer(values=("Plan 7",)),)


async def test_several_choices_are_a_select_that_keeps_what_is_picked(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(MULTI)
        card = await desk.card(ask)
        assert (card.select["min_values"], card.select["max_values"]) == (0, 3)
        values = [option["value"] for option in card.select["options"]]
        await answered(desk.discord.pick(desk.ada, card, [values[0], values[2]]))
        card = await desk.current(ask)
        marked = [option["default"] for option in card.select["options"]]
        assert marked == [True, False, True]
        await desk.tap(card, "Done (2)")
        assert await desk.answers(ask) == (Answer(values=("Unit tests", "Load test")),)


async def test_values_of_another_question_are_no_choice(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask, other = await desk.desk.ask(MULTI), await desk.desk.ask(MULTI)
        card, another = await desk.card(ask), await desk.card(other)
        foreign = another.select["options"][0]["value"]
        for values in ([foreign], ["x"], ["'; drop table"]):
            told = (await answered(desk.discord.pick(desk.ada, card, values))).told
            assert told == "This question is no longer here."
        assert await desk.now(ask) == ask


# ── modals ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_text_is_typed_into_a_modal(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        opened = await answered(
            desk.discord.tap(desk.ada, card, card.key("Write answer…")["custom_id"])
        )
        assert opened.modal
        field = opened.modal["components"][0]
        assert (field["label"], field["component"]["placeholder"]) == ("Your answer", "feat: …")
        assert (opened.modal["title"], field["description"]) == ("shop-api", TEXT.text)
        await answered(desk.discord.submit(desk.ada, opened, "fix: größer\nund mehr"))
        assert await desk.answers(ask) == (Answer(values=("fix: größer\nund mehr",)),)


async def test_other_opens_a_modal_for_the_step_that_it_leads_to(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(SELECT)
        card = await desk.card(ask)
        opened = await answered(desk.discord.tap(desk.ada, card, card.key("Other…")["custom_id"]))
        await answered(desk.discord.submit(desk.ada, opened, "MariaDB"))
        (answer,) = await desk.answers(ask)
        assert answer.custom_text == "MariaDB"


async def test_what_does_not_count_is_given_back_with_the_reason(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        write = card.key("Write answer…")["custom_id"]
        first = await answered(desk.discord.tap(desk.ada, card, write))
        second = await answered(desk.discord.tap(desk.ada, card, write))
        await answered(desk.discord.submit(desk.ada, first, "one"))
        told = (await answered(desk.discord.submit(desk.ada, second, "**two** @everyone"))).told
        read = read_markdown(told)
        assert read.text.startswith("Already answered")
        assert read.text.endswith("**two** @everyone")
        assert not read.marks
        assert await desk.answers(ask) == (Answer(values=("one",)),)


# ── sending ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_whose_answer_was_lost_is_not_there_twice(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        lost = desk.discord.fault("POST /api/v10/channels", after_effect=True)
        desk.discord.gateway.silent = True  # else the card comes back over it, and is noted
        ask = await desk.desk.ask(CONFIRM)
        await asyncio.wait_for(lost.arrived.wait(), 20)
        async with asyncio.timeout(20):
            while await desk.desk.inbox.post(ask.id, surface=desk.channel.surfaces[0].name) is None:
                desk.clock.advance(1.0)
                await asyncio.sleep(0.01)
        assert len(said(desk)) == 1
        nonces = [body["nonce"] for _, path, body in desk.discord.rest.requests if "nonce" in body]
        assert len(nonces) == 2
        assert len({*nonces}) == 1


@pytest.mark.parametrize("dies", [False, True])
async def test_a_card_that_nobody_noted_before_its_ask_was_answered_elsewhere_says_so(
    tmp_path: Path, dies: bool
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        async with running_discord(tmp_path, discord=discord, ada=ada) as desk:
            await desk.dealt_with()
            discord.fault("POST /api/v10/channels", after_effect=True)
            ask = await desk.desk.ask(SELECT)
            card = await discord.sees(desk.room, "Which database")
            if dies:
                desk.running.cancel()
                await asyncio.wait({desk.running})
            else:
                await desk.dealt_with()
            await desk.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=ELSEWHERE)
            if not dies:
                discord.clock.advance(60)  # so long delivery may rest
                await until(lambda: not card.keys)
        if dies:
            async with running_discord(tmp_path, discord=discord, ada=ada):
                await until(lambda: not card.keys)
        assert "SQLite" in card.text


async def test_the_next_step_whose_answer_was_lost_is_the_card_of_the_next_hub(
    tmp_path: Path,
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        async with running_discord(tmp_path, discord=discord, ada=ada) as desk:
            ask = await desk.desk.ask(CONFIRM, SELECT)
            first = await desk.card(ask)
            for _ in range(FAR_ABOVE):
                await desk.card(await desk.desk.ask(CONFIRM))
            discord.fault("POST /api/v10/channels", after_effect=True)
            await desk.tap(first, "Yes")
            below = await discord.sees(desk.room, "Which database")
            await desk.dealt_with()
            desk.running.cancel()
            await asyncio.wait({desk.running})
        async with running_discord(tmp_path, discord=discord, ada=ada) as after:
            await until(lambda: "continued below" in after.read(first))
            await after.tap(below, "2 · SQLite")
            await until(lambda: "Nothing has been sent yet." in after.read(below))
            await after.tap(below, "Send answers")
            await until(lambda: not below.keys)
            assert len(await after.answers(ask)) == 2
        assert not first.keys
        assert len(said(after)) == FAR_ABOVE + 2


async def test_a_reply_to_the_file_below_a_card_that_has_ended_makes_no_card_of_it(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        code = "x = 1\n" * 1500
        ask = await desk.desk.ask(replace(CONFIRM, text=f"Run this?\n```python\n{code}```"))
        card = await desk.card(ask)
        await until(lambda: len(said(desk)) == 2)
        file = said(desk)[-1]
        await desk.desk.inbox.answer(ask.id, (Answer(values=("no",)),), person=ELSEWHERE)
        await until(lambda: not card.keys)
        shown = file.text
        desk.discord.say(desk.ada, desk.room, "What is this?", reply_to=file)
        await desk.dealt_with()
        assert (await desk.current(ask)).id == card.id
        assert file.text == shown


async def test_a_full_bucket_is_waited_for_and_never_overdrawn(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        desk.discord.rest.limited = True
        asks = [await desk.desk.ask(CONFIRM) for _ in range(8)]
        async with asyncio.timeout(20):
            while len(said(desk)) < len(asks):
                desk.clock.advance(0.5)
                await asyncio.sleep(0.01)
        posted = [path for method, path, _ in desk.discord.rest.requests if method == "POST"]
        assert sum(path.endswith("/messages") for path in posted) == len(asks)
        assert not desk.channel.trouble


async def test_the_limit_of_the_whole_bot_is_waited_for(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        rest = desk.discord.rest
        await until(lambda: rest.commands)
        rest.limited = True
        rest.exhaust()
        ask = await desk.desk.ask(CONFIRM)
        async with asyncio.timeout(20):
            await desk.clock.until_asleep(1.0)
        assert not said(desk)
        desk.clock.advance(1.0)
        await desk.card(ask)
        assert rest.refused == [429]
        assert len(said(desk)) == 1


async def test_a_pause_that_discord_asks_for_is_kept(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        body = {"message": "You are being rate limited.", "retry_after": 7.5, "global": True}
        desk.discord.fault("POST /api/v10/channels", status=429, body=body)
        ask = await desk.desk.ask(CONFIRM)
        async with asyncio.timeout(20):
            await desk.clock.until_asleep(7.5)
            desk.clock.advance(7.0)
            await desk.clock.until_asleep(0.5)  # it still sleeps
        assert not said(desk)
        desk.clock.advance(0.5)
        await desk.card(ask)


async def test_a_card_that_somebody_removed_comes_again(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        room = discord.world.channel(ada)
        async with running_discord(tmp_path, discord=discord, ada=ada, room=room) as desk:
            ask = await desk.desk.ask(CONFIRM, SELECT)
            card = await desk.card(ask)
            discord.world.delete(card)
            await desk.desk.inbox.put(ask.id, form.Choose(step=0, option=0), person=ELSEWHERE)
            again = await desk.current(ask)
            assert again.id != card.id
            assert SELECT.text in desk.read(again)


@pytest.mark.parametrize(
    ("taken", "code", "advice"),
    [
        ("on_server", 50278, "chatbridge setup"),
        ("takes_messages", 50007, "Allow direct messages"),
    ],
)
async def test_a_person_who_cannot_be_written_to_is_a_trouble_with_advice(
    tmp_path: Path, taken: str, code: int, advice: str
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        setattr(ada, taken, False)
        async with running_discord(tmp_path, discord=discord, ada=ada) as desk:
            await desk.desk.ask(CONFIRM)
            await until(lambda: desk.channel.trouble)
            assert str(code) in (desk.channel.trouble or "")
            assert advice in (desk.channel.trouble or "")


@pytest.mark.parametrize(
    ("allows", "code"), [(0, "50001"), (1 << 10, "50013")], ids=["access", "permission"]
)
async def test_a_channel_that_refuses_is_a_trouble(tmp_path: Path, allows: int, code: str) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        room = discord.world.channel(ada)
        room.allows = allows
        async with running_discord(tmp_path, discord=discord, ada=ada, room=room) as desk:
            await desk.desk.ask(CONFIRM)
            await until(lambda: desk.channel.trouble)
            assert code in (desk.channel.trouble or "")


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_that_an_agent_writes_is_marked_up_or_rings_everybody(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        hostile = HOSTILE.replace("`", "'")  # its code is code, as in any markdown
        options = (Option(label="@everyone **a**", description=hostile), Option(label="b"))
        await desk.desk.notify(hostile, title="@here [x](https://evil.example)", level=Level.ERROR)
        ask = await desk.desk.ask(
            replace(SELECT, text=hostile, options=options), title="<@1> # @everyone"
        )
        await desk.card(ask)
        await until(lambda: len(said(desk)) >= 2)
        for message in said(desk):
            assert not message.mention_everyone
            read = read_markdown(message.text)
            assert not read.named("mention")
            assert not read.named("masked")
            assert not read.named("heading")
            assert not read.named("subtext")
            assert not read.named("spoiler")
            assert not [at for at in read.named("time") if at.startswith("1970")]


async def test_an_approval_shows_code_to_the_letter_also_with_fences_in_it(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        for code in ("echo '```' && rm -rf *_*", "printf '`'", HOSTILE, "x" * 1_500 + "```"):
            assert COMMAND.subject
            subject = Subject(code=code, language="bash", folder="~/a_b*c")
            ask = await desk.desk.ask(replace(COMMAND, subject=subject))
            shown = desk.read(await desk.card(ask))
            if len(code) < 1_000:
                assert code in shown
            assert "~/a_b*c" in shown


async def test_a_long_question_keeps_every_character_within_the_limits(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        for text in ("*_" * 1_400, "word " * 700, "x" * 100_000, "*" * 12_000):
            ask = await desk.desk.ask(replace(TEXT, text=text), timeout=3000)
            await desk.card(ask)
        assert desk.channel.trouble is None


async def test_a_text_above_two_thousand_characters_is_a_text_component_and_stays_one(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(replace(CONFIRM, text="Is this right? " + "word " * 450))
        card = await desk.card(ask)
        assert card.flags & V2
        assert not card.content
        await desk.tap(card, "Yes")
        ended = await desk.current(ask)
        assert ended.id == card.id
        assert "Answered" in desk.read(ended)


async def test_a_label_of_marks_fits_a_button(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        zalgo = "a" + "\u0301" * 200
        options = (Option(label=zalgo), Option(label="👩‍👩‍👧‍👦" * 30), Option(label="\u2800"))
        ask = await desk.desk.ask(replace(SELECT, options=options))
        await desk.card(ask)


# ── people ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stranger_is_told_so_and_nothing_else(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        eve = desk.discord.world.user("Eve")
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        room = desk.discord.world.direct(eve)
        desk.discord.say(eve, room, "hello")
        tap = desk.discord.tap(eve, card, data_of(ask, form.Cancel(step=0)))
        picked = desk.discord.pick(eve, card, ["x"], name="x")
        command = desk.discord.command(eve, room, "pending")
        await desk.dealt_with()
        assert (await answered(tap)).told == NOT_FOR_YOU
        assert (await answered(picked)).answer == {"type": 6}  # once is enough
        assert (await answered(command)).told == NOT_FOR_YOU
        assert [message.content for message in room.messages.values()] == ["hello"]
        assert await desk.now(ask) == ask


async def test_a_stranger_cannot_send_somebody_elses_modal(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        eve = desk.discord.world.user("Eve")
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        write = card.key("Write answer…")["custom_id"]
        opened = await answered(desk.discord.tap(desk.ada, card, write))
        assert (await answered(desk.discord.submit(eve, opened, "mine"))).told == NOT_FOR_YOU
        assert (await desk.now(ask)).open


async def test_a_reply_without_the_mention_cannot_be_read_and_is_told_so(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        room = discord.world.channel(ada)
        async with running_discord(tmp_path, discord=discord, ada=ada, room=room) as desk:
            ask = await desk.desk.ask(TEXT)
            card = await desk.card(ask)
            discord.say(ada, room, "feat: x", reply_to=card, mention=False)
            await discord.sees(room, "Turn the @ in your reply on")
            discord.say(ada, room, "feat: x", reply_to=card)
            await desk.dealt_with()
            assert await desk.answers(ask) == (Answer(values=("feat: x",)),)


async def test_a_text_beside_two_questions_is_used_for_the_one_that_is_tapped(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        first, second = await desk.desk.ask(TEXT), await desk.desk.ask(TEXT)
        await desk.card(first)
        await desk.card(second)
        desk.clock.advance(120)
        written = desk.discord.say(desk.ada, desk.room, "feat: both?")
        which = await desk.discord.sees(desk.room, lambda message: message.reply_to is written)
        keys = [key["custom_id"] for key in which.keys]
        await answered(desk.discord.tap(desk.ada, which, keys[0]))
        assert await desk.answers(first) or await desk.answers(second) == (
            Answer(values=("feat: both?",)),
        )
        assert await desk.answers(first) != await desk.answers(second)


async def test_a_text_that_counts_is_marked(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        written = desk.discord.say(desk.ada, desk.room, "feat: x", reply_to=card)
        await until(lambda: written.reactions)
        assert written.reactions == ["👍"]


async def test_commands_are_registered_and_answered_where_they_are_given(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        await until(lambda: desk.discord.rest.commands)
        names = [command["name"] for command in desk.discord.rest.commands]
        assert names == ["pending", "history", "cancel", "agents", "tell", "quiet", "help"]
        options = {each["name"]: each["options"] for each in desk.discord.rest.commands}
        assert [it["name"] for it in options["tell"]] == ["text"]
        await desk.desk.ask(CONFIRM)
        desk.discord.command(desk.ada, desk.room, "pending")
        await desk.discord.sees(desk.room, "Delete the old fixtures")
        desk.discord.command(desk.ada, desk.room, "help")
        await desk.discord.sees(desk.room, "Your agents' questions arrive here")


@pytest.mark.parametrize("tag", ["b", "i"])
def test_an_address_cannot_end_a_mark_of_ours_and_begin_a_link(tag: str) -> None:
    for mark in ("**", "*", "_", "__"):
        said = f"see https://a.example/c{mark}[Allow](https://b.example/x)"
        for text in ((Run(said, (tag,)),), (Run("a"), Run(said, (tag,)), Run("b"))):
            found = read_markdown(MARKDOWN.to_markdown(text))
            assert not found.named("masked")
            assert said in found.text


def test_an_address_cannot_keep_a_mark_of_ours_open() -> None:
    link = "[Allow](https://b.example/x)"
    text = (
        Run("https://a.example/\\", ("b",)),
        Run(" and "),
        Run("bold", ("b",)),
        Run(f" https://a.example/c**{link}"),
    )
    found = read_markdown(MARKDOWN.to_markdown(text))
    assert not found.named("masked")
    assert found.text.endswith(f" and bold https://a.example/c**{link}")


async def test_a_card_that_was_handed_over_and_not_noted_does_not_go_on_below_itself(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        here = desk.channel.surfaces[0].name
        ann = Member(name="Ann", identities=(("discord", desk.ada.id),))
        other = Member(name="Bob", identities=(("discord", "1"),))
        elsewhere = Route(to=("discord:1",))
        surfaces = frozenset({here, "discord:1"})
        desk.desk.inbox.nights.team = Team(
            members=(ann, other), routes=(elsewhere,), surfaces=surfaces
        )
        ask, bob = await desk.desk.ask(SELECT), Person(name="Bob", channel="discord", id="1")
        await desk.desk.inbox.put(ask.id, form.AskHandOver(step=0), person=bob)
        desk.discord.fault("POST /api/v10/channels", after_effect=True)
        await desk.desk.inbox.put(ask.id, form.HandOver(step=1, to=ann.key), person=bob)
        showing = asyncio.ensure_future(desk.current(ask))
        while not showing.done():
            desk.clock.advance(1.0)
            await asyncio.wait({showing}, timeout=0.02)
        card = await showing
        assert SELECT.text in desk.read(card)
        assert len(desk.room.messages) == 1
