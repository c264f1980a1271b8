"""What only Discord has in what it brings: sessions that are resumed, deadlines, gaps."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path

import pytest

from chatbridge.channels.discord.gateway import INTENTS
from chatbridge.core.errors import StoreError, TokenRejected
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Question
from tests.fakes.clock import StillClock
from tests.fakes.discord.gateway import INTERVAL, PRIVILEGED, SESSION_LASTS
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import Message, Room, User
from tests.fakes.discord_desk import data_of, running_discord
from tests.fakes.disk import failing
from tests.fakes.inbox import CONFIRM, SELECT, TEXT


async def asked(
    folder: Path, discord: Discord, ada: User, question: Question, *, room: Room | None = None
) -> tuple[Ask, Message]:
    """By a hub that has ended since, with its session stored. It stays open for a day."""
    async with running_discord(folder, discord=discord, ada=ada, room=room) as desk:
        ask = await desk.desk.ask(question, timeout=9e4)
        card = await desk.card(ask)
        await desk.dealt_with()
    return ask, card


async def test_a_tap_is_answered_only_after_its_effect_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        hold = desk.discord.fault("/callback", hold=asyncio.Event(), status=500)
        tap = desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        await asyncio.wait_for(hold.arrived.wait(), 20)
        assert await desk.answers(ask) == (Answer(values=("yes",)),)
        assert tap.answer is None
        assert hold.hold
        hold.hold.set()


async def test_a_hub_that_comes_back_resumes_after_the_last_committed_event(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        async with running_discord(tmp_path, discord=discord, ada=ada) as desk:
            first, second = await desk.desk.ask(CONFIRM), await desk.desk.ask(SELECT)
            card, other = await desk.card(first), await desk.card(second)
            await desk.tap(card, "Yes")
            await desk.dealt_with()
            assert len(await desk.answers(first)) == 1
        assert discord.gateway.codes == [4000]  # with 1000 Discord would end the session
        (session,) = discord.gateway.sessions.values()
        known = len(session.events)
        taps = [event["s"] for event in session.events if event["t"] == "INTERACTION_CREATE"]
        discord.tap(ada, other, data_of(second, form.Choose(step=0, option=1)))
        discord.clock.advance(60)
        async with running_discord(tmp_path, discord=discord, ada=ada) as again:
            await again.dealt_with()
            assert await again.answers(second) == (Answer(values=("SQLite",)),)
        assert discord.gateway.starts == 1
        assert taps[0] <= discord.gateway.resumes[0] <= known


async def test_a_tap_of_the_time_without_a_hub_counts_though_it_cannot_be_answered(
    tmp_path: Path,
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        ask, card = await asked(tmp_path, discord, ada, CONFIRM)
        tap = discord.tap(ada, card, data_of(ask, form.Choose(step=0, option=0)))
        discord.clock.advance(30)
        async with running_discord(tmp_path, discord=discord, ada=ada) as again:
            await again.dealt_with()
            assert (await again.now(ask)).outcome
            assert tap.answer is None
            assert not again.channel.trouble


async def test_an_event_that_could_not_be_stored_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card, put, failed = await desk.card(ask), desk.desk.inbox.put, list[bool]()

        async def full(*args: object, **kwargs: object) -> object:
            if not failed:
                failed.append(True)
                raise StoreError("the disk is full")
            return await put(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(type(desk.desk.inbox), "put", lambda self, *a, **k: full(*a, **k))
        desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        await desk.dealt_with_later()
        assert failed
        assert len(await desk.answers(ask)) == 1


async def test_messages_of_a_gap_are_read_once_discord_has_forgotten_the_session(
    tmp_path: Path,
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        ask, card = await asked(tmp_path, discord, ada, TEXT)
        discord.say(ada, card.room, "feat: more", reply_to=card)
        discord.clock.advance(200)
        async with running_discord(tmp_path, discord=discord, ada=ada) as again:
            await again.dealt_with()
            assert await again.answers(ask) == (Answer(values=("feat: more",)),)
            assert discord.gateway.starts == 2
            await again.current(ask)
            said = [m for m in card.room.messages.values() if m.author.bot]
            assert sum("feat: more" in m.text for m in said) == 1


async def test_a_message_that_comes_while_its_gap_is_read_counts_once(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        ask, card = await asked(tmp_path, discord, ada, TEXT)
        discord.clock.advance(200)
        say = partial(discord.say, ada, card.room, "feat: more", reply_to=card)
        discord.rest.while_reading.append(say)
        async with running_discord(tmp_path, discord=discord, ada=ada) as again:
            await again.dealt_with()
            await again.dealt_with()  # what came beside it, too
            assert await again.answers(ask) == (Answer(values=("feat: more",)),)
            assert not [m for m in card.room.messages.values() if m.author.bot and m.reply_to]


async def test_a_long_gap_is_read_page_by_page_and_nothing_of_it_twice(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
        room = discord.world.channel(ada, eve)
        ask, card = await asked(tmp_path, discord, ada, TEXT, room=room)
        for i in range(150):
            discord.say(eve, room, f"chatter {i}")
        discord.say(ada, room, "feat: last", reply_to=card)
        discord.clock.advance(200)
        async with running_discord(tmp_path, discord=discord, ada=ada, room=room) as again:
            await again.dealt_with()
            assert await again.answers(ask) == (Answer(values=("feat: last",)),)


async def test_a_gap_that_takes_more_requests_than_discord_allows_is_read_to_its_end(
    tmp_path: Path,
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
        room = discord.world.channel(ada, eve)
        ask, card = await asked(tmp_path, discord, ada, TEXT, room=room)
        for i in range(650):
            discord.say(eve, room, f"chatter {i}")
        discord.say(ada, room, "feat: last", reply_to=card)
        discord.clock.advance(200)
        discord.rest.limited = True
        async with running_discord(tmp_path, discord=discord, ada=ada, room=room) as again:
            await again.dealt_with_later()
            assert await again.answers(ask) == (Answer(values=("feat: last",)),)


async def test_a_message_of_a_gap_that_could_not_be_stored_is_taken_again(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        ask, card = await asked(tmp_path, discord, ada, TEXT)
        discord.say(ada, card.room, "feat: more", reply_to=card)
        discord.clock.advance(200)
        async with failing(tmp_path, "asks"):
            starting = running_discord(tmp_path, discord=discord, ada=ada)
            again = await starting.__aenter__()
            await asyncio.wait_for(again.clock.until_asleep(1.0), 20)
        try:
            await again.dealt_with_later()
            assert await again.answers(ask) == (Answer(values=("feat: more",)),)
        finally:
            await starting.__aexit__(None, None, None)


async def test_a_hub_that_dies_in_the_middle_of_a_gap_leaves_the_rest_to_the_next(
    tmp_path: Path,
) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        async with running_discord(tmp_path, discord=discord, ada=ada) as desk:
            first, second = (
                await desk.desk.ask(TEXT, timeout=9e4),
                await desk.desk.ask(TEXT, timeout=9e4),
            )
            card, other = await desk.card(first), await desk.card(second)
            await desk.dealt_with()
        discord.say(ada, card.room, "feat: one", reply_to=card)
        discord.say(ada, card.room, "feat: two", reply_to=other)
        discord.clock.advance(200)
        async with (
            failing(tmp_path, "asks", when=f"NEW.id = '{second.id}'"),
            running_discord(tmp_path, discord=discord, ada=ada) as again,
        ):
            await asyncio.wait_for(again.clock.until_asleep(1.0), 20)
            assert len(await again.answers(first)) == 1
        discord.clock.advance(10)  # a new session may not be begun at once
        async with running_discord(tmp_path, discord=discord, ada=ada) as last:
            await last.dealt_with_later()
            assert await last.answers(second) == (Answer(values=("feat: two",)),)


async def test_a_connection_that_is_cut_is_resumed_and_loses_nothing(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        await desk.dealt_with()
        await desk.discord.gateway.cut()
        desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        await desk.dealt_with_later()
        assert len(await desk.answers(ask)) == 1
        assert desk.discord.gateway.starts == 1
        assert desk.discord.gateway.resumes


async def test_a_session_is_resumed_elsewhere_once_its_own_address_is_gone(tmp_path: Path) -> None:
    discord = Discord(StillClock())
    ada = discord.world.user("Ada")
    async with discord.serving(socket.create_server(("127.0.0.1", 0))):
        ask, card = await asked(tmp_path, discord, ada, CONFIRM)
    discord.tap(ada, card, data_of(ask, form.Choose(step=0, option=0)))
    assert discord.gateway.starts == 1
    discord.gateway.starts = 999  # none has to be begun, however few are left of the day
    async with (
        discord.serving(socket.create_server(("127.0.0.1", 0))),
        running_discord(tmp_path, discord=discord, ada=ada) as again,
    ):
        await again.dealt_with()
        assert len(await again.answers(ask)) == 1
    assert discord.gateway.starts == 999


async def test_discord_may_ask_to_connect_again(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        await desk.dealt_with()
        desk.discord.gateway.ask_to_reconnect()
        await desk.dealt_with_later()
        assert desk.discord.gateway.resumes
        assert await desk.tap(card, "Yes") == ""  # the card says it
        assert not desk.channel.trouble


async def test_a_connection_that_acknowledges_no_beat_is_given_up(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        await desk.dealt_with()
        gateway = desk.discord.gateway
        gateway.deaf, beats = True, gateway.beats
        desk.clock.advance(INTERVAL / 1000)
        await desk.discord.until(lambda: gateway.beats > beats)
        await asyncio.wait_for(desk.clock.until_asleep(INTERVAL / 1000), 20)
        desk.clock.advance(INTERVAL / 1000)
        await desk.discord.until(lambda: gateway.codes)
        gateway.deaf = False
        await desk.dealt_with_later()
        assert desk.discord.gateway.codes[0] == 4000
        assert desk.discord.gateway.resumes


async def test_a_session_that_discord_ends_is_begun_anew(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        await desk.dealt_with()
        await desk.discord.gateway.cut(4009, forget=True)
        await desk.dealt_with_later()
        assert desk.discord.gateway.starts == 2
        assert await desk.tap(card, "Yes") == ""  # the card says it


@pytest.mark.parametrize(("resumable", "starts"), [(True, 1), (False, 2)])
async def test_a_session_that_discord_calls_invalid_loses_no_message(
    tmp_path: Path, resumable: bool, starts: int
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        await desk.dealt_with()
        desk.discord.gateway.invalidate(resumable=resumable)
        desk.discord.say(desk.ada, desk.room, "feat: more", reply_to=card)
        desk.clock.advance(10)  # a new session may not be begun at once
        await desk.dealt_with_later()
        assert await desk.answers(ask) == (Answer(values=("feat: more",)),)
        assert desk.discord.gateway.starts == starts


async def test_an_event_that_comes_twice_counts_once(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card = await desk.card(ask)
        await desk.dealt_with()  # the first reading, which frees who comes during it
        written = desk.discord.say(desk.ada, desk.room, "feat: more", reply_to=card)
        desk.discord.gateway.repeat(1)
        await desk.dealt_with()
        assert await desk.answers(ask) == (Answer(values=("feat: more",)),)
        assert not [it for it in desk.room.messages.values() if it.reply_to is written]


async def test_a_connection_over_which_nothing_comes_is_given_up(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        desk.discord.gateway.silent = True
        desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        for _ in range(3):
            desk.clock.advance(41.25)
            await asyncio.sleep(0.02)
        desk.discord.gateway.speak_again()
        await desk.dealt_with_later()
        assert len(await desk.answers(ask)) == 1


async def test_who_waits_while_the_connection_breaks_waits_for_what_the_next_one_brings(
    tmp_path: Path,
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        await desk.dealt_with()
        gateway = desk.discord.gateway
        gateway.silent, beats = True, gateway.beats
        desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        waiting = asyncio.ensure_future(desk.dealt_with_later())
        await desk.discord.until(lambda: gateway.beats > beats)
        gateway.speak_again()
        await waiting
        assert len(await desk.answers(ask)) == 1


async def test_a_number_that_discord_does_not_know_begins_a_session_anew(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        await desk.dealt_with()
        desk.clock.advance(10)
        for session in desk.discord.gateway.sessions.values():
            session.events.clear()  # so that the number is too high: 4007
        began = desk.clock.time()
        await desk.discord.gateway.cut()
        await desk.dealt_with_later()
        assert desk.discord.gateway.starts == 2
        assert desk.clock.time() - began < SESSION_LASTS  # after that it is forgotten anyway
        assert await desk.tap(card, "Yes") == ""  # the card says it


async def test_a_beat_is_sent_when_discord_asks_for_it(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        await desk.dealt_with()
        beats = desk.discord.gateway.beats
        desk.discord.gateway.ask_for_a_beat()
        await desk.discord.until(lambda: desk.discord.gateway.beats > beats)


@pytest.mark.parametrize("code", [4004, 4013, 4014])
async def test_a_refusal_for_good_ends_the_channel_with_what_to_do(
    tmp_path: Path, code: int
) -> None:
    async with running_discord(tmp_path) as desk:
        await desk.discord.gateway.cut(code)
        with pytest.raises(TokenRejected, match=str(code)) as error:
            await asyncio.wait_for(desk.running, 20)
        assert desk.discord.token not in str(error.value)


async def test_a_wrong_token_is_said_without_the_token(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        discord.rest.token = "another"
        with pytest.raises(TokenRejected, match=r"Check discord\.token") as error:
            async with running_discord(tmp_path, discord=discord):
                pass
        assert discord.token not in str(error.value)


async def test_no_privileged_intent_is_asked_for(tmp_path: Path) -> None:
    async with running_discord(tmp_path) as desk:
        (identified,) = desk.discord.gateway.identified
        assert identified["intents"] == INTENTS
        assert not INTENTS & PRIVILEGED


@pytest.mark.parametrize("begun", [995, 1000])
async def test_no_session_is_begun_when_few_are_left_of_the_day(tmp_path: Path, begun: int) -> None:
    async with running_discord(tmp_path) as desk:
        desk.discord.gateway.starts = begun
        await desk.discord.gateway.cut(4009, forget=True)
        async with asyncio.timeout(20):
            await desk.clock.until_asleep(1.0)
            desk.clock.advance(1.0)
            await desk.clock.until_asleep(3600.0)
        assert desk.discord.gateway.starts == begun
        assert "no more sessions today" in (desk.channel.trouble or "")


async def test_a_slow_disk_does_not_make_the_tap_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card, put, go_on = await desk.card(ask), desk.desk.inbox.put, asyncio.Event()

        async def slow(*args: object, **kwargs: object) -> object:
            await go_on.wait()
            return await put(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(type(desk.desk.inbox), "put", lambda self, *a, **k: slow(*a, **k))
        tap = desk.discord.tap(desk.ada, card, data_of(ask, form.Choose(step=0, option=0)))
        await asyncio.wait_for(desk.clock.until_asleep(2.0), 20)
        desk.clock.advance(2.0)
        assert (await answered(tap)).answer == {"type": 6}
        go_on.set()
        await desk.dealt_with()
        assert len(await desk.answers(ask)) == 1
