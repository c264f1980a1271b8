"""Which rooms the bot goes to, and which it stays away from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.core.model import Ask
from tests.fakes.inbox import SELECT, TEXT
from tests.fakes.matrix_desk import PATIENCE, Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Login, Synapse
from tests.matrix_asks import plain

QUESTION = SELECT.text


@pytest.fixture
async def ada(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Person]:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        yield ada


@pytest.fixture
async def bot(synapse: Synapse) -> Login:
    return await asyncio.to_thread(lambda: synapse.log_in(synapse.register("bot")))


@asynccontextmanager
async def a_stranger(synapse: Synapse, folder: Path) -> AsyncIterator[Person]:
    async with Person.online(synapse, "Eve", folder / "eve") as eve:
        yield eve


async def until(fits: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if fits():
                return
            await asyncio.sleep(0.01)


async def card_in(room: str, matrix: Matrix, person: Person) -> Message:
    bot = matrix.bot.user_id
    return await person.sees(lambda m: m.sender == bot and QUESTION in m.body, room=room)


async def tap(person: Person, matrix: Matrix, ask: Ask, card: Message, room: str) -> None:
    """The second option, once it can be seen."""
    await person.until(room, card.event_id, lambda m: "2️⃣" in m.reactions)
    await person.react(room, card.event_id, "2️⃣")
    await matrix.dealt_with()
    assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]


# ── invitations ───────────────────────────────────────────────────────────────────────────────────


async def test_a_configured_room_says_what_it_lacks_until_the_bot_is_invited(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login
) -> None:
    rooms = [await ada.create_room("one"), await ada.create_room("two")]
    async with running_matrix(
        tmp_path, synapse, ada=ada, bot=bot, room=rooms[0], rooms=rooms
    ) as matrix:
        invite = f"Invite {bot.user_id} there, from an account in matrix.allowed_users"
        assert matrix.channel.trouble == f"matrix: the bot is not in the room {rooms[0]}. {invite}"
        ask = await matrix.desk.ask(SELECT)

        await ada.invite(rooms[0], bot.user_id)  # the clock stands still: nobody waits for a pause
        card = await card_in(rooms[0], matrix, ada)
        trouble = f"matrix: the bot is not in the room {rooms[1]}. {invite}"
        await until(lambda: matrix.channel.trouble == trouble)
        await tap(ada, matrix, ask, card, rooms[0])

        await ada.invite(rooms[1], bot.user_id)  # and nothing is open now
        await until(lambda: matrix.channel.trouble is None)
        await ada.sees_member(rooms[1], bot.user_id)


async def test_without_a_configured_room_everybody_is_asked_where_they_invite_the_bot(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login
) -> None:
    async with Person.online(synapse, "Bob", tmp_path / "bob") as bob:
        allowed = [ada.user_id, bob.user_id]
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room="", rooms=[], allowed=allowed
        ) as matrix:
            assert "nobody has invited the bot yet. Start a chat with @bot" in (
                matrix.channel.trouble or ""
            )
            ask = await matrix.desk.ask(SELECT)
            of_ada = await ada.create_room(invite=[bot.user_id])
            card = await card_in(of_ada, matrix, ada)
            await matrix.dealt_with()
            assert matrix.channel.trouble is None, "Bob may be content with the web inbox"
            of_bob = await bob.create_room(invite=[bot.user_id])
            assert (await card_in(of_bob, matrix, bob)).mentions == (bob.user_id,)
            await until(lambda: matrix.channel.trouble is None)
            await tap(ada, matrix, ask, card, of_ada)
            ended = await card_in(of_bob, matrix, bob)
            ended = await bob.until(of_bob, ended.event_id, lambda m: "Answered" in m.body)
            assert "Ada, Matrix, " in plain(ended.body)
            await ada.until(of_ada, card.event_id, lambda m: "You answered here, " in m.body)


async def test_an_invitation_counts_once_its_sender_is_on_the_list(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login
) -> None:
    """As when somebody finds their id in the log, and puts it in."""
    async with running_matrix(
        tmp_path, synapse, ada=ada, bot=bot, room="", rooms=[], allowed=[]
    ) as matrix:
        room = await ada.create_room(invite=[bot.user_id])
        await matrix.dealt_with()
        await ada.sees_event(room, await ada.send_raw(room, "test.mark", {}))
        assert ada.membership(room, bot.user_id) == "invite"
    async with running_matrix(tmp_path, synapse, ada=ada, bot=bot, room=room, rooms=[]) as matrix:
        await matrix.desk.ask(SELECT)
        await card_in(room, matrix, ada)


async def test_two_people_who_share_a_room_are_asked_there_once(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login
) -> None:
    async with Person.online(synapse, "Bob", tmp_path / "bob") as bob:
        allowed = [ada.user_id, bob.user_id]
        room = await bob.create_room(invite=[ada.user_id, bot.user_id])
        await ada.join(room)
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room=room, rooms=[], allowed=allowed
        ) as matrix:
            await bob.kick(room, bot.user_id)
            await matrix.dealt_with()
            await ada.invite(room, bot.user_id)
            ask = await matrix.desk.ask(SELECT)
            card = await card_in(room, matrix, ada)
            assert card.mentions == tuple(sorted(allowed))
            await tap(ada, matrix, ask, card, room)
            await ada.until(room, card.event_id, lambda m: "Answered" in m.body)
            assert len(matrix.said()) == 1


async def test_a_strangers_invitation_is_neither_followed_nor_refused_nor_answered(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login, caplog: pytest.LogCaptureFixture
) -> None:
    own = await ada.create_room(invite=[bot.user_id])
    async with a_stranger(synapse, tmp_path) as eve:
        before = await eve.create_room("for you", invite=[bot.user_id])
        configured = await eve.create_room("and this")
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room=own, rooms=[own, configured]
        ) as matrix:
            after = await eve.create_room("or this", invite=[bot.user_id])
            await eve.invite(configured, bot.user_id)
            await eve.say(configured, "Hello?")
            await matrix.dealt_with()
            await matrix.desk.ask(SELECT)
            await card_in(own, matrix, ada)
            for room in (before, after, configured):
                mark = await eve.send_raw(room, "test.mark", {})
                await eve.sees_event(room, mark)
                assert eve.membership(room, bot.user_id) == "invite"
                assert {event["sender"] for event in eve.events(room)} == {eve.user_id}
        lines = [it.getMessage() for it in caplog.records if eve.user_id in it.getMessage()]
        assert lines == [
            f"matrix: the person {eve.user_id} is not in matrix.allowed_users and was ignored"
        ]


async def test_an_invitation_elsewhere_takes_the_questions_there_only_from_a_room_that_was_left(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with running_matrix(tmp_path, synapse, rooms=[]) as matrix:
        ada, bot = matrix.ada, matrix.bot.user_id
        ask = await matrix.desk.ask(SELECT)
        await card_in(matrix.room, matrix, ada)
        second = await ada.create_room("second", invite=[bot])
        await matrix.dealt_with()
        await ada.sees_event(second, await ada.send_raw(second, "test.mark", {}))
        assert ada.membership(second, bot) == "invite"

        await ada.leave(matrix.room)
        await matrix.dealt_with()
        third = await ada.create_room("third", invite=[bot])
        card = await card_in(third, matrix, ada)
        assert ada.membership(second, bot) == "invite"
        await tap(ada, matrix, ask, card, third)


async def test_the_private_room_of_an_earlier_installation_is_found_again(
    synapse: Synapse, tmp_path: Path, ada: Person
) -> None:
    account = await asyncio.to_thread(synapse.register, "bot")
    old, new = [await asyncio.to_thread(synapse.log_in, account) for _ in range(2)]
    bot = account.user_id
    own, shared = [await ada.create_room(invite=[bot]) for _ in range(2)]
    async with a_stranger(synapse, tmp_path) as eve:
        await ada.invite(shared, eve.user_id)
        await eve.join(shared)
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    async with running_matrix(
        tmp_path / "old", synapse, ada=ada, bot=old, room=own, rooms=[own, shared]
    ):
        pass  # the bot is in both rooms now
    await ada.say(own, "help")
    async with running_matrix(
        tmp_path / "new", synapse, ada=ada, bot=new, room=own, rooms=[]
    ) as matrix:
        assert matrix.channel.trouble is None
        ask = await matrix.desk.ask(TEXT)
        await matrix.card(ask)
        await matrix.say(ask, "Fix the port")
        assert [answer.values for answer in await matrix.answers(ask)] == [("Fix the port",)]
        await matrix.root(ask)
        assert len(matrix.said()) == 1  # what was written before it was there has no answer
        assert not [m for m in ada.messages(shared) if m.sender == bot]


# ── upgrades ──────────────────────────────────────────────────────────────────────────────────────


async def test_an_upgraded_room_is_followed_with_an_invitation_also_by_the_next_hub(
    synapse: Synapse, tmp_path: Path, ada: Person
) -> None:
    async with running_matrix(tmp_path, synapse, ada=ada) as first:
        bot, old = first.bot, first.room
        ask = await first.desk.ask(SELECT)
        was = await first.card(ask)
        new = await ada.upgrade_room(old)
        await first.dealt_with()
        assert ada.membership(new, bot.user_id) is None

        await ada.invite(new, bot.user_id)
        card = await card_in(new, first, ada)
        assert card.event_id != was.event_id
        assert card.mentions == (ada.user_id,)
        await first.dealt_with()
        assert first.channel.trouble is None
    async with running_matrix(tmp_path, synapse, ada=ada, bot=bot, room=old) as second:
        other = await second.desk.ask(TEXT)
        await ada.sees(lambda m: TEXT.text in m.body, room=new)
        await tap(ada, second, ask, card, new)
        await ada.react(old, was.event_id, "1️⃣")
        await second.dealt_with()
        assert [a.values for a in await second.answers(ask)] == [("SQLite",)]
        assert not [m for m in ada.messages(old) if TEXT.text in m.body]
        assert (await second.now(other)).open


async def test_an_upgrade_while_no_hub_was_there_is_followed_without_an_invitation(
    synapse: Synapse, tmp_path: Path, ada: Person, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_matrix(tmp_path, synapse, ada=ada) as first:
        bot, old = first.bot, first.room
        await ada.set_state(old, "m.room.join_rules", {"join_rule": "public"})
        ask = await first.desk.ask(SELECT)
        await first.card(ask)
    new = await ada.upgrade_room(old)
    async with running_matrix(tmp_path, synapse, ada=ada, bot=bot, room=old) as second:
        card = await card_in(new, second, ada)
        await tap(ada, second, ask, card, new)
        assert f"put {new} into matrix.room_id" in caplog.text
        assert second.channel.trouble is None


async def test_an_upgrade_by_a_stranger_with_the_power_to_is_not_followed(
    synapse: Synapse, tmp_path: Path, ada: Person, bot: Login
) -> None:
    # The bot can still write after an upgrade, and could join the new room.
    room = await ada.create_room(invite=[bot.user_id], version="11")
    await ada.set_state(room, "m.room.join_rules", {"join_rule": "public"})
    await ada.set_power(room, bot.user_id, 50)
    async with (
        a_stranger(synapse, tmp_path) as eve,
        running_matrix(tmp_path, synapse, ada=ada, bot=bot, room=room) as matrix,
    ):
        await ada.set_power(room, eve.user_id, 100)
        await eve.join(room)
        new = await eve.upgrade_room(room)
        await eve.invite(new, bot.user_id)
        await matrix.dealt_with()
        ask = await matrix.desk.ask(SELECT)
        await matrix.tap(ask, "2️⃣")
        assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]
        mark = await eve.send_raw(new, "test.mark", {})
        await eve.sees_event(new, mark)
        assert eve.membership(new, bot.user_id) == "invite"


async def test_a_tombstone_that_leads_elsewhere_is_not_followed(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        ada, bot = matrix.ada, matrix.bot.user_id
        elsewhere = await ada.create_room("elsewhere", invite=[bot])
        for successor in (7, "", "#an:address", "!none:localhost", elsewhere):
            tombstone = {"body": "moved", "replacement_room": successor}
            await ada.set_state(matrix.room, "m.room.tombstone", tombstone)
        await matrix.dealt_with()
        assert f"{elsewhere} does not say that it follows it" in caplog.text
        ask = await matrix.desk.ask(SELECT)
        await matrix.tap(ask, "2️⃣")
        assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]
        assert matrix.channel.trouble is None
        assert not [m for m in ada.messages(elsewhere) if m.sender == bot]
